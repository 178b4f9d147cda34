"""Torra 2024, Disclosure, Privacy Models, and Privacy Mechanisms (lecture): worst case linkage, membership inference.

The slides define programs and algorithms and print no numbers of them. A statement of the text is a figure with the
printed value 1: it holds. Numbers without a printed one are ours, to be found again.
"""

from collections.abc import Iterator

import numpy as np

from papers import Figure
from papers._printed import printed_schema
from unveil.anonymizers.rank_swapping import RankSwapping
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.linkage.aggregates import AGGREGATES
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.pairs import Pairs
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import register_of_table
from unveil.risk.linkage.supervised import compare_own, learn_distance, links_by, prove
from unveil.risk.linkage.transparency import link_by_method
from unveil.risk.membership import infer_membership

LEARNED = "ML for distance-based record linkage parameters"
TRANSPARENT = "worst-case scenario: transparency attacks"
MIA = "algorithm mia"
OURS = "made-up people: the slides print no number"
SHADOWS = "'shallow' models are shadow models"
NOISE = (0.2, 0.8, 0.5)
PEOPLE = 20


def reproduce() -> Iterator[Figure]:
    """Twenty made-up people, of whom attributes were masked unequally; sixty for swapping; 600 for a tree."""
    pairs = people_and_rows()
    linked = {}
    for name, family in AGGREGATES.items():
        found = compare_own(pairs, family)
        learned, plain = (float(links_by(found, p).mean()) for p in (learn_distance(found, family), family.equal(3)))
        linked[name] = learned
        yield Figure(f"Reid of the learned distance, {name}", LEARNED, None, learned, reading=OURS)
        proof = prove(found, family, nodes=3000)
        bound = proof.most / PEOPLE
        yield Figure(f"… no {name} links more: proven bound", LEARNED, None, bound, reading=OURS)
        near = float(learned >= 0.95 * bound)
        title = f"… the search is within 5% of it, {name}"
        yield Figure(title, LEARNED, 1.0, near, reading=OURS, self_check=True)
        if name == "weighted_mean":
            yield Figure("Reid of the plain distance", LEARNED, None, plain, reading=OURS)
            yield Figure(
                "learned parameters link at least as many", LEARNED, 1.0, float(learned >= plain), self_check=True
            )
    wider = linked["choquet"] >= max(linked["weighted_mean"], linked["owa"])
    yield Figure("the Choquet integral generalises weighted mean and OWA", LEARNED, 1.0, float(wider))
    plain, told = swapped()
    yield Figure("rank swapping, p = 5: Reid of the plain distance", TRANSPARENT, None, plain, reading=OURS)
    yield Figure("… of who knows p", TRANSPARENT, None, told, reading=OURS)
    yield Figure("knowing how data were protected links more", TRANSPARENT, 1.0, float(told > plain))
    for depth in (None, 1):
        area, gap = shadows(depth)
        word = "grown to the end" if depth is None else "of one cut"
        yield Figure(f"mia on a tree {word}: AUC", MIA, None, area, reading=f"{SHADOWS}; {OURS}")
        yield Figure(f"… accuracy on its own people less that on others, a tree {word}", MIA, None, gap, reading=OURS)


def people_and_rows() -> Pairs:
    """Twenty people, and their rows with noise of 0.2, 0.8 and 0.5 deviations."""
    random = np.random.default_rng(2024)
    people = random.normal(size=(PEOPLE, 3))
    signed = people[:, None] - (people + random.normal(size=people.shape) * NOISE)[None]
    return Pairs(("a", "b", "c"), signed**2, signed, np.arange(PEOPLE))


def swapped() -> tuple[float, float]:
    """Sixty people with three numbers, rank-swapped: Reid by distance, and by one who knows the window."""
    values = np.random.default_rng(2024).normal(50, 10, size=(60, 3)).round(1)
    names = ("a", "b", "c")
    schema = printed_schema({name: {"role": "quasi-identifier", "kind": "numeric"} for name in names})
    columns = {name: [f"{v:.1f}" for v in values[:, i]] for i, name in enumerate(names)}
    table = Table.from_columns(schema, columns)
    method = RankSwapping(p=5)
    made = method.anonymize(table, Engine(seed=0))
    held = register_of_table(table, table.attributes)
    plain = link_by_distance(published_of(made.release, names, made.group_of_row), held, scales=("common",))
    return reid(plain).value, reid(link_by_method(made.release, held, method, made.group_of_row)).value


def shadows(depth: int | None) -> tuple[float, float]:
    """AUC against a decision tree, and how much it overfits."""
    from sklearn.tree import DecisionTreeClassifier

    random = np.random.default_rng(2024)
    features = random.normal(size=(600, 4))
    labels = (features[:, 0] + random.normal(size=600) > 0).astype(int)
    found = infer_membership(DecisionTreeClassifier(max_depth=depth, random_state=0).fit, features, labels, shadows=2)
    return found.auc.value, found.trained - found.tested
