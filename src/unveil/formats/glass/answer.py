"""What a child answers: Arrow and JSON, read back with checks."""

import contextlib
import io
import json
import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from unveil.errors import UnveilError

if TYPE_CHECKING:
    from unveil.formats.columns import Columns

__all__ = ["finish", "pack", "unpacked"]

_LENGTH = struct.Struct("<Q")


def finish(file: IO[bytes], head: dict[str, Any]) -> None:
    text = json.dumps(head).encode()
    file.write(text + _LENGTH.pack(len(text)))


def pack(found: "Columns", file: IO[bytes]) -> None:
    """The codes of all columns as one Arrow stream, the texts of each as another; then what else there is as JSON."""
    import polars as pl

    ends = []
    columns = found.columns.values()
    codes = pl.DataFrame({str(place): column.text_of_row for place, column in enumerate(columns)})
    for frame in (codes, *(pl.Series(column.texts, dtype=pl.String).to_frame() for column in columns)):
        frame.write_ipc_stream(file)
        ends.append(file.tell())
    rest = {f.name: _plain(getattr(found, f.name)) for f in fields(found) if f.name != "columns"}
    finish(file, {"names": list(found.columns), "ends": ends, "rest": rest})


def _plain(value: Any) -> Any:
    """As JSON has it; a mapping as pairs, for its keys may be numbers."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return [[key, _plain(each)] for key, each in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _rest(plain: dict[str, Any]) -> dict[str, Any]:
    """What a table says of itself beside its columns."""
    from unveil.data.dictionary import Dictionary, Variable
    from unveil.data.notation import FileNotation
    from unveil.formats.columns import Place

    def variable(said: dict[str, Any]) -> Variable:
        pairs = {
            name: tuple(map(tuple, said[name])) if name == "missing" else dict(said[name])
            for name in ("labels", "shows", "missing")
        }
        return Variable(**said | pairs | {"epoch": datetime.fromisoformat(said["epoch"]), "seen": tuple(said["seen"])})

    found = plain["dictionary"]
    if found is not None:
        variables = {name: variable(said) for name, said in found["variables"]}
        found = Dictionary(found["family"], variables, found["label"], tuple(found["notes"]))
    own = {name: dict(plain["notation"][name]) for name in ("dates", "decimals")}
    notation = FileNotation(**plain["notation"] | own)
    place = Place(**plain["place"])
    return plain | {
        "dictionary": found,
        "notation": notation,
        "place": place,
        "missing": tuple(plain["missing"]),
        "parts": (),
        "count": None,
    }


def unpacked(answer: IO[bytes], source: Any, error: type[UnveilError]) -> "Columns":
    """The table that a child has written."""
    size = os.fstat(answer.fileno()).st_size
    with mmap.mmap(answer.fileno(), 0, access=mmap.ACCESS_READ) if size else contextlib.nullcontext(b"") as raw:
        last = size - _LENGTH.size
        text = raw[last - _LENGTH.unpack(raw[last:])[0] : last] if last >= 0 else b'{"failed": "no answer"}'
        head = json.loads(text)
        if "refused" in head:
            raise error(str(head["refused"]))
        if "failed" in head:
            raise error(f"{source}: cannot be read ({head['failed']}); is it whole?")
        return _columns(answer, raw, head)


def _columns(answer: IO[bytes], raw: Any, head: dict[str, Any]) -> "Columns":
    import polars as pl

    from unveil.data.table import CodedColumn
    from unveil.formats.columns import Columns

    answer.seek(0)
    codes = pl.read_ipc_stream(answer)  # from the file itself: copied once
    texts = (pl.read_ipc_stream(io.BytesIO(raw[start:end])) for start, end in pairwise(head["ends"]))
    columns = {}
    for name, code, text in zip(head["names"], codes, texts, strict=True):
        values = code.to_numpy()
        # Kernels index by these without looking.
        if not code.dtype.is_unsigned_integer() or (text.height and int(code.max()) >= text.height):  # type: ignore[arg-type]
            raise RuntimeError("the process that reads files gave codes without texts")
        columns[name] = CodedColumn(text.to_series().to_list(), values)
    found = Columns(columns=columns, **_rest(head["rest"]))
    if codes.height != found.rows:
        raise RuntimeError("the process that reads files gave columns of another length than it says")
    return found
