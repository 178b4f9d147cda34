"""What a draft asks of a table: each column's different texts with their rows, and rows where columns are joined.

A table of many files is asked part by part: texts are counted exactly up to MOST_TEXTS; of more a sample is kept, which
depends on the texts alone and not on the parts or their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.data.preparation import CodedColumn
from unveil.data.texts import MISSING_WORDS

__all__ = ["MISSING_TOKENS", "MOST_TEXTS", "ColumnTexts", "HeldRows", "RowSource", "RowValues", "is_missing"]

MISSING_TOKENS = ("?", "", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", ".")
MOST_TEXTS = 2**18  # different texts of a column that are counted exactly where a table is read part by part

Codes = NDArray[np.unsignedinteger]
Make = Callable[[Mapping[str, CodedColumn]], CodedColumn]


def is_missing(text: str, tokens: frozenset[str]) -> bool:
    """Whether a text stands for no value."""
    plain = text.strip()
    return plain in tokens or plain.casefold() in tokens


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTexts:
    """The different texts of a column and the rows of each; or a random sample of them, with all rows of each."""

    texts: Sequence[str]
    rows: NDArray[np.int64]  # (texts,)
    total: int  # rows of the table
    held: float = 1.0  # the share of the different texts that is held: an estimate below 1

    @classmethod
    def of(cls, column: CodedColumn, rows: NDArray[np.int64] | None = None) -> "ColumnTexts":
        """Of a column as it is read; `rows`: how many each of its rows stands for."""
        counts = np.bincount(column.text_of_row, weights=rows, minlength=len(column.texts)).astype(np.int64)
        return cls(column.texts, counts, int(counts.sum()))

    @classmethod
    def united(cls, several: "Sequence[ColumnTexts]", most: int = MOST_TEXTS) -> "ColumnTexts":
        """Of the parts of a column, by text. Any order and any merging of the same parts gives the same."""
        import polars as pl

        total = sum(one.total for one in several)
        texts = pl.concat([pl.Series(list(one.texts), dtype=pl.String) for one in several])
        rows = pl.Series(np.concatenate([one.rows for one in several]))
        found = pl.DataFrame({"text": texts, "rows": rows}).group_by("text").agg(pl.col("rows").sum()).sort("text")
        held = 1.0
        if len(found) > most or any(one.held < 1 for one in several):
            number = found["text"].hash(1).to_numpy()
            last = np.partition(number, most - 1)[most - 1]  # whoever was cut before holds at least as many
            found = found.filter(pl.Series(number <= last) | _kept_always(found["text"]))
            held = min(len(found) * (int(last) / 2**64) / (most - 1), 1 - 1e-12)
        return cls(found["text"].to_list(), found["rows"].to_numpy().astype(np.int64), total, held)

    def read_as(self, texts: Sequence[str]) -> "tuple[ColumnTexts, NDArray[np.integer]]":
        """The same with each of its texts read as another, and the number of the text that each became."""
        distinct = sorted(set(texts))
        rank = {text: number for number, text in enumerate(distinct)}
        number = np.array([rank[text] for text in texts], dtype=np.uint32)
        rows = np.bincount(number, weights=self.rows, minlength=len(distinct)).astype(np.int64)
        return ColumnTexts(distinct, rows, self.total, self.held), number

    def alone(self) -> CodedColumn:
        """A column in which each text stands once."""
        return CodedColumn(self.texts, np.arange(len(self.texts)))


def _kept_always(texts: Any) -> Any:
    """Marks of missing values, and the ends: the first and the last text, the least and the greatest number."""
    import polars as pl

    tokens = frozenset(MISSING_TOKENS) | MISSING_WORDS
    number = texts.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    ends = [texts.arg_min(), texts.arg_max(), number.arg_min(), number.arg_max()]
    kept = np.zeros(len(texts), dtype=np.bool_)
    kept[[end for end in ends if end is not None]] = True
    longest = max(map(len, tokens)) + 2
    short = np.flatnonzero((texts.str.len_chars() <= longest).to_numpy())
    kept[short] |= [is_missing(text, tokens) for text in texts.gather(short).to_list()]
    return pl.Series(kept)


@dataclass(frozen=True, slots=True, eq=False)
class RowValues:
    """Each row's value in a column as a draft reads it, from the columns of the file or of a part of it."""

    source: str
    texts: Sequence[str] = field(repr=False)
    value: Codes = field(repr=False)  # (texts,)
    make: Make | None = field(default=None, repr=False)  # of several columns of the file

    def __call__(self, columns: Mapping[str, CodedColumn]) -> Codes:
        column = columns[self.source] if self.make is None else self.make(columns)
        if column.texts is self.texts:
            return np.asarray(self.value[column.text_of_row])
        value = dict(zip(self.texts, self.value.tolist(), strict=True))
        found: Codes = np.array([value[text] for text in column.texts], dtype=self.value.dtype)[column.text_of_row]
        return found


class RowSource(Protocol):
    """Whoever holds the rows, or reads them part by part."""

    def made(self, make: Make) -> ColumnTexts:
        """The texts of a column that is made of several."""
        ...

    def joint(self, values: Sequence[RowValues]) -> tuple[list[Codes], NDArray[np.int64] | None] | None:
        """The values of some columns, row by row, or each different row and its count; None: too many differ."""
        ...


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows that are held."""

    columns: Mapping[str, CodedColumn]

    def made(self, make: Make) -> ColumnTexts:
        return ColumnTexts.of(make(self.columns))

    def joint(self, values: Sequence[RowValues]) -> tuple[list[Codes], None]:
        return [of_rows(self.columns) for of_rows in values], None
