"""Membership: fake tuples counted exactly, and what the section costs an audit; CPU seconds."""

from collections.abc import Iterator

from benchmarks import Row
from benchmarks._timing import best_cpu
from papers.li_2010_membership import FIVE_OF_15, OCC_7, as_targets, named_columns, occupation_table, random_buckets
from realdata.adult import NAMES, QUASI_IDENTIFIERS, AdultMissing, read_adult
from realdata.adult_whole import read_adult_whole
from unveil.audit.membership import MembershipQuestion, membership_of
from unveil.catalog import anonymizer
from unveil.engine import Engine
from unveil.risk.membership import fake_tuples

SIZES = (100, 500, 1000)
RELEASES = ("mondrian:k=5,recoding=order", "anatomy:l=5", "slicing:alpha=2,c=4,grouping=random,size=50")


def measure() -> Iterator[Row]:
    """OCC-15 in five columns and random buckets; then three releases of OCC-7, all attributes and what is known."""
    columns = read_adult()
    try:
        whole = read_adult_whole()
    except AdultMissing:
        whole = columns
    fifteen = occupation_table(whole, NAMES)
    cut, everybody = named_columns(fifteen, FIVE_OF_15), as_targets(fifteen)
    for size in SIZES:
        release = random_buckets(fifteen, cut, size)
        found = fake_tuples(release, everybody)
        spent = best_cpu(lambda release=release: fake_tuples(release, everybody), 3)
        note = f"{found.fake.value:,} fake tuples" + ("" if found.exact else ", drawn")
        name = f"fake tuples, OCC-15, {fifteen.rows:,} rows, 5 columns, buckets of {size}"
        yield Row(name, spent, unit="s CPU", floor="<= 10", note=note)
    seven = occupation_table(columns, OCC_7)
    for text in RELEASES:
        release = anonymizer(text).anonymize(seven, Engine(seed=1)).release
        asked = MembershipQuestion()

        def section(release=release, asked=asked):
            return membership_of(release, "r", asked, known=QUASI_IDENTIFIERS, table=seven)

        found = section().facts["fake_tuples"]["published"]
        note = f"{int(found['fake']):,} fake tuples" + ("" if found["exact"] else ", drawn")
        spent = best_cpu(section, 3)
        yield Row(f"the audit's section, {seven.rows:,} rows, {text}", spent, unit="s CPU", floor="<= 3", note=note)
