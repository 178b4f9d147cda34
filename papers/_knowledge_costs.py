"""Li 2010, sections 3.7.2 and 3.7.3: what Injector and (B,t)-privacy cost in time and in answers to queries.

Figures 3.6 to 3.9 are curves, of which our copy has the text only. A statement of the text is a figure with the printed
value 1; ours is the share of the cases in which it holds. Times are CPU seconds, the better of two runs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from papers import Figure
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.injector import Injector
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.privacy.models import BTPrivacy, DistinctL, KAnonymity, PrivacyModel, ProbabilisticL, TCloseness
from unveil.utility import query_errors, random_queries

__all__ = ["costs_of_injector", "costs_of_kernel_privacy", "four_models", "holds"]

DIMENSIONS, SELECTIVITIES = (2, 3, 4, 5, 6), (0.01, 0.03, 0.05, 0.07, 0.1)
SEEDS = 2  # tables of Anatomy, which draws its groups
NOT_DRAWN = "a curve in print"
RARE = "a mean of relative errors is led by the rarest counts that were drawn"


def four_models(k: int, t: float) -> dict[str, PrivacyModel]:
    """The four privacy models of section 3.7.1, k = l; k-anonymity comes beside each."""
    return {
        "distinct l": DistinctL(l=k),
        "probabilistic l": ProbabilisticL(l=k),
        "t-closeness (JS)": TCloseness(t=t, distance="js"),
        "(B,t), b=.3": BTPrivacy(t=t, cost=0),
    }


def holds(name: str, where: str, cases: Sequence[bool], why_not: str = "", reading: str = "") -> Figure:
    """A statement of the text: in how many of our cases it holds."""
    said = f"{reading or 'share of cases'} ({len(cases)})"
    return Figure(f"“{name}”", where, 1, float(np.mean(cases)), 1e-9, said, why_not)


def costs_of_injector(table: Table) -> Iterator[Figure]:
    """Figures 3.6 and 3.7: Injector beside Anatomy."""
    where = "figure 3.6 and section 3.7.2, from p. 82"
    Injector(l=3).anonymize(table, Engine(seed=0)), Anatomy(l=3).anonymize(table, Engine(seed=0))  # compiles
    mined = {
        e: _seconds(lambda e=e: NegativeRules(min_expectation=e).rules(table)) for e in (0.75, 0.8, 0.85, 0.9, 0.95)
    }  # type: ignore[misc]
    for least, spent in mined.items():
        yield Figure(f"CPU s, rules, minExp {least:g}", where, None, spent, reading=f"single predicates; {NOT_DRAWN}")
    every = _seconds(lambda: NegativeRules(predicates=6).rules(table))
    yield Figure("CPU s, rules, up to six predicates", where, None, every, reading=NOT_DRAWN)
    ours, theirs = [], []
    for l in (3, 4, 5, 6):
        for name, method, found in (("Injector", Injector(l=l), ours), ("Anatomy", Anatomy(l=l), theirs)):
            found.append(_seconds(lambda method=method: method.anonymize(table, Engine(seed=0))))  # type: ignore[misc]
            yield Figure(f"CPU s, {name}, l={l}", where, None, found[-1], reading=NOT_DRAWN)
    alike = [a - mined[0.9] <= 3 * b for a, b in zip(ours, theirs, strict=True)]
    ratio = np.median([(a - mined[0.9]) / b for a, b in zip(ours, theirs, strict=True)])
    why = f"Anatomy is one compiled pass here; Injector's phase 3 merges groups in Python, {ratio:.0f} times as long"
    yield holds("the injected tables take roughly the same time as the anatomized", where, alike, why, "within 3 times")
    yield holds("usually within seconds", where, [s < 10 for s in (*ours, *theirs)], reading="runs under 10 s")
    slower = [mined[0.9] > a - mined[0.9] for a in ours]
    why = "one count of the distinct cells a level gives every support; a single-predicate rule costs nothing"
    yield holds("the main efficiency issue lies in computing the rules", where, slower, why)
    for l in (3, 6):
        yield from _utility_of_injector(table, l)


def _utility_of_injector(table: Table, l: int) -> Iterator[Figure]:
    """Figure 3.7: query errors of Injector and Anatomy."""
    where = "figure 3.7 and section 3.7.2, from p. 82"
    made = {
        type(method).__name__: [method.anonymize(table, Engine(seed=s)).release for s in range(SEEDS)]
        for method in (Injector(l=l), Anatomy(l=l))
    }
    people = [np.mean([release.rows / release.groups for release in releases]) for releases in made.values()]
    for what, errors in _query_errors(table, made):
        for name, row in errors.items():
            for value, error in row.items():
                label = f"relative error, {name} l={l}, {what} {value:g}"
                yield Figure(label, where, None, error, reading=f"mean of {SEEDS} runs; a curve in print")
        better = [errors["Injector"][v] < errors["Anatomy"][v] for v in errors["Anatomy"]]
        ratio = np.mean([errors["Injector"][v] / errors["Anatomy"][v] for v in errors["Anatomy"]])
        why = f"{ratio:.3f} of Anatomy's error; our groups hold {people[0]:.2f} people, Anatomy's {people[1]:.2f}"
        yield holds(f"Injector has smaller errors, l={l}, by {what}", where, better, why)


def costs_of_kernel_privacy(table: Table, parameters: Sequence[tuple[int, int, float]]) -> Iterator[Figure]:
    """Figures 3.8 and 3.9: four privacy models under the parameters of Table 3.4; and kernel estimation."""
    where = "figure 3.8 and section 3.7.3, from p. 83"
    Mondrian(require=(KAnonymity(k=50), BTPrivacy(t=0.2)), recoding="order").anonymize(
        table, Engine(seed=0)
    )  # compiles
    cells = np.stack(table.columns[:-1], axis=1).astype(np.int64)
    kernel = _seconds(lambda: Kernel().prior(table).of(cells))
    seconds: dict[str, list[float]] = {}
    for number, k, t in parameters:
        for name, model in four_models(k, t).items():
            mondrian = Mondrian(require=(KAnonymity(k=k), model), recoding="order")
            spent = _seconds(lambda m=mondrian: m.anonymize(table, Engine(seed=0, workers=1)))  # type: ignore[misc]
            spent -= kernel if name.startswith("(B,t)") else 0.0
            seconds.setdefault(name, []).append(spent)
            yield Figure(f"CPU s, para{number}, {name}", where, None, spent, reading=f"without the kernel; {NOT_DRAWN}")
    falls = [later < earlier for row in seconds.values() for earlier, later in pairwise(row)]
    why = "a run lasts a few hundredths of a second: what is saved in splits is lost in the noise of the clock"
    yield holds("the running time decreases with increasingly stringent requirements", where, falls, why, "steps")
    own = seconds["(B,t), b=.3"]
    others = [max(row[i] for name, row in seconds.items() if name != "(B,t), b=.3") for i in range(len(parameters))]
    why = (
        f"ours is {np.median(np.divide(own, others)):.0f} times as long: it moves every member's belief at every split"
    )
    yield holds(
        "(B,t) takes roughly the same time as the others",
        where,
        [mine <= 3 * theirs for mine, theirs in zip(own, others, strict=True)],
        why,
        "within 3 times",
    )
    yield holds(
        "usually within seconds", where, [s < 10 for row in seconds.values() for s in row], reading="under 10 s"
    )
    estimated = []
    for rows in (10_000, 20_000, table.rows):
        fewer = Table(table.attributes, tuple(column[:rows] for column in table.columns), name=table.name)
        estimated.append(_seconds(lambda fewer=fewer, rows=rows: Kernel().prior(fewer).of(cells[:rows])))  # type: ignore[misc]
        yield Figure(f"CPU s, kernel prior, b=.3, {rows:,} rows", where, None, estimated[-1], reading=NOT_DRAWN)
    yield holds("computing background knowledge takes several minutes at most", where, [s < 300 for s in estimated])
    longer = [estimated[-1] > row[i] for name, row in seconds.items() for i in range(len(row)) if name != "(B,t), b=.3"]
    yield holds("knowledge takes longer than to anonymize the data", where, longer, "one matrix product an attribute")
    yield from _utility_of_four(table, parameters[1])


def _utility_of_four(table: Table, parameters: tuple[int, int, float]) -> Iterator[Figure]:
    """Figure 3.9: query errors of the four tables under the second set of parameters."""
    number, k, t = parameters
    where = "figure 3.9 and section 3.7.3, from p. 83"
    made = {
        name: [
            Mondrian(require=(KAnonymity(k=k), model), recoding="order")
            .anonymize(table, Engine(seed=0, workers=1))
            .release
        ]
        for name, model in four_models(k, t).items()
    }
    for what, errors in _query_errors(table, made):
        for name, row in errors.items():
            for value, error in row.items():
                label = f"relative error, para{number}, {name}, {what} {value:g}"
                yield Figure(label, where, None, error, reading="a curve in print")
        values = [*errors["(B,t), b=.3"]]
        falls = [later < earlier for row in errors.values() for earlier, later in pairwise(row.values())]
        yield holds(f"the error decreases as the query {what} increases", where, falls, RARE, "steps")
        ends = [row[values[-1]] < row[values[0]] for row in errors.values()]
        yield holds(f"the error decreases as the query {what} increases: last against first", where, ends, RARE)
        own = errors["(B,t), b=.3"]
        others = {v: max(row[v] for name, row in errors.items() if name != "(B,t), b=.3") for v in own}
        why = "the worst of the other tables is finer: (B,t) with b=.3 leaves far fewer groups"
        yield holds(
            f"(B,t) answers as accurately as the others, by {what}", where, [own[v] <= others[v] for v in own], why
        )


def _query_errors(
    table: Table, made: Mapping[str, Sequence[Release]]
) -> Iterator[tuple[str, dict[str, dict[float, float]]]]:
    """By dimension, then by selectivity: the mean relative error of 1,000 counts of each kind of table."""
    for what, values in (("dimension", DIMENSIONS), ("selectivity", SELECTIVITIES)):
        errors: dict[str, dict[float, float]] = {name: {} for name in made}
        for value in values:
            setting = {"dimension": 3, "selectivity": 0.05, what: value}
            queries = random_queries(table, **setting)  # type: ignore[arg-type]  # a number each
            for name, releases in made.items():
                found = [float(query_errors(release, table, queries).mean()) for release in releases]
                errors[name][value] = float(np.mean(found))
        yield what, errors


def _seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the better of two."""
    found = []
    for _ in range(2):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)
