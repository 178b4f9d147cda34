"""Kifer 2009, Attacks on Privacy and deFinetti's Theorem (SIGMOD): Tables 1, 5, 6 and 7, and section 5.2."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from papers._printed import level, printed_release, printed_schema
from realdata.adult import adult_schema
from unveil import risk
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.parts.assemble import bucketized
from unveil.attackers import attack
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Role
from unveil.data.belief import Belief, Prior, Targets, known_exactly
from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

QUASI_IDENTIFIERS = ("workclass", "relationship", "sex", "salary-class")
SIDECAR = 'group = "gid"\nsensitive_table = "release-sensitive.csv"\n'
TABLE_5 = """
gid ; gender ; age ; zip
1   ; M      ; 25  ; 90210
1   ; M      ; 29  ; 90212
1   ; F      ; 40  ; 07620
1   ; F      ; 24  ; 33109
2   ; F      ; 43  ; 90211
2   ; F      ; 41  ; 07620
2   ; M      ; 48  ; 07620
2   ; F      ; 40  ; 07620
3   ; M      ; 41  ; 90213
3   ; F      ; 40  ; 33109
3   ; M      ; 48  ; 33109
3   ; M      ; 49  ; 33109
"""
TABLE_6 = """
gid ; smoker
1   ; y
1   ; y
2   ; n
2   ; n
3   ; y
3   ; n
4   ; y
4   ; y
5   ; n
5   ; n
6   ; y
6   ; n
"""
TABLE_5_SENSITIVE = (("AIDS", "Cancer", "Flu", "None"),) * 3
TABLE_6_SENSITIVE = (
    ("Cancer", "Flu"),
    ("Flu", "None"),
    ("Cancer", "None"),
    ("Cancer", "None"),
    ("Flu", "None"),
    ("Cancer", "None"),
)
# Table 1: smokers with cancer, one smoker of whom it is not known, non-smokers without; the one stands alone.
TABLE_1 = "\n".join(["gid;smoker;cancer", *["1;y;y"] * 99, *["2;n;n"] * 100, "3;y;*"])
# Table 7, the baseline's rows: group size, ABS, SSQ, ACC.
TABLE_7 = ((2, 1000.00, 500.00, 0.500), (3, 1333.33, 666.67, 0.333), (4, 1500.00, 750.00, 0.250))
# Table 7, the pooled rows; of groups of 4 also how many are believed at .8 or more, and how many of these rightly.
TABLE_7_POOLED = ((2, (532.57, 318.47, 0.770)), (3, (968.28, 572.53, 0.576)), (4, (1243.63, 746.51, 0.406, 0.11, 0.67)))
# Section 5.2: its age ranges; the paper gives only [16-45] three tuples, one with heart disease, and says that the
# older groups have more of it. How many people the other ranges hold is ours.
SECTION_5_2 = {"[0,5]": (0, 20), "[6,10]": (0, 20), "[11,15]": (1, 19)}
SECTION_5_2 |= {"[16,45]": (1, 2), "[46,50]": (10, 10), "[51,55]": (12, 8)}
DRAWS = 5  # of Anatomy's ties
RUNS = 8  # that are pooled
LONG = Chains(chains=4, sweeps=2000, burn_in=200, every=2, most_sweeps=0)


def table_5() -> Release:
    """Table 5, section 4: three buckets of four."""
    attributes = {
        "gender": {"role": "quasi-identifier"},
        "age": {"role": "quasi-identifier", "kind": "numeric"},
        "zip": {"role": "quasi-identifier"},
        "disease": {"role": "sensitive"},
    }
    return printed_release(TABLE_5, printed_schema(attributes), sidecar=SIDECAR, second=_second(TABLE_5_SENSITIVE))


def table_1() -> Release:
    """Table 1, section 3: 200 people, the disease of the last one withheld."""
    attributes = {
        "smoker": {"role": "quasi-identifier", "domain": ["n", "y"]},
        "cancer": {"role": "sensitive", "domain": ["n", "y"]},
    }
    return printed_release(TABLE_1, printed_schema(attributes), sidecar='group = "gid"\n')


def tuple_200(release: Release) -> Targets:
    """A smoker, the only row of its group."""
    group = np.flatnonzero(release.sizes == 1)
    known = known_exactly(release, {release.index("smoker"): np.array([1])}, release.index("cancer"))
    return Targets(known.asked, known.known, 1, group)


def table_6() -> Release:
    """Table 6, section 5: six buckets of two; whoever smokes is in a bucket with cancer."""
    attributes = {"smoker": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}}
    return printed_release(TABLE_6, printed_schema(attributes), sidecar=SIDECAR, second=_second(TABLE_6_SENSITIVE))


def tuple_12(release: Release) -> Targets:
    """The non-smoker of a group with a smoker; groups 3 and 6 are alike."""
    smoker, disease = release.index("smoker"), release.index("disease")
    block = release.block_of(smoker)
    mixed = np.flatnonzero(np.diff(block.start) == 2)
    no = release.attributes[smoker].values.index("n")
    known = known_exactly(release, {smoker: np.array([no])}, disease)
    return Targets(disease, known.known, 1, mixed[-1:])


def section_5_2() -> Release:
    """Globally recoded ages; with heart disease and without, as many as SECTION_5_2 says."""
    attributes = {
        "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 55}},
        "disease": {"role": "sensitive", "domain": ["heart disease", "other"]},
    }
    rows = [
        f"{age};{disease}"
        for age, counts in SECTION_5_2.items()
        for disease, count in zip(attributes["disease"]["domain"], counts, strict=True)
        for _ in range(count)
    ]
    return printed_release("\n".join(["age;disease", *rows]), printed_schema(attributes))


def aged(release: Release, *ages: int) -> Targets:
    """People of whom only the age is known."""
    return known_exactly(release, {release.index("age"): np.array(ages)}, release.index("disease"))


def believed(belief: Belief, release: Release, value: str) -> float:
    """The belief in one value of the only target."""
    asked = release.with_role(Role.SENSITIVE)[0]
    return float(belief.probability[0, release.attributes[asked].values.index(value)])


def random_worlds_errors(release: Release) -> tuple[float, float, float]:
    """ABS, SSQ and ACC a thousand rows of a reader who believes in the shares of each bucket; one guess among equals.

    They follow from the release alone: a bucket holds its own truth.
    """
    histograms, _ = release.histograms(release.with_role(Role.SENSITIVE)[0])
    size = histograms.sum(axis=1, keepdims=True)
    share = histograms / size
    rows = histograms.sum()
    absolute = (histograms * 2 * (1 - share)).sum()
    square = (size[:, 0] * (1 - (share**2).sum(axis=1))).sum()
    # Guessing any of the commonest values is right as often as their share says.
    right = (size[:, 0] * share.max(axis=1)).sum()
    return float(1000 * absolute / rows), float(1000 * square / rows), float(right / rows)


def reproduce() -> Iterator[Figure]:
    """Table 1; Tables 5 and 6 as releases, and what is believed of tuple 12; section 5.2's 45-year-old."""
    yield from _reproduce_table_1()
    for name, release, size, where in (
        ("Table 5", table_5(), 4, "section 4"),
        ("Table 6", table_6(), 2, "section 5"),
    ):
        histograms, _ = release.histograms(release.index("disease"))
        yield Figure(f"{name}, rows in each bucket", where, size, float(release.sizes.min()))
        yield Figure(f"{name}, distinct l", where, size, level(release, "distinct_l"), reading="every value differs")
        share = float((histograms / histograms.sum(axis=1, keepdims=True)).max())
        yield Figure(f"{name}, random worlds' belief in a value of the bucket", where, 1 / size, share)
    release = table_6()
    prior = Prior.uninformative(release, release.index("disease"))
    belief = attack(Bayesian(), release, tuple_12(release), prior, Engine(seed=0), LONG)
    exact = "the sum over all worlds is .15625; ours is sampled"
    ours = believed(belief, release, "Cancer")
    near = "sampled to ± .004, and .155 is that near: the sum over all worlds, .15625, rounds to what is printed"
    yield Figure("Table 6, tuple 12 has cancer", "section 5", "0.16", ours, reading=exact, why_not=near)
    yield from _reproduce_section_5_2()


def _reproduce_section_5_2() -> Iterator[Figure]:
    release, where = section_5_2(), "section 5.2"
    target, asked, age = aged(release, 45), release.index("disease"), release.index("age")
    name = "[16-45] with three tuples: the 45-year-old has heart disease"
    belief = attack(Bayesian(), release, target, Prior.uninformative(release, asked), Engine(seed=0))
    reading = "ages inside a range cannot be told apart: random worlds' third"
    yield Figure(f"{name}, no smoothing", where, 1 / 3, believed(belief, release, "heart disease"), 1e-9, reading)
    prior = Prior.uninformative(release, asked, smooth={age: 5.0})
    belief = attack(Bayesian(), release, target, prior, Engine(seed=0), LONG)
    found = believed(belief, release, "heart disease")
    reading = "ages tied at a bandwidth of 5 years; the other ranges' people are ours"
    yield Figure(f"{name}, smoothed", where, None, found, reading=reading)
    reading = "printed in words: better than random worlds; 1 = yes"
    yield Figure(f"{name}, smoothed: more than 1/3", where, 1.0, float(found > 1 / 3), 0.0, reading)


def _reproduce_table_1() -> Iterator[Figure]:
    release, where = table_1(), "section 3"
    target, asked, engine = tuple_200(release), release.index("cancer"), Engine(seed=0)
    for alpha, published, reading in (
        (2.0, 100 / 101, "a uniform prior over the four joint cells is alpha = 2, beta = 1; ours is sampled"),
        (1.0, None, "alpha = beta = 1, our default: .990098 exactly; ours is sampled"),
    ):
        prior = Prior.uninformative(release, asked, alpha=alpha)
        belief = attack(Bayesian(), release, target, prior, engine, LONG)
        name = f"Table 1, tuple 200 has cancer, alpha = {alpha:g}"
        yield Figure(name, f"{where}.2", published, believed(belief, release, "y"), 1e-3, reading)
    prior = Prior.uninformative(release, asked)
    belief = attack(RandomWorlds(), release, target, prior, engine)
    yield Figure("Table 1, random worlds", f"{where}.1", 0.5, believed(belief, release, "y"), 1e-9)
    theta = np.array([[0.8, 0.2], [0.4, 0.6]])  # smokers among the healthy, among the ill
    belief = attack(
        FixedPrior(), release, target, Prior(np.array([0.9, 0.1]), {release.index("smoker"): theta}), engine
    )
    expected = 0.1 * 0.6 / (0.1 * 0.6 + 0.9 * 0.2)
    reading = "p1/(p1 + p3) for p1 = .06, p3 = .18, given beforehand"
    yield Figure("Table 1, the i.i.d. model", f"{where}.1", expected, believed(belief, release, "y"), 1e-9, reading)


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Table 7: the shape of the three releases, and its baselines."""
    names = (*QUASI_IDENTIFIERS, "occupation")
    table = Table.from_columns(adult_schema(columns, QUASI_IDENTIFIERS), {name: columns[name] for name in names})
    for size, *baselines in TABLE_7:
        release = Anatomy(l=size).anonymize(table, Engine(seed=0)).release
        where = "Table 7"
        yield Figure(f"groups of {size}: smallest", "section 6", size, float(release.sizes.min()))
        extra = float(np.count_nonzero(release.sizes == size + 1))
        left = len(columns["occupation"]) % size
        few = f"printed: a few groups of {size + 1}; 30,162 rows leave {left} over" if left else "none is left over"
        yield Figure(f"groups of {size}: groups of {size + 1}", "section 6", None if left else 0.0, extra, reading=few)
        few = f"printed as if every group were of 4; {left} of ours hold 5, since 30,162 rows leave {left} over"
        ours = random_worlds_errors(release)
        for metric, published, value in zip(("ABS", "SSQ", "ACC"), baselines, ours, strict=True):
            within = 5e-4 if metric == "ACC" else 5e-3
            yield Figure(f"groups of {size}: baseline {metric}", where, published, value, within, why_not=few)


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Table 7: the deFinetti attack on the three releases, of all rows; errors a thousand rows."""
    release = table_6()
    prior = Prior.uninformative(release, release.index("disease"))
    chains = Chains(chains=16, sweeps=60_000, burn_in=500, every=5, most_sweeps=0)
    belief = attack(Bayesian(), release, tuple_12(release), prior, Engine(seed=0), chains)
    ours = believed(belief, release, "Cancer")
    name = "Table 6, tuple 12 has cancer: the sum over all worlds"
    yield Figure(name, "section 5", 0.15625, ours, 2e-3, "sampled", self_check=True)
    names = (*QUASI_IDENTIFIERS, "occupation")
    table = Table.from_columns(adult_schema(columns, QUASI_IDENTIFIERS), {name: columns[name] for name in names})
    for size, pooled in TABLE_7_POOLED:
        yield from _pooled(table, size, pooled)


def _pooled(table: Table, size: int, printed: tuple[float, ...]) -> Iterator[Figure]:
    """The attack on one release, beside what chance makes of it: who is asked, how ties are broken, which modes runs
    that are pooled, as the paper's 20 are, lie in."""
    truth = table.columns[table.index("occupation")]
    long = Chains(chains=4, sweeps=2000, burn_in=1000, most_sweeps=0)
    belief = definetti(table, Anatomy(l=size).anonymize(table, Engine(seed=0)), long)
    assert belief.chains is not None
    errors = errors_a_thousand(belief, truth)
    each = np.array([errors_a_thousand(Belief(chain), truth) for chain in belief.chains])
    short = Chains(chains=2, sweeps=150, burn_in=150, most_sweeps=0)
    drawn = [Anatomy(l=size).anonymize(table, Engine(seed=seed)) for seed in range(1, DRAWS + 1)]
    drawn.append(ties_in_order(table, size))
    others = np.array([errors_a_thousand(definetti(table, made, short), truth) for made in drawn])
    plain = definetti(
        table, drawn[-1], Chains(chains=RUNS, sweeps=150, burn_in=250, most_sweeps=0, anneal=False)
    ).chains
    assert plain is not None
    runs = np.array([errors_a_thousand(Belief(chain), truth) for chain in (plain.mean(axis=0), *plain)])
    reach = sampled_reach(belief, truth)
    names = ["ABS", "SSQ", "ACC", "people believed at .8 or more", "people believed at .8 or more: of these right"]
    for place, metric in enumerate(names):
        where = "Table 7" if place < 3 else "section 6"
        name = f"groups of {size}: {'deFinetti ' if place < 3 else ''}{metric}"
        wanted = printed[place] if place < len(printed) else None
        rounding = (5e-3, 5e-3, 5e-4, 5e-3, 5e-3)[place]
        reading = "ours of all 30,162 people; the paper asks about 1,000 drawn at random"
        why_not = (
            "" if wanted is None else _chance(wanted, errors[place], reach[place], others[:, place], runs[:, place])
        )
        yield Figure(name, where, wanted, errors[place], rounding, reading if wanted is not None else "", why_not)
        apart = float(np.ptp(each[:, place]))
        yield Figure(f"{name}, largest less smallest of 4 chains", where, None, apart)


def _chance(printed: float, ours: float, reach: float, others: NDArray[np.float64], runs: NDArray[np.float64]) -> str:
    """Whether a sample of 1,000 explains the printed number; if not, what ties do, and runs that are pooled."""
    low, high = ours - reach, ours + reach
    said = f"of 95% of samples of 1,000 it is {low:.4g} to {high:.4g}"
    if low <= printed <= high:
        return said
    ties = f"{DRAWS} other draws of Anatomy's ties give {others[:-1].min():.4g} to {others[:-1].max():.4g}"
    tried = f"{said}, so that is not all; {ties}, ties by the values' order {others[-1]:.4g}"
    if others.min() - reach <= printed <= others.max() + reach:
        return f"{tried}: the rule, which the paper does not state, may be the reason"
    pooled = (
        f"in that order there are several modes, and {RUNS} runs from different starts lie at {runs[1:].min():.4g} to "
        f"{runs[1:].max():.4g}, pooled at {runs[0]:.4g}"
    )
    near = runs.min() - reach <= printed <= runs.max() + reach
    judged = "the 20 runs that the paper pools may lie in several modes" if near else "none of this is the reason"
    return f"{tried}; {pooled}: {judged}"


def definetti(table: Table, made: Anonymized, chains: Chains) -> Belief:
    """What the attack believes of everybody, each in his group."""
    asked = made.release.index("occupation")
    targets = targets_of_table(table, made.release, asked, group=made.group_of_row)
    return attack(Bayesian(), made.release, targets, Prior.uninformative(made.release, asked), Engine(seed=0), chains)


def ties_in_order(table: Table, size: int) -> Anonymized:
    """Anatomy that takes the first of equally frequent values, always; rows left over join the first group that can."""
    sensitive = table.index("occupation")
    column = table.columns[sensitive]
    rows = [list(np.flatnonzero(column == value)[::-1]) for value in range(table.attributes[sensitive].codes)]
    group = np.full(table.rows, -1, dtype=np.int32)
    groups = 0
    while sum(map(bool, rows)) >= size:
        for value in sorted(range(len(rows)), key=lambda value: -len(rows[value]))[:size]:
            group[rows[value].pop()] = groups
        groups += 1
    for row in np.flatnonzero(group < 0):
        holding = set(group[column == column[row]].tolist())
        group[row] = next(g for g in range(groups) if g not in holding)
    return bucketized(table, sensitive, group)


def sampled_reach(belief: Belief, truth: NDArray[np.integer]) -> tuple[float, ...]:
    """How far from those of all people the errors of 1,000 drawn at random lie, in 95% of samples."""
    p, rows = belief.probability, np.arange(len(truth))
    own = p[rows, truth]
    sure = p.max(axis=1) >= 0.8
    right = risk.right_guess(belief, truth)
    each = [2 * (1 - own), (p**2).sum(axis=1) - 2 * own + 1, right, sure.astype(float)]
    left = 1.96 * ((1 - 1000 / len(truth)) / 1000) ** 0.5
    found = [left * float(one.std()) for one in each]
    found.append(left * float((own[sure] >= 0.8).std()) / max(float(sure.mean()), 1e-9) ** 0.5)
    return 1000 * found[0], 1000 * found[1], *found[2:]


def errors_a_thousand(belief: Belief, truth: NDArray[np.integer]) -> tuple[float, ...]:
    """ABS, SSQ, ACC; the share believed at .8 or more, and how many of these rightly."""
    absolute, squared = risk.absolute_error(belief, truth), risk.squared_error(belief, truth)
    sure = risk.confident(belief, at_least=0.8), risk.confident_right(belief, truth, at_least=0.8)
    return 1000 * absolute.value, 1000 * squared.value, risk.accuracy(belief, truth).value, *(one.value for one in sure)


def _second(buckets: tuple[tuple[str, ...], ...]) -> str:
    rows = [f"{gid};{value};1" for gid, values in enumerate(buckets, start=1) for value in values]
    return "\n".join(["gid;disease;count", *rows])
