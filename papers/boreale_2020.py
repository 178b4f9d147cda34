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
from unveil.data.hierarchy import prefix_ladder
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
    "learner": (0.113, 0.317, 0.114, 0.343, 0.113),
    "bayesian": (0.0, 0.420, 0.0, 0.580, 0.0),
    "random_worlds": (0.0, 0.5, 0.0, 0.5, 0.0),
}
ROUNDED = 0.005  # "figures affected by rounding errors"; they come from a simulation
NO_DOMAIN = "no domain of ZIP that the text allows gives the printed digits"
QUASI_IDENTIFIERS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
ROWS = 5692
SUBSET = f"a random subset of {ROWS} rows (seed 0)"
UNPUBLISHED = (
    f"the paper's {ROWS} rows are not published and are not a random sample (its baseline is .1656); "
    "the anonymizer is ours, not the paper's tool"
)
# Tables IV (Mondrian, k = l) and V (Anatomy), and what section VI says beside them.
TABLES_IV_V: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("Table IV", "mondrian:k=4,l=4", {"GT_A": 0.2930, "GT_L": 0.2681, "GT_RW": 0.2131, "RGT_A": 0.0249,
                                      "ABS_A": 9795.58, "ABS_RW": 9980.35, "largest Ti": 13.8}),
    ("Table IV", "mondrian:k=6,l=6", {"GT_A": 0.2994, "GT_L": 0.2756, "GT_RW": 0.2890, "RGT_A": 0.0232,
                                      "ABS_A": 9699.09, "ABS_RW": 9451.53}),
    ("Table V", "anatomy:l=4", {"GT_A": 0.3273, "GT_L": 0.2653, "GT_RW": 0.1669, "RGT_A": 0.0620,
                                "ABS_A": 8391.66, "ABS_RW": 9471.94, "largest Ti": 286.19,
                                "people with Ti of 2 or more": 483, "RF": 0.649}),
    ("Table V", "anatomy:l=6", {"GT_A": 0.2396, "GT_L": 0.2136, "GT_RW": 0.1689, "RGT_A": 0.0260,
                                "ABS_A": 9276.25, "ABS_RW": 9889.07}),
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
BASELINE, IDEAL = 0.1656, 0.3534
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
    simulated = f"printed from a simulation, 'affected by rounding errors': taken to {ROUNDED:g}; ours is sampled too"
    reading = {
        "learner": f"by eq. 5, ZIP has the 22 values of the four codes; {simulated}",
        "bayesian": f"7/12 and 5/12 by enumeration; {simulated}",
        "random_worlds": "exact",
    }
    chains = Chains(sweeps=20_000, most_sweeps=0)  # Nat's regions overlap, so that two diseases are sampled
    readers: dict[str, Attacker] = {"learner": Learner(), "bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    for name, reader in readers.items():
        belief = attack(reader, release, target, prior, Engine(seed=0), chains).probability[0]
        for value, published, ours in zip(DISEASES, TABLE_III[name], belief, strict=True):
            label = f"Table III, {name}, {value}"
            yield Figure(label, "Table III", published, float(ours), ROUNDED, reading[name], NO_DOMAIN)


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
    learner = float(attack(Learner(), release, target, prior, Engine()).probability[0, 0])
    attacker = float(attack(Bayesian(), release, target, prior, Engine()).probability[0, 0])
    yield Figure("Remark 5, p_L", "Remark 5", 0.004, learner, 5e-4, "printed as ≈ 0.004")
    yield Figure("Remark 5, Ti", "Remark 5", 250, attacker / learner, 5, "printed as ≈ 250")
    for people, tested, share in ((100, 0, 0.01), (1000, 300, 0.004)):
        release, target = island(people, tested)
        ours = float(attack(FixedPrior(), release, target, trait_known(share), Engine()).probability[0, 1])
        name = f"Remark 2, {people} people, {tested} tested, trait {share:g}"
        yield Figure(name, "Remark 2", 1 / (1 + (people - 1 - tested) * share), ours, 1e-9)
        learned = attack(Bayesian(), release, target, Prior.uninformative(release, 1), Engine())
        reading = "the share learned from Beta(1, 1): (k + 2) / (N + 1)"
        expected = (tested + 2) / (people + 1)
        yield Figure(f"{name}, learned", "Remark 2", expected, float(learned.probability[0, 1]), 1e-9, reading)


def subset(columns: dict[str, list[str]]) -> Table:
    """A random subset of the size of the paper's."""
    names = (*QUASI_IDENTIFIERS, "occupation")
    rows = np.sort(np.random.default_rng(0).choice(len(columns["age"]), ROWS, replace=False))
    table = Table.from_columns(adult_schema(columns, QUASI_IDENTIFIERS), {name: columns[name] for name in names})
    return Table(table.attributes, tuple(column[rows] for column in table.columns))


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Tables IV and V and the numbers of figures 2 and 3, on a random subset."""
    table = subset(columns)
    truth = table.columns[table.index("occupation")]
    share = risk.baseline_accuracy(np.bincount(truth)).value
    yield Figure("baseline accuracy", "Table IV", BASELINE, share, 5e-4, SUBSET, UNPUBLISHED)
    original = table.as_release()
    asked = original.index("occupation")
    targets = targets_of_table(table, original, asked)
    ideal = attack(Learner(), original, targets, Prior.uninformative(original, asked), Engine(seed=0))
    value = risk.global_threat(ideal, truth).value
    yield Figure("ideal accuracy", "Table IV", IDEAL, value, 5e-4, SUBSET, UNPUBLISHED)
    for where, text, published in TABLES_IV_V:
        release = anonymizer(text).anonymize(table, Engine(seed=0)).release
        targets = targets_of_table(table, release, release.index("occupation"))
        chains = Chains(sweeps=1000, burn_in=4000, most_sweeps=12_000, precision=0.02)
        found = run_attack(
            release,
            targets,
            {"bayesian": Bayesian(), "random_worlds": RandomWorlds()},
            engine=Engine(seed=0),
            chains=chains,
        )
        worlds, attacker = found.attackers["random_worlds"], found.attackers["bayesian"]
        faithful = faithfulness(
            release, table, targets.asked, engine=Engine(seed=0), chains=chains, learned=found.learned
        ).value
        yield Figure(f"{text}: RF", where, published.get("RF"), faithful, 5e-4, f"{SUBSET}; {BOUNDED}", UNPUBLISHED)
        # Chains that disagree are not pooled: each is measured alone, and the mean of these measures is shown.
        pairs = [(attacker, found.learner)]
        if not attacker.diagnostics.converged and attacker.chains is not None and found.learner.chains is not None:
            pairs = [(Belief(a), Belief(l)) for a, l in zip(attacker.chains, found.learner.chains, strict=True)]
        for measure, of in MEASURES.items():
            each = [of(a, l, truth) for a, l in pairs]
            printed = published.get(measure)
            reading = SUBSET
            if len(each) > 1:
                span = f"each alone {min(each):.5g} to {max(each):.5g}"
                reading += f"; the chains disagree about single rows: not pooled, {span}"
            within = 5e-5 if printed is not None and printed < 1 else 5e-3
            yield Figure(f"{text}: {measure}", where, printed, float(np.mean(each)), within, reading, UNPUBLISHED)
        yield from _histogram(text, attacker, found.learner, truth)
        for measure, value in (
            ("GT_RW", risk.global_threat(worlds, truth).value),
            ("ABS_RW", ROWS * risk.absolute_error(worlds, truth).value),
        ):
            within = 5e-5 if value < 1 else 5e-3
            yield Figure(f"{text}: {measure}", where, published[measure], value, within, SUBSET, UNPUBLISHED)
        agree = "the chains agree" if attacker.diagnostics.converged else "the chains disagree; `attack` exits with 3"
        facts = attacker.diagnostics.facts
        for fact, words in CONVERGENCE.items():
            if fact in facts:
                yield Figure(f"{text}: {words}", "section VI-D", None, float(facts[fact]), reading=agree)
        if text == "anatomy:l=6":
            yield from _plain_chains(release, targets, truth)


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
        {"zip": prefix_ladder(ZIPS, [4])},
    )
