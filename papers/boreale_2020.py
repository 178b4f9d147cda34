"""Boreale, Corradi, Viscardi 2020, Relative Privacy Threats and Learning From Anonymized Data: Tables I to V."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from papers._printed import level, printed_release, printed_schema
from realdata.adult import adult_schema
from unveil import risk
from unveil.attackers import Attacker, attack
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.attack import run_attack
from unveil.catalog import anonymizer
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Prior, Targets, known_exactly
from unveil.data.hierarchy import HierarchyTable
from unveil.data.hierarchy_builders import interval_hierarchy, prefix_hierarchy
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.utility.faithfulness import faithfulness

WHERE = "Table I"
# The values that the generalised codes of Table I (b) stand for.
ZIPS = (*(f"4550{n}" for n in range(10)), *(f"5550{n}" for n in range(10)), "66601", "77701")
NATIONS = ("China", "India", "Japan", "Malaysia")
DISEASES = ("Diabetes", "Flu", "HIV", "Heart", "Stomach")
TABLE_A = """
nat      ; zip   ; dis
Malaysia ; 45501 ; Heart
Japan    ; 45502 ; Flu
Japan    ; 55503 ; Flu
Japan    ; 55504 ; Stomach
China    ; 66601 ; HIV
Japan    ; 66601 ; Diabetes
India    ; 77701 ; Flu
Malaysia ; 77701 ; Heart
"""
TABLE_B = """
nat              ; zip   ; dis
{Malaysia,Japan} ; 4550* ; Heart
{Malaysia,Japan} ; 4550* ; Flu
Japan            ; 5550* ; Flu
Japan            ; 5550* ; Stomach
{China,Japan}    ; 66601 ; HIV
{China,Japan}    ; 66601 ; Diabetes
{India,Malaysia} ; 77701 ; Flu
{India,Malaysia} ; 77701 ; Heart
"""
TABLE_C = """
gid ; nat      ; zip   ; dis
1   ; Japan    ; 45502 ; Heart
1   ; Malaysia ; 45501 ; Flu
2   ; Japan    ; 55504 ; Flu
2   ; Japan    ; 55503 ; Stomach
3   ; Japan    ; 66601 ; HIV
3   ; China    ; 66601 ; Diabetes
4   ; Malaysia ; 77701 ; Flu
4   ; India    ; 77701 ; Heart
"""
# Table III, the victim (Malaysia, 45501), in the order of DISEASES.
TABLE_III = {
    "learner": ("0.113", "0.317", "0.114", "0.343", "0.113"),
    "bayesian": ("0", "0.420", "0", "0.580", "0"),
    "random_worlds": ("0", "0.5", "0", "0.5", "0"),
}
SIMULATED = "printed from a simulation, 'affected by rounding errors'"
NOT_TABLE_III = {
    "learner": f"{SIMULATED}; eq. 5 by enumeration gives .114 .329 .114 .330 .114, and no domain of ZIP that the text "
    "allows gives the printed digits",
    "bayesian": f"{SIMULATED}; 5/12 = .4167 and 7/12 = .5833 by enumeration of every table",
    "random_worlds": "",
}
QUASI_IDENTIFIERS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
ROWS = 5692
SUBSET = f"a random subset of {ROWS} rows (seed 0)"
OTHERS = range(1, 6)  # seeds of more random subsets
# Tables IV (ARX, k = l) and V (Anatomy), and what section VI says beside them; ARX recodes whole columns.
HORIZONTAL = ("mondrian:k={0},l={0},recoding=order", "full_domain:k={0},l={0}", "full_domain:k={0},l={0},suppress=0.05")
TABLES_IV_V: tuple[tuple[str, int, tuple[str, ...], dict[str, str]], ...] = (
    ("Table IV", 4, HORIZONTAL, {"GT_A": "0.2930", "GT_L": "0.2681", "GT_RW": "0.2131", "RGT_A": "0.0249",
                                 "ABS_A": "9795.58", "ABS_RW": "9980.35", "largest Ti": "13.8", "RF": "0.3106",
                                 "rows a group": "38"}),
    ("Table IV", 6, HORIZONTAL, {"GT_A": "0.2994", "GT_L": "0.2756", "GT_RW": "0.2890", "RGT_A": "0.0232",
                                 "ABS_A": "9699.09", "ABS_RW": "9451.53", "RF": "0.3011", "rows a group": "355"}),
    ("Table V", 4, ("anatomy:l={0}",), {"GT_A": "0.3273", "GT_L": "0.2653", "GT_RW": "0.1669", "RGT_A": "0.0620",
                                        "ABS_A": "8391.66", "ABS_RW": "9471.94", "largest Ti": "286.19",
                                        "people with Ti of 2 or more": "483", "RF": "0.6493", "rows a group": "4"}),
    ("Table V", 6, ("anatomy:l={0}",), {"GT_A": "0.2396", "GT_L": "0.2136", "GT_RW": "0.1689", "RGT_A": "0.0260",
                                        "ABS_A": "9276.25", "ABS_RW": "9889.07", "RF": "0.5341",
                                        "rows a group": "6"}),
)  # fmt: skip
Measure = Callable[[Belief, Belief, NDArray[np.integer]], float]
MEASURES: dict[str, Measure] = {
    "GT_A": lambda a, l, truth: risk.global_threat(a, truth).value,
    "GT_L": lambda a, l, truth: risk.global_threat(l, truth).value,
    "RGT_A": lambda a, l, truth: risk.relative_global_threat(a, l, truth).value,
    "ABS_A": lambda a, l, truth: len(truth) * risk.absolute_error(a, truth).value,
    "largest Ti": lambda a, l, truth: risk.relative_threat_max(a, l, truth).value,
    "people with Ti of 2 or more": lambda a, l, truth: len(truth) * risk.relative_threat_share(a, l, truth).value,
    "skewness of log2 Ti (figures 2, 3)": lambda a, l, truth: risk.relative_threat_skewness(a, l, truth).value,
}
CONVERGENCE = {
    "disagreement_q99": "between chains, 99% of beliefs within",
    "r_hat_share_above_1.1": "share of row beliefs with R-hat above 1.1",
    "error_q99": "Monte-Carlo error of 99% of row beliefs, at most",
    "geweke_share_beyond_2": "parameters beyond 2 by Geweke's test, share",
    "weiss_share_below_.05": "rows below .05 by Weiss' procedure, share",
}
BOUNDED = "by the bounded estimator; eq. 21 as printed is not bounded"
BASELINE, IDEAL = "0.1656", "0.3534"
SIDECAR_C = 'group = "gid"\nblocks = [["nat", "zip"], ["dis"]]\n'


def table_i(part: str) -> Release:
    """(a) the original, (b) 2-anonymous by local recoding, (c) Anatomy."""
    text, sidecar = {"a": (TABLE_A, ""), "b": (TABLE_B, ""), "c": (TABLE_C, SIDECAR_C)}[part]
    return printed_release(text, _schema(), sidecar=sidecar)


def reproduce() -> Iterator[Figure]:
    """Table I, k and l of each part; Table III; remarks 2 and 5."""
    yield Figure("Table I (a), k", WHERE, 1, level(table_i("a"), "k_anonymity"), reading="the original")
    yield Figure("Table I (b), k", WHERE, 2, level(table_i("b"), "k_anonymity"))
    yield Figure("Table I (b), distinct l", WHERE, 2, level(table_i("b"), "distinct_l"))
    yield Figure("Table I (c), groups", WHERE, 4, float(table_i("c").groups))
    yield Figure("Table I (c), distinct l", WHERE, 2, level(table_i("c"), "distinct_l"))
    yield from _reproduce_table_iii()
    yield from _reproduce_remarks()


def victim(release: Release) -> Targets:
    """(Malaysia, 45501)."""
    codes = {
        release.index(name): np.array([release.attributes[release.index(name)].values.index(value)])
        for name, value in (("nat", "Malaysia"), ("zip", "45501"))
    }
    return known_exactly(release, codes, release.index("dis"))


def _reproduce_table_iii() -> Iterator[Figure]:
    release = table_i("b")
    target, prior = victim(release), Prior.uninformative(release, release.index("dis"))
    reading = {
        "learner": "by eq. 5, ZIP has the 22 values of the four codes; ours is sampled",
        "bayesian": "ours is sampled",
        "random_worlds": "exact",
    }
    chains = Chains(sweeps=20_000, most_sweeps=0)  # Nat's regions overlap, so that two diseases are sampled
    readers: dict[str, Attacker] = {"learner": Learner(), "bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    for name, reader in readers.items():
        belief = attack(reader, release, target, prior, Engine(seed=0), chains).probability[0]
        for value, published, ours in zip(DISEASES, TABLE_III[name], belief, strict=True):
            label = f"Table III, {name}, {value}"
            yield Figure(label, "Table III", published, float(ours), reading=reading[name], why_not=NOT_TABLE_III[name])


def remark_5() -> tuple[Release, Targets]:
    """The cleartext of 10^6 rows, one of which has the rare value and an r of its own; 1,000 values of r."""
    r = Attribute("r", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(1000))))
    s = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, ("rare", "frequent"))
    count = np.full(1000, 1001)
    count[0], count[1] = 1, 999_999 - 998 * 1001
    value = np.ones(1000, dtype=np.int64)
    value[0] = 0
    rows = BlockRows((0, 1), np.arange(1000), (np.arange(1000), value), count)
    release, _ = build_release([r, s], [Regions.singles(1000), Regions.singles(2)], [rows])
    return release, known_exactly(release, {0: np.array([0])}, 1)


def island(people: int, tested: int) -> tuple[Release, Targets]:
    """Remark 2: the culprit shows the trait, `tested` innocents do not, of the others it is not known."""
    trait = Attribute("trait", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("absent", "present"))
    guilt = Attribute("guilt", Role.SENSITIVE, Kind.CATEGORICAL, ("innocent", "guilty"))
    shown = Regions.sets(2, [[0], [1], [0, 1]])
    kinds = [(1, 1, 1), (0, 0, tested), (2, 0, people - 1 - tested)]  # region of the trait, guilt, rows
    region, value, count = (np.array(column) for column in zip(*(k for k in kinds if k[2]), strict=True))
    rows = BlockRows((0, 1), np.arange(len(count)), (region, value), count)
    release, _ = build_release([trait, guilt], [shown, Regions.singles(2)], [rows])
    return release, known_exactly(release, {0: np.array([1])}, 1)


def trait_known(share: float) -> Prior:
    """The trait's share among the innocent, given beforehand."""
    return Prior(np.ones(2), {0: np.array([[1 - share, share], [0.5, 0.5]])})


def _reproduce_remarks() -> Iterator[Figure]:
    release, target = remark_5()
    prior = Prior.uninformative(release, 1)
    learner = float(attack(Learner(), release, target, prior, Engine(seed=0)).probability[0, 0])
    attacker = float(attack(Bayesian(), release, target, prior, Engine(seed=0)).probability[0, 0])
    yield Figure("Remark 5, p_L", "Remark 5", "0.004", learner, reading="printed as ≈ 0.004")
    rounded = "printed as ≈ 250, which is 1 / .004; before rounding p_L is .003984"
    yield Figure("Remark 5, Ti", "Remark 5", "250", attacker / learner, why_not=rounded)
    for people, tested, share in ((100, 0, 0.01), (1000, 300, 0.004)):
        release, target = island(people, tested)
        ours = float(attack(FixedPrior(), release, target, trait_known(share), Engine(seed=0)).probability[0, 1])
        name = f"Remark 2, {people} people, {tested} tested, trait {share:g}"
        yield Figure(name, "Remark 2", 1 / (1 + (people - 1 - tested) * share), ours, 1e-9)
        learned = attack(Bayesian(), release, target, Prior.uninformative(release, 1), Engine(seed=0))
        reading = "the share learned from Beta(1, 1): (k + 2) / (N + 1)"
        expected = (tested + 2) / (people + 1)
        yield Figure(
            f"{name}, learned", "Remark 2", expected, float(learned.probability[0, 1]), 1e-9, reading, self_check=True
        )


def subset(columns: dict[str, list[str]], seed: int = 0, *, recoded: bool = False) -> Table:
    """A random subset of the size of the paper's. `recoded`: every quasi-identifier has a hierarchy, as ARX needs."""
    names = (*QUASI_IDENTIFIERS, "occupation")
    rows = np.sort(np.random.default_rng(seed).choice(len(columns["age"]), ROWS, replace=False))
    schema = adult_schema(columns, QUASI_IDENTIFIERS)
    if recoded:
        ladders = {"age": interval_hierarchy(range(17, 91), [5, 10, 20]), **schema.hierarchies}
        for name in QUASI_IDENTIFIERS:
            if name not in ladders:
                ladders[name] = HierarchyTable(tuple((value, "*") for value in sorted(set(columns[name]))))
        schema = Schema(schema.document, ladders, schema.name)
    table = Table.from_columns(schema, {name: columns[name] for name in names})
    return Table(table.attributes, tuple(column[rows] for column in table.columns))


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Tables IV and V and the numbers of figures 2 and 3, on a random subset."""
    yield from _accuracies(columns)
    for where, size, methods, published in TABLES_IV_V:
        for method in methods:
            text = method.format(size)
            recoded = text.startswith("full_domain")
            yield from _attacked(text, where, published, subset(columns, recoded=recoded), columns)


def _accuracies(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """The best that can be guessed without the table, and with the original."""
    table = subset(columns)
    truth = table.columns[table.index("occupation")]
    share = risk.baseline_accuracy(np.bincount(truth)).value
    every = columns["occupation"]
    whole = max(every.count(value) for value in set(every)) / len(every)
    spread = float(np.sqrt(whole * (1 - whole) / ROWS * (1 - ROWS / len(every))))
    away = abs(float(BASELINE) - whole) / spread
    why = (
        f"of all {len(every):,} rows it is {whole:.4f}; {BASELINE} is {away:.1f} standard errors of a random subset "
        "from that: the paper's rows, which are not published, are not a random subset"
    )
    yield Figure("baseline accuracy", "Table IV", BASELINE, share, reading=SUBSET, why_not=why)
    ideal = [_ideal(subset(columns, seed)) for seed in (0, *OTHERS)]
    why = f"random subsets vary: {min(ideal):.4f} to {max(ideal):.4f} in {len(ideal)} of them"
    yield Figure("ideal accuracy", "Table IV", IDEAL, ideal[0], reading=SUBSET, why_not=why)


def _ideal(table: Table) -> float:
    original = table.as_release()
    asked = original.index("occupation")
    targets = targets_of_table(table, original, asked)
    ideal = attack(Learner(), original, targets, Prior.uninformative(original, asked), Engine(seed=0))
    return risk.global_threat(ideal, table.columns[asked]).value


def by_random_worlds(text: str, table: Table) -> tuple[Release, Belief]:
    """A release of the table, and what random worlds says of each of its people."""
    release = anonymizer(text).anonymize(table, Engine(seed=0)).release
    asked = release.index("occupation")
    targets = targets_of_table(table, release, asked)
    return release, attack(RandomWorlds(), release, targets, Prior.uninformative(release, asked), Engine(seed=0))


def tie_rules(belief: Belief, truth: NDArray[np.integer]) -> dict[str, float]:
    """GT by each way to guess where several values are believed most."""
    people = np.arange(len(truth))
    tied = belief.probability >= belief.probability.max(axis=1, keepdims=True) * (1 - 1e-12)
    right = tied[people, truth]
    return {
        "one of them at random": float((right / tied.sum(axis=1)).mean()),
        "the first": float((tied.argmax(axis=1) == truth).mean()),
        "the last": float((tied.shape[1] - 1 - tied[:, ::-1].argmax(axis=1) == truth).mean()),
        "no guess": float((right & (tied.sum(axis=1) == 1)).mean()),
        "drawn by the belief": float(belief.probability[people, truth].mean()),
    }


def _attacked(
    text: str, where: str, published: dict[str, str], table: Table, columns: dict[str, list[str]]
) -> Iterator[Figure]:
    truth = table.columns[table.index("occupation")]
    release, worlds = by_random_worlds(text, table)
    chains = Chains(sweeps=1000, burn_in=4000, most_sweeps=12_000, precision=0.02)
    targets = targets_of_table(table, release, release.index("occupation"))
    found = run_attack(release, targets, {"bayesian": Bayesian()}, engine=Engine(seed=0), chains=chains)
    attacker = found.attackers["bayesian"]
    faithful = faithfulness(
        release, table, targets.asked, engine=Engine(seed=0), chains=chains, learned=found.learned
    ).value
    exact = {
        "rows a group": float(release.sizes.mean()),
        "GT_RW": risk.global_threat(worlds, truth).value,
        "ABS_RW": ROWS * risk.absolute_error(worlds, truth).value,
    }
    why = _why_not(text, published, exact, columns)
    for measure, value in exact.items():
        reading = SUBSET if measure != "rows a group" else ""
        yield Figure(f"{text}: {measure}", where, published[measure], value, reading=reading, why_not=why[measure])
    if text.startswith("anatomy"):
        for rule, value in tie_rules(worlds, truth).items():
            yield Figure(f"{text}: GT_RW where several values tie, {rule}", where, None, value, reading=SUBSET)
    reading = f"{SUBSET}; {BOUNDED}"
    yield Figure(f"{text}: RF", where, published["RF"], faithful, reading=reading, why_not=why["RF"])
    # Chains that disagree are not pooled: each is measured alone, and the mean of these measures is shown.
    pairs = [(attacker, found.learner)]
    if not attacker.diagnostics.converged and attacker.chains is not None and found.learner.chains is not None:
        pairs = [(Belief(a), Belief(l)) for a, l in zip(attacker.chains, found.learner.chains, strict=True)]
    for measure, of in MEASURES.items():
        each = [of(a, l, truth) for a, l in pairs]
        reading = SUBSET
        if len(each) > 1:
            span = f"each alone {min(each):.5g} to {max(each):.5g}"
            reading += f"; the chains disagree about single rows: not pooled, {span}"
        value = float(np.mean(each))
        yield Figure(
            f"{text}: {measure}", where, published.get(measure), value, reading=reading, why_not=why.get(measure, "")
        )
    yield from _histogram(text, attacker, found.learner, truth)
    agree = "the chains agree" if attacker.diagnostics.converged else "the chains disagree; `attack` exits with 3"
    facts = attacker.diagnostics.facts
    for fact, words in CONVERGENCE.items():
        if fact in facts:
            yield Figure(f"{text}: {words}", "section VI-D", None, float(facts[fact]), reading=agree)
    if text == "anatomy:l=6":
        yield from _plain_chains(release, targets, truth)


def _why_not(
    text: str, published: dict[str, str], exact: dict[str, float], columns: dict[str, list[str]]
) -> dict[str, str]:
    """For each measure why ours differs, from what can be measured of the release and of other random subsets."""
    recoded = text.startswith("full_domain")
    rates = {"GT_RW": [exact["GT_RW"]], "ABS_RW": [exact["ABS_RW"]]}
    for seed in OTHERS:
        table = subset(columns, seed, recoded=recoded)
        truth = table.columns[table.index("occupation")]
        _, worlds = by_random_worlds(text, table)
        rates["GT_RW"].append(risk.global_threat(worlds, truth).value)
        rates["ABS_RW"].append(ROWS * risk.absolute_error(worlds, truth).value)
    spans = {name: f"{min(each):.4g} to {max(each):.4g} in {len(each)} random subsets" for name, each in rates.items()}
    if text.startswith("anatomy"):
        # An absolute error is 2 (1 - p) of the true value.
        theirs, ours = (1 - absolute / (2 * ROWS) for absolute in (float(published["ABS_RW"]), exact["ABS_RW"]))
        cause = (
            f"the printed ABS_RW gives the true value {theirs:.3f} on average, ours {ours:.3f}: the paper's people "
            "match more buckets than those of a random subset"
        )
    elif abs(exact["rows a group"] - float(published["rows a group"])) < 1:
        cause = (
            "with as many groups as the paper's, so its rows or its node differ; and since p_A is random worlds "
            "without suppression, the paper's GT_A and GT_RW, which differ, are of a release with suppression"
        )
    else:
        cause = (
            f"the paper's groups hold {published['rows a group']} people on average, these {exact['rows a group']:.1f}"
        )
    sampled = f"differs as ABS_RW does, which needs no chains: {cause}"
    varies = min(rates["GT_RW"]) <= float(published["GT_RW"]) <= max(rates["GT_RW"])
    no_rule = "; no rule for ties gives it (below)" if text.startswith("anatomy") else ""
    groups = (
        f"{ROWS / exact['rows a group']:.0f} groups, the paper's would be {ROWS / float(published['rows a group']):.0f}"
    )
    return {
        "rows a group": f"{groups}; ARX's hierarchies, its measure of loss and the rows are not published",
        "GT_RW": f"random subsets vary: {spans['GT_RW']}" if varies else f"{spans['GT_RW']}; {cause}{no_rule}",
        "ABS_RW": f"{spans['ABS_RW']}; {cause}",
        "GT_A": sampled,
        "GT_L": sampled,
        "RGT_A": "the difference of two figures that differ: GT_A and GT_L",
        "ABS_A": sampled,
        "RF": f"the printed estimator may fall below 0; and {cause}",
        "largest Ti": f"one person decides a maximum; and {cause}",
        "people with Ti of 2 or more": f"counts among the threatened, of whom there are more: {cause}",
    }


def _histogram(text: str, attacker: Belief, learner: Belief, truth: NDArray[np.integer]) -> Iterator[Figure]:
    """Figures 2 and 3 in numbers: how many of the people threatened under p_A have log2 Ti in each step."""
    times = risk.relative_threat(attacker, learner, truth)
    logs = np.log2(times[~np.isnan(times)])
    edges = [-np.inf, 0.0, 1.0, 2.0, 3.0, 4.0, np.inf]
    for low, high in pairwise(edges):
        share = float(((logs >= low) & (logs < high)).mean())
        yield Figure(
            f"{text}: share of the threatened with log2 Ti in [{low:g}, {high:g})", "figures 2, 3", None, share
        )
    for name, belief in (("A", attacker), ("L", learner)):
        hit = risk.threatened(belief, truth)
        rows = np.flatnonzero(hit)
        above = float((attacker.probability[rows, truth[rows]] >= learner.probability[rows, truth[rows]]).mean())
        words = f"{text}: of those threatened under p_{name}, with p_A at or above p_L (scatter plots)"
        yield Figure(words, "figures 2, 3", None, above, reading=SUBSET)


def _plain_chains(release: Release, targets: Targets, truth: NDArray[np.integer]) -> Iterator[Figure]:
    """Without annealing chains settle in different modes: they must be told to disagree."""
    chains = Chains(sweeps=1000, burn_in=1000, most_sweeps=0, anneal=False)
    found = run_attack(release, targets, {"bayesian": Bayesian()}, engine=Engine(seed=0), chains=chains)
    attacker = found.attackers["bayesian"]
    assert attacker.chains is not None
    said = "the chains agree" if attacker.diagnostics.converged else "the chains disagree, as they should"
    for number, chain in enumerate(attacker.chains, start=1):
        value = risk.global_threat(Belief(chain), truth).value
        yield Figure(f"anatomy:l=6, plain chain {number}: GT_A", "Table V", None, value, reading=said)


def _schema() -> Schema:
    return printed_schema(
        {
            "nat": {"role": "quasi-identifier", "domain": NATIONS},
            "zip": {"role": "quasi-identifier", "domain": ZIPS},
            "dis": {"role": "sensitive", "domain": DISEASES},
        },
        {"zip": prefix_hierarchy(ZIPS, [4])},
    )
