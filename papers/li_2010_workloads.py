"""Li 2010, Privacy Preservation in Data Publishing and Sharing (thesis, Purdue): section 4.5.2, workloads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from papers import Figure
from papers.li_2010_slicing import EIGHT, F, table_4_1
from realdata.adult import COMPLETE_ROWS, NAMES, QUASI_IDENTIFIERS, SENSITIVE, AdultMissing, adult_schema
from realdata.adult_whole import read_adult_whole
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.parts.attribute_partition import contingency_of
from unveil.anonymizers.slicing import Slicing, sliced
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import DistinctL
from unveil.utility import classification_accuracy, classification_accuracy_held_out, random_linkings
from unveil.utility.classification import Model

TARGETS = {SENSITIVE: "figure 4.3", "education": "figure 4.4"}
MODELS: dict[Model, str] = {"pruned_tree": "tree", "naive_bayes": "naive Bayes"}
GENERAL, BUCKETS, SLICES = "generalisation", "bucketization", "slicing"
TECHNIQUES = (GENERAL, BUCKETS, SLICES)
Key = tuple[str, str, str, int, str]  # data, target, model, l, technique


@dataclass
class Accuracies:
    """What was measured, by data, target, model, l and technique."""

    found: dict[Key, float] = field(default_factory=dict)

    def share(self, target: str, better: str, worse: str) -> tuple[float, int]:
        """In which share of the comparisons, and of how many, one technique is more accurate than another."""
        pairs = [
            (value, self.found[data, of, model, l, worse])
            for (data, of, model, l, technique), value in self.found.items()
            if of == target and technique == better and (data, of, model, l, worse) in self.found
        ]
        return float(np.mean([one > other for one, other in pairs])), len(pairs)

    def lost(self, target: str, technique: str) -> float:
        """How much less accurate it is at l = 10 than at l = 5, on average over data and models."""
        at: dict[int, list[float]] = {5: [], 10: []}
        for (_, of, _, l, of_technique), value in self.found.items():
            if (of, of_technique) == (target, technique) and l in at:
                at[l].append(value)
        return float(np.mean(at[5]) - np.mean(at[10]))


def right_rows(draws: int) -> float:
    """Share of the rows of Table 4.1(f), its eight-row reading, linked at random, that are rows of the original."""
    table, group = table_4_1(EIGHT)
    release = sliced(table, F, group).release
    rows = set(zip(*(column.tolist() for column in table.columns), strict=True))
    single = [regions.single() for regions in release.regions]
    found = []
    for region in random_linkings(release, draws=draws):
        linked = np.stack([codes[region[:, i]] for i, codes in enumerate(single)], axis=1)
        found.append(np.mean([tuple(row) in rows for row in linked.tolist()]))
    return float(np.mean(found))


def reproduce() -> Iterator[Figure]:
    """What random linking makes of a small table."""
    reading = "mean of 300 draws; by hand 5/16: a row finds one of 4 cells, whoever is (60, M) one of 2"
    yield Figure("Table 4.1(f) linked at random, share of right rows", "4.5.1", None, right_rows(300), reading=reading)


def occupation_table(columns: dict[str, list[str]], names: Sequence[str]) -> Table:
    """OCC-7 or OCC-15: occupation is sensitive, everything else quasi-identifying."""
    schema = adult_schema(columns, [name for name in names if name != SENSITIVE])
    return Table.from_columns(schema, {name: columns[name] for name in names})


def made(table: Table, technique: str, l: int, c: int = 2) -> Release:
    """All three by Mondrian's cuts and distinct l-diversity; the sensitive column is {sex, occupation}."""
    require = (DistinctL(l=l),)
    method = {
        GENERAL: Mondrian(require=require, recoding="order"),
        BUCKETS: Slicing(require=require, columns=((SENSITIVE,),)),
        SLICES: Slicing(require=require, alpha=2, c=c),
    }[technique]
    return method.anonymize(table, Engine(seed=1)).release


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Figures 4.3 to 4.5 on all 45,222 complete rows. They are drawn, not printed: only what the text says is held."""
    try:
        whole = read_adult_whole()
    except AdultMissing as missing:
        print(f"without the 45,222 rows: {missing}")
        return
    all_found = Accuracies()
    seven = occupation_table(whole, (*QUASI_IDENTIFIERS, SENSITIVE))
    fifteen = occupation_table(whole, NAMES)
    yield from _closest("OCC-7", seven, "education", "workclass is closer, as in the 30,162 rows")
    yield from _closest("OCC-15", fifteen, "salary-class", "")
    yield from _spread(seven)
    yield from _by_l("OCC-7", seven, (5, 8, 10), all_found)
    yield from _by_l("OCC-15", fifteen, (5, 10), all_found)
    yield from _claims(all_found)
    yield from _held_out("OCC-7", seven, (5, 8, 10))
    yield from _held_out("OCC-15", fifteen, (5, 10))
    yield from _by_c("OCC-7", seven, all_found)
    yield from _by_c("OCC-15", fifteen, all_found)


def _closest(data: str, table: Table, second: str, why_not: str) -> Iterator[Figure]:
    together = contingency_of(table, 10)[table.index(SENSITIVE)]
    rank = sorted(range(len(together)), key=lambda i: -together[i])  # itself first
    for place, name in ((1, "sex"), (2, second)):
        index = table.index(name)
        reading = f"mean-square contingency with occupation {together[index]:.4f}"
        yield Figure(
            f"{data}, rank of {name} by closeness to occupation",
            "section 4.5, experimental data",
            place,
            rank.index(index),
            reading=reading,
            why_not=why_not,
        )


def _accuracy(release: Release, target: str, model: Model) -> float:
    """Ten folds; one draw of the hidden link, where the thesis has five: see the spread of draws."""
    return classification_accuracy(release, target=target, model=model, matchings=1).value


def _spread(table: Table) -> Iterator[Figure]:
    """How much one draw of the hidden link differs from another, on the same people."""
    released, others = _parts(table)
    release = made(released, SLICES, 8)
    each = [
        classification_accuracy_held_out(release, others, model="naive_bayes", matchings=1, seed=seed).value
        for seed in range(5)
    ]
    reading = "largest less smallest accuracy of five draws, on people held out; under folds one draw of each is taken"
    name = "OCC-7, slicing, l = 8, naive Bayes: spread of draws"
    yield Figure(name, "4.5.1", None, float(np.ptp(each)), reading=reading)


def _by_l(data: str, table: Table, ls: Sequence[int], into: Accuracies) -> Iterator[Figure]:
    original = table.as_release()
    best = {(t, m): _accuracy(original, t, m) for t in TARGETS for m in MODELS}
    for l in ls:
        releases = {technique: made(table, technique, l) for technique in TECHNIQUES}
        for target, where in TARGETS.items():
            for model, words in MODELS.items():
                for technique, release in releases.items():
                    into.found[data, target, model, l, technique] = _accuracy(release, target, model)
                said = ", ".join(f"{t} {into.found[data, target, model, l, t]:.3f}" for t in (GENERAL, BUCKETS))
                yield Figure(
                    f"{data}, {target} by {words}, l = {l}: accuracy of slicing",
                    where,
                    None,
                    into.found[data, target, model, l, SLICES],
                    reading=f"original {best[target, model]:.3f}, {said}",
                )


def _claims(found: Accuracies) -> Iterator[Figure]:
    own = "folds test on the release's own cells, the easier to guess the coarser; on true values of others: below"
    cut = f"strict cuts go by sex too: every bucket has one alone, so {{sex, occupation}} adds nothing; {own}"
    for target, better, worse, why in (
        (SENSITIVE, SLICES, GENERAL, own),
        (SENSITIVE, SLICES, BUCKETS, cut),
        (SENSITIVE, GENERAL, BUCKETS, "within the spread of draws"),
        ("education", SLICES, GENERAL, own),
        ("education", BUCKETS, GENERAL, own),
    ):
        share, of = found.share(target, better, worse)
        yield Figure(
            f"{target}: {better} beats {worse}, share of comparisons",
            TARGETS[target],
            1,
            share,
            reading=f"of {of}: data, classifier and l",
            why_not=why,
        )
    lost = {technique: found.lost(SENSITIVE, technique) for technique in TECHNIQUES}
    yield Figure(
        "occupation: accuracy that slicing loses from l = 5 to l = 10, mean",
        TARGETS[SENSITIVE],
        None,
        lost[SLICES],
        reading=f"generalisation {lost[GENERAL]:.3f}, bucketization {lost[BUCKETS]:.3f}; the text: both much faster",
    )


def _parts(table: Table) -> tuple[Table, Table]:
    """The people of adult.data, and those of UCI's test part."""
    parts = slice(None, COMPLETE_ROWS), slice(COMPLETE_ROWS, None)
    one, other = (Table(table.attributes, tuple(column[part] for column in table.columns)) for part in parts)
    return one, other


def _held_out(data: str, table: Table, ls: Sequence[int]) -> Iterator[Figure]:
    """The same comparison on the exact values of people who are not in the release: UCI's test part."""
    released, others = _parts(table)
    found = Accuracies()
    draws = 5 if data == "OCC-7" else 1
    for l in ls:
        for technique in TECHNIQUES:
            release = made(released, technique, l)
            for target in TARGETS:
                for model in MODELS:
                    found.found[data, target, model, l, technique] = classification_accuracy_held_out(
                        release, others, target=target, model=model, matchings=draws
                    ).value
    for target in TARGETS:
        for model, words in MODELS.items():
            at = {t: found.found[data, target, model, 10, t] for t in TECHNIQUES}
            reading = f"generalisation {at[GENERAL]:.3f}, bucketization {at[BUCKETS]:.3f}; learned from 30,162 people"
            name = f"{data}, {target} of 15,060 others by {words}, l = 10: accuracy of slicing"
            yield Figure(name, "ours alone", None, at[SLICES], reading=reading)
    for target, better, worse in (
        (SENSITIVE, SLICES, GENERAL),
        (SENSITIVE, SLICES, BUCKETS),
        ("education", SLICES, GENERAL),
        ("education", BUCKETS, GENERAL),
    ):
        share, of = found.share(target, better, worse)
        name = f"{data}, {target} of others: {better} beats {worse}, share of comparisons"
        yield Figure(
            name,
            "ours alone",
            None,
            share,
            reading=f"of {of}, draws: {draws}; the claims of {TARGETS[target]}, on true labels",
        )


def _by_c(data: str, table: Table, found: Accuracies) -> Iterator[Figure]:
    releases = {c: made(table, SLICES, 5, c) for c in (3, 5)}
    for target in TARGETS:
        for model, words in MODELS.items():
            at = {2: found.found[data, target, model, 5, SLICES]}
            at |= {c: _accuracy(release, target, model) for c, release in releases.items()}
            reading = (
                f"accuracy {at[2]:.3f}, {at[3]:.3f} and {at[5]:.3f} with 2, 3 and 5 columns; the text: only slightly"
            )
            name = f"{data}, {target} by {words}, l = 5: lost from c = 2 to c = 5"
            yield Figure(name, "figure 4.5", None, at[2] - at[5], reading=reading)
