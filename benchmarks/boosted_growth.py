"""The reader `boosted` on ten and a hundred times the rows: what it costs, what not learning from all loses."""

import gc
from collections.abc import Iterator

from benchmarks import Row
from benchmarks._growth import resampled
from benchmarks.boosted import adult_table, asked_of, log_loss, published
from realdata.hospital import hospital_table
from unveil import risk

ROWS = (30_162, 301_620, 3_016_200)
ASKED = 20_000  # people: enough for the loss, whatever the number of rows
MANY = 300_000  # people of the made-up hospital, of whom 100,000 are learned from unless all are


def measure() -> Iterator[Row]:
    """Rows drawn from Adult, ages moved by up to two years; then people of whom nobody is in the table twice."""
    adult = adult_table()
    for scheme in ("anatomy:l=4", "mondrian:k=5,l=3", "mondrian:k=5,l=3,recoding=order"):
        each = []
        for rows in ROWS:
            release, targets, truth = published(resampled(adult, rows, postcode=False), scheme, ASKED)
            spent, belief = asked_of(release, targets)
            each.append(spent)
            learned = belief.diagnostics.facts.get("rows_learned_from", float(rows))
            note = f"learned from {learned:,.0f} rows; log-loss {log_loss(belief, truth):.4f}"
            yield Row(f"{scheme}, {rows:,} rows", spent, unit="s CPU", note=note)
            del release, targets, belief
            gc.collect()
        grown = each[-1] / each[0] / (ROWS[-1] / ROWS[0])
        yield Row(f"{scheme}: growth over linear, a hundred times the rows", grown, unit="times", floor="<= 1")
    yield from _learned_from_all()


def _learned_from_all() -> Iterator[Row]:
    """What is lost by learning from 100,000 rows: people of whom nobody is in the table twice."""
    hospital = hospital_table(MANY)
    for scheme in ("anatomy:l=3", "mondrian:k=5,l=3"):
        release, targets, truth = published(hospital, scheme, ASKED, "diagnosis")
        lost = []
        for most in (100_000, MANY):
            spent, belief = asked_of(release, targets, most)
            lost.append(log_loss(belief, truth))
            right = risk.global_threat(belief, truth).value
            name = f"hospital, {scheme}, {MANY:,} rows, learned from {most:,}: log-loss"
            yield Row(name, lost[-1], note=f"{right:.4f} right, {spent:.0f} s CPU")
        yield Row(f"hospital, {scheme}: log-loss that all rows would save", lost[0] - lost[1], floor="<= 0.02")
