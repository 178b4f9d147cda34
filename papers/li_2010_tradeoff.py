"""Li 2010, Privacy Preservation in Data Publishing and Sharing: the experiments of sections 2.4 and 5.3.

Most of them are printed as curves, of which our copy has the text only. A statement of the text is a figure with
the printed value 1: it holds. Ours is 1, or the share of the cases in which it holds.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from papers import Figure, li_2010
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, SHARED, adult_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.parts.assemble import bucketized
from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError
from unveil.frontier import Candidate, Frontier, Questions, run_frontier
from unveil.frontier.points import Point, value_of
from unveil.privacy.models import (
    DeltaDisclosure,
    DistinctL,
    KAnonymity,
    NTCloseness,
    PrivacyModel,
    ProbabilisticL,
    TCloseness,
)
from unveil.privacy.reference import reference_of
from unveil.risk import group_belief, overall_belief, privacy_loss_max
from unveil.utility import certainty_penalty, discernibility, query_errors, random_queries

Requires = tuple[PrivacyModel, ...]
WHERE_2, WHERE_5 = "section 2.4, pp. 40-46", "section 5.3, pp. 136-141"

# Section 5.3.1, page 137.
KS = (10, 50, 100, 200, 500, 1000, 2000, 5000)
LS = (3.0, 3.5, 4.0, 4.25, 4.5, 4.75, 5.0, 5.5)
TS = (0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
DELTAS = (1.0, 1.2, 1.4, 1.5, 1.7, 1.9, 2.0, 2.1)
CURVES: dict[str, tuple[Requires, ...]] = {
    "k-anonymity": tuple((KAnonymity(k=k),) for k in KS),
    "l-diversity": tuple((ProbabilisticL(l=l),) for l in LS),
    "t-closeness": tuple((TCloseness(t=t, distance="js"),) for t in TS),
    "semantic privacy": tuple((DeltaDisclosure(delta=d),) for d in DELTAS),
}
VALUES = {"k-anonymity": KS, "l-diversity": LS, "t-closeness": TS, "semantic privacy": DELTAS}
SHORT = "a run lasts hundredths of a second, most of it the same for all: reading the rows and writing the groups"
DIMENSIONS, SELECTIVITIES = (2, 3, 4, 5, 6), (0.01, 0.03, 0.05, 0.07, 0.1)


@dataclass(frozen=True)
class Buckets:
    """Mondrian's groups published as buckets: exact quasi-identifiers, the link to the sensitive value hidden."""

    mondrian: Mondrian

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        group = self.mondrian.anonymize(table, engine).group_of_row
        return bucketized(table, table.index(SENSITIVE), np.asarray(group, dtype=np.int32))


def reproduce() -> Iterator[Figure]:
    """Why t-closeness does well in figure 5.2: it bounds the very distance that is drawn."""
    release = li_2010.table_2_5()
    for name in ("salary", "disease"):
        asked = release.index(name)
        loss = privacy_loss_max(group_belief(release, asked)[0], overall_belief(release, asked)).value
        histograms, _ = release.histograms(asked)
        overall = reference_of(release.attributes[asked], histograms.sum(axis=0))
        level = float(TCloseness(distance="js").level(histograms, overall).max())
        reading = "P_loss ≤ t by construction where both are by JS"
        yield Figure(f"Table 2.5, {name}: P_loss less t", WHERE_5, 0, loss - level, 1e-12, reading, self_check=True)


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Both sections on Adult: about two minutes."""
    yield from section_2_4(columns)
    yield from section_5_3(adult(columns))


def adult(columns: dict[str, list[str]], known: Sequence[str] = QUASI_IDENTIFIERS) -> Table:
    """Adult with the first quasi-identifiers of Table 2.6 and occupation."""
    shared = (SHARED / "hierarchies").is_dir()
    schema = li_2010.with_ages(adult_schema(columns, known, hierarchies="shared" if shared else "ours"))
    return Table.from_columns(schema, {name: columns[name] for name in (*known, SENSITIVE)})


def holds(name: str, where: str, cases: Sequence[bool], reading: str = "", why_not: str = "") -> Figure:
    """A statement of the text: in how many of our cases it holds."""
    return Figure(
        f"“{name}”", where, 1, float(np.mean(cases)), 1e-9, f"{reading or 'share of cases'} ({len(cases)})", why_not
    )


# --- section 2.4 ------------------------------------------------------------------------------------------------------


def four(k: int = 5, n: int = 1000, t: float = 0.15) -> dict[str, Requires]:
    """The privacy measures of Table 2.7; k = l."""
    return {
        "distinct l-diversity": (DistinctL(l=k),),
        "probabilistic l-diversity": (ProbabilisticL(l=k),),
        "t-closeness": (KAnonymity(k=k), TCloseness(t=t)),
        "(n,t)-closeness": (KAnonymity(k=k), NTCloseness(n=n, t=t)),
    }


def made(table: Table, require: Requires) -> tuple[Release, float]:
    """Mondrian's release, and the CPU seconds it took, the best of three runs."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        release = Mondrian(require=require, recoding="order").anonymize(table, Engine(seed=0, workers=1)).release
        seconds.append(time.process_time() - begin)
    return release, min(seconds)


def section_2_4(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Figures 2.3 to 2.5: times, DM, GCP and query error of four privacy measures."""
    table = adult(columns)
    for require in four().values():
        made(table, require)  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in four()}
    for size in range(2, 7):
        smaller = adult(columns, QUASI_IDENTIFIERS[:size])
        for name, require in four().items():
            seconds[name].append(made(smaller, require)[1])
            yield Figure(
                f"CPU s, {name}, {size} quasi-identifiers", f"figure 2.3(a), {WHERE_2}", None, seconds[name][-1]
            )
    longest = [
        seconds["(n,t)-closeness"][i] > seconds[n][i] for n in seconds if n != "(n,t)-closeness" for i in range(5)
    ]
    why = "ancestors of all nodes of a tree level are compared at once, so that the difference is small"
    yield holds("(n,t)-closeness takes much longer time", f"2.4.2, {WHERE_2}", longest, "longer, by CPU time", why)
    sizes = (3, 4, 5, 6, 7)
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in four()}
    for k in sizes:
        for name, require in four(k).items():
            release, spent = made(table, require)
            seconds[name].append(spent)
            yield Figure(f"CPU s, {name}, k=l={k}", f"figure 2.3(b), {WHERE_2}", None, spent)
            costs[name].append((discernibility(release).value, certainty_penalty(release).value))
            for what, value in zip(("DM", "GCP"), costs[name][-1], strict=True):
                yield Figure(f"{what}, {name}, k=l={k}", f"figure 2.4(a-b), {WHERE_2}", None, value)
    falls = [later < earlier for row in seconds.values() for earlier, later in pairwise(row[5:])]
    words = "when k and l increases, the running times decrease"
    yield holds(words, f"2.4.2, {WHERE_2}", falls, "steps", SHORT)
    ends = [row[-1] < row[5] for row in seconds.values()]
    yield holds(f"{words}: last against first", f"2.4.2, {WHERE_2}", ends, why_not=SHORT)
    yield holds(
        "usually within one minute", f"2.4.2, {WHERE_2}", [s < 60 for all_ in seconds.values() for s in all_], "runs"
    )
    for place, what in enumerate(("DM", "GCP")):
        for other in ("probabilistic l-diversity", "t-closeness"):
            pairs = zip(costs["(n,t)-closeness"], costs[other], strict=True)
            better = [mine[place] < theirs[place] for mine, theirs in pairs]
            why = "at l = 3 the l-diverse table is finer (GCP .110 for .334); from 4 on it holds"
            yield holds(
                f"(n,t)-close tables have better utility than {other}: {what}", f"2.4.3, {WHERE_2}", better, "k=l", why
            )
    yield from _varied(table, "n", [four(n=n)["(n,t)-closeness"] for n in (500, 1000, 2000, 5000)])
    yield from _varied(table, "smaller t", [four(t=t)["(n,t)-closeness"] for t in (0.25, 0.2, 0.15, 0.1, 0.05)])
    yield from _queries_of_four(table)


def _varied(table: Table, what: str, requires: Sequence[Requires]) -> Iterator[Figure]:
    """Figures 2.3(c-d) and 2.4(c-f): a stronger requirement costs more, and takes less time."""
    found, seconds = zip(*(made(table, require) for require in requires), strict=True)
    figure = f"figure 2.3({'c' if what == 'n' else 'd'}), {WHERE_2}"
    for require, spent in zip(requires, seconds, strict=True):
        yield Figure(f"CPU s, {_named(require[-1])}", figure, None, spent)
    falls = [later < earlier for earlier, later in pairwise(seconds)]
    words = f"runs faster for a {'large' if what == 'n' else 'smaller'} {what[-1]}"
    yield holds(words, f"2.4.2, {WHERE_2}", falls, "steps", SHORT)
    yield holds(f"{words}: last against first", f"2.4.2, {WHERE_2}", [seconds[-1] < seconds[0]], why_not=SHORT)
    for name, measure in (("DM", discernibility), ("GCP", certainty_penalty)):
        costs = [measure(release).value for release in found]
        grows = [later >= earlier for earlier, later in pairwise(costs)]
        words = f"a larger {name} cost for a larger n value or a smaller t value: {what}"
        yield holds(words, f"2.4.3, {WHERE_2}", grows, "steps")


def _named(model: PrivacyModel) -> str:
    assert isinstance(model, NTCloseness)
    return f"(n,t)-closeness, n={model.n:,}, t={model.t:g}"


def _queries_of_four(table: Table) -> Iterator[Figure]:
    """Figure 2.5: error by dimension and by selectivity."""
    releases = {name: made(table, require)[0] for name, require in four().items()}
    grids = (
        ("dimension", [{"dimension": d, "selectivity": 0.05} for d in DIMENSIONS], "a larger query dimension"),
        ("selectivity", [{"dimension": 3, "selectivity": s} for s in SELECTIVITIES], "a larger selectivity"),
    )
    for what, settings, words in grids:
        errors: dict[str, list[float]] = {name: [] for name in releases}
        for setting in settings:
            queries = random_queries(table, **setting)  # type: ignore[arg-type]  # a number each
            for name, release in releases.items():
                errors[name].append(float(query_errors(release, table, queries).mean()))
                where = f"figure 2.5, {WHERE_2}"
                yield Figure(f"relative error, {name}, {what} {setting[what]:g}", where, None, errors[name][-1])
        falls = [later < earlier for row in errors.values() for earlier, later in pairwise(row)]
        why = "a mean of relative errors is led by the rarest counts that were drawn; it falls from end to end"
        yield holds(f"performs better for queries with {words}", f"2.4.3, {WHERE_2}", falls, "steps", why)
        ends = [row[-1] < row[0] for row in errors.values()]
        yield holds(f"performs better for queries with {words}: last against first", f"2.4.3, {WHERE_2}", ends)
        for other in ("probabilistic l-diversity", "t-closeness"):
            better = [a < b for a, b in zip(errors["(n,t)-closeness"], errors[other], strict=True)]
            yield holds(f"(n,t) answers more accurately than {other}, by {what}", f"2.4.3, {WHERE_2}", better)


# --- section 5.3 ------------------------------------------------------------------------------------------------------


def curves(table: Table, *, buckets: bool, names: Sequence[str] = tuple(CURVES), dimension: int = 4) -> Frontier:
    """Every requirement × eight parameters as one sweep."""
    candidates = []
    for name in names:
        for value, require in zip(VALUES[name], CURVES[name], strict=True):
            mondrian = Mondrian(require=require, recoding="order")
            method = Buckets(mondrian) if buckets else mondrian
            candidates.append(Candidate(f"{name} {value:g}", name, (), (), method))
    return run_frontier(
        table,
        candidates,
        risks=["privacy_loss.max"],
        utilities=["utility_loss", "query_error"],
        questions=Questions(dimension=dimension),
        engine=Engine(seed=0, workers=1),
    )


def places(found: Frontier, name: str, utility: str = "utility_loss") -> list[tuple[float, float]]:
    """(P_loss, utility) of one curve's points, by growing P_loss."""
    points = [p for p in found.points if p.name.startswith(name)]
    return sorted((_of(p, "privacy_loss.max"), _of(p, utility)) for p in points)


def _of(point: Point, id: str) -> float:
    value = value_of(point.findings, id, ())
    assert value is not None
    return value.value


def section_5_3(table: Table) -> Iterator[Figure]:
    """Figures 5.2 and 5.3: privacy loss against utility loss and query error."""
    general = curves(table, buckets=False)
    own = [p for p in general.points if not p.trivial]
    for point in own:
        reading = f"at P_loss {_of(point, 'privacy_loss.max'):.4f}; generalised"
        yield Figure(
            f"U_loss, {point.name}", f"figure 5.2(a), {WHERE_5}", None, _of(point, "utility_loss"), reading=reading
        )
    where = f"5.3.1, {WHERE_5}"
    losses = [_of(p, "privacy_loss.max") for p in own]
    yield holds("from 0 to 0.6", where, [0 < loss < 0.6 for loss in losses], "P_loss of all points")
    under = {bound: [_of(p, "utility_loss") < bound for p in own] for bound in (0.04, 0.02)}
    why = "semantic privacy at δ = 1 gives four groups, with .0432"
    yield holds("utility loss is lower than 0.04 in all cases", where, under[0.04], why_not=why)
    yield Figure("“lower than 0.02 in many cases”: share", where, None, float(np.mean(under[0.02])))
    line = places(general, "t-closeness")
    for other in ("k-anonymity", "l-diversity", "semantic privacy"):
        points = [p for p in places(general, other) if line[0][0] <= p[0] <= line[-1][0]]
        above = [y > np.interp(x, *zip(*line, strict=True)) for x, y in points]
        if above:
            yield holds(f"t-closeness performs better than {other}", where, above, "points above the t-closeness line")
    chosen = general.choice.point
    sure = chosen is not None and chosen.name in ("t-closeness 0.075", "t-closeness 0.1", "t-closeness 0.15")
    reading = f"the knee of our sweep: {'none' if chosen is None else chosen.name}"
    yield holds("one of the three left-most points for t-closeness (.075, .1, .15)", where, [sure], reading)
    loose = [loss for loss, _ in places(general, "l-diversity")][-2:]
    why = "how rare a value a small group holds decides; his groups, of 45,222 rows, were others"
    yield holds(
        "the rightmost two points of l-diversity (3, 3.5) above .488", where, [x > 0.488 for x in loose], why_not=why
    )
    yield from _one_group(table)
    yield from _buckets(table, general)


def _one_group(table: Table) -> Iterator[Figure]:
    """Semantic privacy below 1."""
    try:
        groups = (
            Mondrian(require=(DeltaDisclosure(delta=0.9),), recoding="order")
            .anonymize(table, Engine(seed=0))
            .release.groups
        )
    except RequirementError:
        groups = 0
    why = "ours is one group at δ = 0.5 and four at 0.7, by the natural logarithm; his cuts are not known"
    yield Figure("groups at δ = 0.9 (“one single QI group when δ < 1”)", f"5.3.1, {WHERE_5}", 1, groups, why_not=why)


def _buckets(table: Table, general: Frontier) -> Iterator[Figure]:
    """Figure 5.2(b) and 5.3: bucketization, and aggregate queries."""
    names = ("l-diversity", "t-closeness")
    bucketized = curves(table, buckets=True, names=names)
    of_general = {p.name: p for p in general.points}
    for name in names:
        mine = [p for p in bucketized.points if p.name.startswith(name)]
        for point in mine:
            reading = f"at P_loss {_of(point, 'privacy_loss.max'):.4f}; bucketized"
            yield Figure(
                f"U_loss, {point.name}", f"figure 5.2(b), {WHERE_5}", None, _of(point, "utility_loss"), reading=reading
            )
        for id, what, where in (
            ("utility_loss", "U_loss", f"figure 5.2(b), {WHERE_5}"),
            ("query_error", "query error", f"figure 5.3, {WHERE_5}"),
        ):
            better = [_of(p, id) < _of(of_general[p.name], id) for p in mine]
            words = f"bucketization provides better utility than generalization: {what}, {name}"
            yield holds(words, where, better)
    pairs = [(_of(p, "utility_loss"), _of(p, "query_error")) for p in general.points if not p.trivial]
    ranks = [np.argsort(np.argsort(values)) for values in zip(*pairs, strict=True)]
    rho = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    yield Figure(
        "“a similar pattern”: rank correlation of U_loss and query error", f"figure 5.3(a), {WHERE_5}", None, rho
    )
    yield from _queries_of_buckets(table)


def _queries_of_buckets(table: Table) -> Iterator[Figure]:
    """Figures 5.3(b-c): t-close buckets, by selectivity and by dimension."""
    releases = [
        Buckets(Mondrian(require=require, recoding="order")).anonymize(table, Engine(seed=0)).release
        for require in CURVES["t-closeness"]
    ]
    grids = (
        ("selectivity", [{"dimension": 4, "selectivity": s} for s in SELECTIVITIES], "smaller when sel is larger"),
        ("dimension", [{"dimension": d, "selectivity": 0.05} for d in DIMENSIONS], "more accurately as qd increases"),
    )
    for what, settings, words in grids:
        rows = []
        for setting in settings:
            queries = random_queries(table, **setting)  # type: ignore[arg-type]  # a number each
            rows.append([float(query_errors(release, table, queries).mean()) for release in releases])
            where = f"figure 5.3(b-c), {WHERE_5}"
            yield Figure(f"relative error, t=0.15 bucketized, {what} {setting[what]:g}", where, None, rows[-1][2])
        falls = [later < earlier for a, b in pairwise(rows) for earlier, later in zip(a, b, strict=True)]
        yield holds(words, f"5.3.2, {WHERE_5}", falls, "steps of eight curves")
