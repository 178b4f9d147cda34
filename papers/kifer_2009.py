"""Kifer 2009, Attacks on Privacy and deFinetti's Theorem (SIGMOD): the releases and their random-worlds baselines."""

from collections.abc import Iterator

import numpy as np

from papers import Figure
from papers._printed import level, printed_release, printed_schema
from realdata.adult import adult_schema
from unveil.anonymizers.anatomy import Anatomy
from unveil.attribute import Role
from unveil.engine import Engine
from unveil.release import Release
from unveil.table import Table

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
# Table 7, the baseline's rows: group size, ABS, SSQ, ACC.
TABLE_7 = ((2, 1000.00, 500.00, 0.500), (3, 1333.33, 666.67, 0.333), (4, 1500.00, 750.00, 0.250))


def table_5() -> Release:
    """Table 5, section 4: three buckets of four."""
    attributes = {
        "gender": {"role": "quasi-identifier"},
        "age": {"role": "quasi-identifier", "kind": "numeric"},
        "zip": {"role": "quasi-identifier"},
        "disease": {"role": "sensitive"},
    }
    return printed_release(TABLE_5, printed_schema(attributes), sidecar=SIDECAR, second=_second(TABLE_5_SENSITIVE))


def table_6() -> Release:
    """Table 6, section 5: six buckets of two; whoever smokes is in a bucket with cancer."""
    attributes = {"smoker": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}}
    return printed_release(TABLE_6, printed_schema(attributes), sidecar=SIDECAR, second=_second(TABLE_6_SENSITIVE))


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
    """Tables 5 and 6 as releases."""
    for name, release, size, where in (
        ("Table 5", table_5(), 4, "section 4"),
        ("Table 6", table_6(), 2, "section 5"),
    ):
        histograms, _ = release.histograms(release.index("disease"))
        yield Figure(f"{name}, rows in each bucket", where, size, float(release.sizes.min()))
        yield Figure(f"{name}, distinct l", where, size, level(release, "distinct_l"), reading="every value differs")
        share = float((histograms / histograms.sum(axis=1, keepdims=True)).max())
        yield Figure(f"{name}, random worlds' belief in a value of the bucket", where, 1 / size, share)


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
        few = "printed as if every group were of 4" if left else ""
        ours = random_worlds_errors(release)
        for metric, published, value in zip(("ABS", "SSQ", "ACC"), baselines, ours, strict=True):
            within = 5e-4 if metric == "ACC" else 0.05 if left else 5e-3
            yield Figure(f"groups of {size}: baseline {metric}", where, published, value, within, few)


def _second(buckets: tuple[tuple[str, ...], ...]) -> str:
    rows = [f"{gid};{value};1" for gid, values in enumerate(buckets, start=1) for value in values]
    return "\n".join(["gid;disease;count", *rows])
