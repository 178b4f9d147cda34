"""Li 2010, the same thesis: chapter 3, background knowledge (Injector, kernel priors, (B,t)-privacy)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from papers._knowledge_costs import costs_of_injector, costs_of_kernel_privacy, holds
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.injector import Injector
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.hierarchy import HierarchyTable
from unveil.data.release import Anonymized
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.kernels.assignment import exact_marginals, omega_marginals
from unveil.privacy.distances import Geometry, jensen_shannon
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.mining.cells import valid_values
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.privacy.models import BTPrivacy, DistinctL, KAnonymity, PrivacyModel, ProbabilisticL, TCloseness
from unveil.risk.background import BackgroundRisk, background_risk, describe_knowledge

# Figure 3.3: minExp, |R|, and the shares of tuples with 0, 1, 2, 3, 4, 5 or more incompatible values.
FIGURE_3_3 = (
    (0.75, 45, (0, 0.804, 0.159, 0.023, 0.012, 0.002)),
    (0.80, 39, (0, 0.846, 0.122, 0.021, 0.010, 0.001)),
    (0.85, 32, (0, 0.875, 0.092, 0.020, 0.010, 0)),
    (0.90, 22, (0, 0.879, 0.092, 0.025, 0.004, 0)),
    (0.95, 15, (0, 0.962, 0.018, 0.020, 0, 0)),
)
TABLE_3_4 = ((1, 3, 0.25), (2, 4, 0.2), (3, 5, 0.15), (4, 6, 0.1))  # parameter set, k = l, t; b = .3 in all
BANDWIDTHS = (0.2, 0.3, 0.4, 0.5)
AGES = ((5, 10, 20), (10, 20), (5,), ())  # steps of hierarchies of ages; the thesis' hierarchies are not published
DRAWN = "a drawing, which our copy lacks"
KNOWS_LESS = "the text has fewer with a larger b'; we find more: whoever knows less is moved more"


def reproduce() -> Iterator[Figure]:
    """Tables 3.2 and 3.3: three people, one of whom has HIV."""
    where = "section 3.6, from p. 71"
    for table, held, printed in (
        ("3.2", [[0.05, 0.95], [0.05, 0.95], [0.3, 0.7]], (0.8028, None)),
        ("3.3", [[0.0, 1.0], [0.0, 1.0], [0.3, 0.7]], (1.0, 0.6585)),
    ):
        weight, count, found = np.array(held), np.array([1, 2]), np.zeros((3, 2))
        exact_marginals(weight, count, found)
        yield Figure(f"Table {table}, the third has HIV, exact", where, printed[0], float(found[2, 0]), 5e-5)
        omega_marginals(weight, count, found)
        yield Figure(f"Table {table}, the third has HIV, Omega-estimate", where, printed[1], float(found[2, 0]), 5e-5)


def adult_table(columns: dict[str, list[str]], steps: tuple[int, ...] = AGES[0], *, others: bool = True) -> Table:
    """30,162 people with the six quasi-identifiers, ages in a hierarchy of these steps, and the others in ours."""
    schema = adult_schema(columns)
    hierarchies = dict(schema.hierarchies) if others else {}
    if steps:
        ages = sorted({int(age) for age in columns["age"]})
        ranges = tuple((str(a), *(f"[{a // w * w},{a // w * w + w - 1}]" for w in steps), "*") for a in ages)
        hierarchies["age"] = HierarchyTable(ranges)
    known = Schema(schema.document, hierarchies, name="adult")
    return Table.from_columns(known, {name: columns[name] for name in (*QUASI_IDENTIFIERS, SENSITIVE)})


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Figures 3.3, 3.4 and 3.10."""
    table = adult_table(columns)
    yield from _rules(columns)
    yield from _rule_attacks(table, [(l, 0.9) for l in (3, 4, 5, 6)])
    yield from _omega(table)


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """The rest of figure 3.4, figures 3.5 to 3.9 and 3.11: about two minutes."""
    table = adult_table(columns)
    yield from _rule_attacks(table, [(6, e) for e, _, _ in FIGURE_3_3 if e != 0.9])
    yield from _kernel_attacks(table)
    yield from costs_of_injector(table)
    yield from costs_of_kernel_privacy(table, TABLE_3_4)
    yield from _continuity(table)


def _rules(columns: dict[str, list[str]]) -> Iterator[Figure]:
    where = "figure 3.3, from p. 80"
    tables = [adult_table(columns, steps, others=others) for others in (True, False) for steps in AGES]
    for least, rules, shares in FIGURE_3_3:
        found = [describe_knowledge(table, NegativeRules(min_expectation=least)) for table in tables]
        mined = [one.rules for one in found if one.rules is not None]
        counts, minimal = [len(one) for one in mined], [len(one.minimal()) for one in mined]
        reading = f"single predicates; {minimal[0]} of them minimal"
        tried = "tried: ages in 5, 10 and 20 years, in 10 and 20, in 5, alone, and the others in ours or none"
        why = f"{_hierarchies(rules, counts)} ({tried}); minimal rules alone: {min(minimal)} to {max(minimal)}"
        yield Figure(f"|R|, minExp {least:g}", where, rules, counts[0], 0.5, reading, why)
        for number, printed in enumerate(shares):
            label = f"N_{'≥' if number == 5 else ''}{number}, minExp {least:g}"
            ours = [float(one.impossible()[number]) for one in found]
            yield Figure(label, where, printed, ours[0], 5e-4, why_not=_hierarchies(printed, ours))


def _hierarchies(printed: float, ours: Sequence[float]) -> str:
    """Ours beside those of other hierarchies: do they explain what is printed?"""
    said = f"the thesis' hierarchies are not published; {len(ours)} tried give {min(ours):.3g} to {max(ours):.3g}"
    return f"{said}: they {'may be' if min(ours) <= printed <= max(ours) else 'alone are not'} the reason"


def _rule_attacks(table: Table, tried: list[tuple[int, float]]) -> Iterator[Figure]:
    """Tuples with fewer than l possible values under the rules, for each l and minExp."""
    where = "figure 3.4 and section 3.7.1, from p. 79"
    value = table.columns[-1].astype(np.int64)
    cells = np.stack(table.columns[:-1], axis=1).astype(np.int64)
    anatomies = {l: [Anatomy(l=l).anonymize(table, Engine(seed=s)) for s in range(10)] for l in {l for l, _ in tried}}
    for l, least in tried:
        never = NegativeRules(min_expectation=least).rules(table).ceiling(cells) <= 0
        group = Injector(l=l, min_expectation=least).anonymize(table, Engine(seed=0)).group_of_row
        lost = int((valid_values(group, value, ~never).sum(axis=1) < l).sum())
        label = f"l={l}" if least == 0.9 else f"l={l}, minExp {least:g}"
        yield Figure(f"vulnerable tuples, Injector {label}", where, 0, lost, 0, "valid values, not only possible ones")
        counts = [_fewer(made, value, never, l) for made in anatomies[l]]
        label = f"vulnerable tuples, Anatomy {label}, mean of 10"
        yield Figure(label, where, None, float(np.mean(counts)), reading=DRAWN)


def _fewer(made: Anonymized, value: NDArray[np.int64], never: NDArray[np.bool_], l: int) -> int:
    """People with fewer than l possible values in their group, as the thesis counts them."""
    there = np.zeros((made.release.groups, never.shape[1]), dtype=bool)
    there[made.group_of_row, value] = True
    return int(((there[made.group_of_row] & ~never).sum(axis=1) < l).sum())


def _omega(table: Table) -> Iterator[Figure]:
    """100 random groups of N people: how far the Omega-estimate lies from the exact belief."""
    where = "figure 3.10, from p. 87"
    cells = np.stack(table.columns[:-1], axis=1).astype(np.int64)
    random = np.random.default_rng(0)
    for b in BANDWIDTHS:
        held = Kernel(bandwidth=(b,)).prior(table).of(cells)
        for size in (3, 5, 10, 15):
            apart, single = [], []
            for _ in range(100):
                people = random.choice(table.rows, size, replace=False)
                items, count = np.unique(table.columns[-1][people], return_counts=True)
                weight = np.ascontiguousarray(held[people][:, items])
                exact, rough = np.zeros((2, *held[people].shape))
                small = np.zeros((2, *weight.shape))
                exact_marginals(weight, count, small[0])
                omega_marginals(weight, count, small[1])
                exact[:, items], rough[:, items] = small
                apart.append(np.abs(_js(exact, held[people]) - _js(rough, held[people])).mean())
                single.append(np.abs(exact - rough).max())
            reading = f"the thesis: within .1; largest error of one probability {np.mean(single):.2f} on average"
            yield Figure(f"Omega error, b={b:g}, N={size}", where, None, float(np.mean(apart)), reading=reading)


def _js(share: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    return jensen_shannon(share, reference, Geometry())


def _exposed(table: Table, made: Anonymized, b: tuple[float, ...], cost: float = 0.0) -> BackgroundRisk:
    """By the Omega-estimate, as in the thesis, unless a cost is allowed."""
    asked = len(table.attributes) - 1
    roster = targets_of_table(table, made.release, asked, group=made.group_of_row.astype(np.int64))
    return background_risk(
        made.release, asked, Kernel(bandwidth=b).prior(table), roster=roster, cost=cost, matching=False
    )


def _kernel_attacks(table: Table) -> Iterator[Figure]:
    """Table 3.4's parameters: people whose belief moves by more than t under b' = .3; of the second, others too."""
    fewest: list[bool] = []
    falls: list[bool] = []
    for number, k, t in TABLE_3_4:
        lost: dict[tuple[float, bool], list[int]] = {}  # by b' and whether it is the (B,t)-private table of the thesis
        models: dict[str, PrivacyModel] = {
            "distinct l": DistinctL(l=k),
            "probabilistic l": ProbabilisticL(l=k),
            "t-closeness (JS)": TCloseness(t=t, distance="js"),
            "(B,t), b=.3, Omega": BTPrivacy(t=t, cost=0),
            "(B,t), b=.3, exact": BTPrivacy(t=t),
        }
        for name, model in models.items():
            made = Mondrian(require=(KAnonymity(k=k), model), recoding="order").anonymize(table, Engine(seed=0))
            tried = BANDWIDTHS if number == 2 else (0.3,)
            counts = []
            for b in tried:
                rough, exact = (_exposed(table, made, (b,), cost) for cost in (0.0, 2e5))
                where = f"figure 3.5 ({'a' if number == 2 else 'b'}), from p. 81"
                reading = f"by exact beliefs in small groups {exact.beyond(t)}; {made.release.groups} groups; "
                reading += KNOWS_LESS if number == 2 else DRAWN
                label = f"vulnerable tuples, para{number}, {name}, b'={b:g}"
                yield Figure(label, where, None, rough.beyond(t), reading=reading)
                counts.append(rough.beyond(t))
                if name != "(B,t), b=.3, exact":
                    lost.setdefault((b, isinstance(model, BTPrivacy)), []).append(counts[-1])
            falls += [later <= earlier for earlier, later in pairwise(counts)]
        fewest += [max(lost[b, True]) < min(lost[b, False]) for b in tried]
    where = "section 3.7.1, from p. 81"
    why = "so it is if the reader's b' is b; else tables of far fewer groups (148 of probabilistic l for 2,833) win"
    yield holds("the (B,t)-private table contains much fewer vulnerable tuples", where, fewest, why, "as in the thesis")
    yield holds("the number of vulnerable tuples decreases as b' increases", where, falls, KNOWS_LESS, "steps")


def _continuity(table: Table) -> Iterator[Figure]:
    """The worst-case disclosure risk, k = 4 and t = .2: one bandwidth, then two."""
    for b in BANDWIDTHS:
        model = BTPrivacy(t=0.2, bandwidth=(b,), cost=0)
        made = Mondrian(require=(KAnonymity(k=4), model), recoding="order").anonymize(table, Engine(seed=0))
        for theirs in BANDWIDTHS:
            worst = _exposed(table, made, (theirs,)).worst
            label = f"worst-case risk, b={b:g}, b'={theirs:g}"
            yield Figure(label, "figure 3.11 (a), from p. 88", None, worst, reading=DRAWN)
    reading = f"{DRAWN}; on the last three the distances are .5 and 1 in our hierarchies: a b2 up to .5 changes nothing"
    for first in BANDWIDTHS:
        for second in (0.3, 0.6, 0.9, 1.2):
            width = (first,) * 3 + (second,) * 3
            model = BTPrivacy(t=0.2, bandwidth=width, cost=0)
            made = Mondrian(require=(KAnonymity(k=4), model), recoding="order").anonymize(table, Engine(seed=0))
            worst = _exposed(table, made, (0.3,)).worst
            label = f"worst-case risk, b1={first:g}, b2={second:g}, b'=.3"
            yield Figure(label, "figure 3.11 (b), from p. 88", None, worst, reading=reading)
