"""The people file: one row an original row, what learner and attackers believe of that person. It names people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Belief
from unveil.errors import UsageError
from unveil.formats.output import Content, csv_bytes, write_whole
from unveil.formats.output.tables import check_packages, frame_content

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENDINGS", "MOST_VALUE_COLUMNS", "check_people_file", "people_content", "people_frame", "write_people"]

MOST_VALUE_COLUMNS = 100
ENDINGS = (".csv", ".parquet", ".arrow", ".xlsx")  # its column names are none in SPSS, Stata or SAS


def people_frame(
    asked: Attribute,
    known: Mapping[str, Sequence[str]],
    learner: Belief,
    attackers: Mapping[str, Belief],
    truth: NDArray[np.integer] | None,
    *,
    value_columns: bool | None = None,
) -> "pl.DataFrame":
    """The columns of CONTRACTS.md; the first attacker is `attacker:`, others go by their name.

    Without the truth, success is unknown: its columns stay empty.
    """
    import polars as pl

    if not attackers:
        raise UsageError("a people file needs an attacker")
    first = next(iter(attackers.values()))
    people = len(first.probability)
    values = np.array(asked.values, dtype=object)
    data: dict[str, pl.Series] = {
        "row": pl.Series(range(1, people + 1), dtype=pl.Int64),
        "attribute": pl.Series([asked.name] * people, dtype=pl.String),
    }
    data |= {f"known:{name}": pl.Series(list(texts), dtype=pl.String) for name, texts in known.items()}
    data["truth"] = pl.Series([None] * people if truth is None else values[truth].tolist(), dtype=pl.String)
    pair = {"learner": learner, "attacker": first}
    for name, belief in pair.items():
        own = None if truth is None else belief.probability[np.arange(people), truth]
        data[f"{name}_belief"] = pl.Series([None] * people if own is None else own, dtype=pl.Float64)
    for name, belief in pair.items():
        data[f"{name}_guess"] = pl.Series(values[belief.probability.argmax(axis=1)].tolist(), dtype=pl.String)
    threatened = {name: _threatened(belief, truth) for name, belief in pair.items()}
    for name, flags in threatened.items():
        data[f"{name}_threatened"] = pl.Series([None] * people if flags is None else flags, dtype=pl.Boolean)
    data["relative_threat"] = pl.Series(_relative(first, learner, truth, threatened["attacker"]), dtype=pl.Float64)
    if value_columns if value_columns is not None else asked.codes <= MOST_VALUE_COLUMNS:
        others = dict(list(attackers.items())[1:])
        for name, belief in {**pair, **others}.items():
            for code, value in enumerate(asked.values):
                data[f"{name}:{value}"] = pl.Series(belief.probability[:, code], dtype=pl.Float64)
    return pl.DataFrame(data)


def write_people(path: Path, frame: "pl.DataFrame") -> None:
    """Write it by its ending, readable by its owner alone."""
    write_whole({path: people_content(path, frame)}, private=[path])


def people_content(path: Path, frame: "pl.DataFrame") -> Content:
    """What the file holds, by its ending: to be written beside others, whole or not at all."""
    check_people_file(path)
    if path.suffix.lower() == ".csv":
        texts = [_inert(frame[name]) for name in frame.columns]
        return csv_bytes(frame.columns, texts)
    return frame_content(path, frame)


def check_people_file(path: Path) -> None:
    """Refuse an ending that a people file does not have, or for which a package is absent."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{path}: a people file is a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; name it "
            f"{path.with_suffix('.csv').name}"
        )
    check_packages(path)


def _inert(column: "pl.Series") -> "pl.Series":
    """The column as text. A text that a spreadsheet would run as a formula gets an apostrophe before it."""
    import polars as pl

    texts = column.cast(pl.String).fill_null("")
    if column.dtype != pl.String:
        return texts
    runs = texts.str.contains(r"^[=+\-@\t\r]") & texts.cast(pl.Float64, strict=False).is_null()
    return pl.select(pl.when(runs).then("'" + texts).otherwise(texts)).to_series()


def _threatened(belief: Belief, truth: NDArray[np.integer] | None) -> NDArray[np.bool_] | None:
    if truth is None:
        return None
    own = belief.probability[np.arange(len(truth)), truth]
    return np.asarray(own >= belief.probability.max(axis=1) * (1 - 1e-12))


def _relative(
    attacker: Belief, learner: Belief, truth: NDArray[np.integer] | None, threatened: NDArray[np.bool_] | None
) -> list[float | None]:
    if truth is None or threatened is None:
        return [None] * len(attacker.probability)
    rows = np.arange(len(truth))
    ratio = attacker.probability[rows, truth] / np.maximum(learner.probability[rows, truth], 1e-300)
    return [float(r) if t else None for r, t in zip(ratio, threatened, strict=True)]
