"""Kassem, Acs, Castelluccia, Palamidessi 2019, Differential Inference Testing: Tables 1 and 2."""

from collections.abc import Iterator
from fractions import Fraction

from papers import Figure
from papers._printed import printed_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.engine import Engine
from unveil.privacy_models import KAnonymity
from unveil.release import Release
from unveil.schema import Schema
from unveil.table import Table

ROWS = ((28, "M", "Flu"), (36, "M", "Flu"), (47, "F", "Cancer"), (53, "M", "Flu"), (72, "F", "Flu"))
NAMES = ("age", "gender", "disease")
# Table 1b: the distance that each record makes.
DISTANCES = (Fraction(1), Fraction(1), Fraction(2, 3), Fraction(1, 3), Fraction(1, 3))
READING = (
    "cut-based, open-ended regions; of an odd number the left gets floor(n/2); tight boxes leave record 1 uncovered"
)


def sanitized(without: int | None = None) -> Release:
    """2-anonymous by Mondrian: Table 2a, and Table 2b without record 4."""
    rows = [row for number, row in enumerate(ROWS) if number != without]
    table = Table.from_columns(_schema(), dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
    return Mondrian(require=(KAnonymity(k=2),), regions="cut", relaxed=True).anonymize(table, Engine()).release


def predicted(release: Release, record: int) -> tuple[Fraction, ...]:
    """Shares of the diseases among the rows whose cells hold the record's age and gender."""
    age, gender = release.attributes[0], release.attributes[1]
    codes = (age.values.index(str(ROWS[record][0])), gender.values.index(ROWS[record][1]))
    block = release.blocks[0]
    counts = [0] * release.attributes[2].codes
    disease = release.regions[2].single()[block.region(2)]
    for entry, count in enumerate(block.count.tolist()):
        cells = [release.regions[i].members(int(block.region(i)[entry])) for i in (0, 1)]
        if all(code in cell for code, cell in zip(codes, cells, strict=True)):
            counts[int(disease[entry])] += count
    return tuple(Fraction(count, sum(counts)) for count in counts)


def distance(record: int) -> Fraction:
    """How far the prediction moves when the record is left out before sanitizing."""
    whole, without = predicted(sanitized(), record), predicted(sanitized(record), record)
    return sum((abs(a - b) for a, b in zip(whole, without, strict=True)), Fraction(0))


def reproduce() -> Iterator[Figure]:
    """Table 2a's groups, and Table 1b."""
    release = sanitized()
    for number, published in enumerate((2, 3)):
        yield Figure(
            f"Table 2a, rows of group {number + 1}", "Table 2a", published, float(sorted(release.sizes)[number])
        )
    for record, printed in enumerate(DISTANCES):
        ours = float(distance(record))
        yield Figure(f"Table 1b, d of record {record + 1}", "Table 1b", float(printed), ours, 1e-12, READING)
    worst = float(max(distance(record) for record in range(len(ROWS))))
    yield Figure("Table 1b, delta", "section 3", 1, worst)


def _schema() -> Schema:
    return printed_schema(
        {
            "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 120}},
            "gender": {"role": "quasi-identifier", "domain": ["M", "F"]},
            "disease": {"role": "sensitive", "domain": ["Flu", "Cancer"]},
        }
    )
