"""Boreale, Corradi, Viscardi 2020, Relative Privacy Threats and Learning From Anonymized Data: Table I's releases."""

from collections.abc import Iterator

from papers import Figure
from papers._printed import level, printed_release, printed_schema
from unveil.hierarchy import prefix_ladder
from unveil.release import Release
from unveil.schema import Schema

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
SIDECAR_C = 'group = "gid"\nblocks = [["nat", "zip"], ["dis"]]\n'


def table_i(part: str) -> Release:
    """(a) the original, (b) 2-anonymous by local recoding, (c) Anatomy."""
    text, sidecar = {"a": (TABLE_A, ""), "b": (TABLE_B, ""), "c": (TABLE_C, SIDECAR_C)}[part]
    return printed_release(text, _schema(), sidecar=sidecar)


def reproduce() -> Iterator[Figure]:
    """k and l of each part."""
    yield Figure("Table I (a), k", WHERE, 1, level(table_i("a"), "k_anonymity"), reading="the original")
    yield Figure("Table I (b), k", WHERE, 2, level(table_i("b"), "k_anonymity"))
    yield Figure("Table I (b), distinct l", WHERE, 2, level(table_i("b"), "distinct_l"))
    yield Figure("Table I (c), groups", WHERE, 4, float(table_i("c").groups))
    yield Figure("Table I (c), distinct l", WHERE, 2, level(table_i("c"), "distinct_l"))


def _schema() -> Schema:
    return printed_schema(
        {
            "nat": {"role": "quasi-identifier", "domain": NATIONS},
            "zip": {"role": "quasi-identifier", "domain": ZIPS},
            "dis": {"role": "sensitive", "domain": DISEASES},
        },
        {"zip": prefix_ladder(ZIPS, [4])},
    )
