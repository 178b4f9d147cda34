"""Every reader on whatever a file may hold: an answer or an UnveilError, never another exception, never a hang.

Few examples by default; `make fuzz` runs thousands.
"""

import sqlite3
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from spoilt import BITS, cells, spoilt
from strategies import attributes, regions

from arx_projects import AGES, DEFINITION, made_newer_project, made_project
from java_objects import arx_output
from unveil.data.attribute import Attribute, Kind
from unveil.data.hierarchy import read_hierarchy
from unveil.data.regions import Regions
from unveil.data.schema import Schema, SchemaDocument, read_schema
from unveil.errors import TableError, UnveilError
from unveil.formats import tables
from unveil.formats.arx import read_project, repaired_ladder
from unveil.formats.arx.schema import project_schema
from unveil.formats.cells import CellError, read_cells, shown_values
from unveil.formats.cells.notations import NOTATIONS
from unveil.formats.databases import Database, located
from unveil.formats.priors import read_prior
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table

FEW = None if settings().max_examples > 1000 else 70  # the fuzz profile keeps its thousands
some = settings(max_examples=FEW) if FEW else settings()

named = st.lists(st.sampled_from(sorted(NOTATIONS)), max_size=2).map(tuple)


def _fault(reads: Callable[[], object], kind: type[Exception] = UnveilError) -> Exception | None:
    """The error of the kind that is allowed, or nothing; any other one ends the test."""
    try:
        reads()
    except kind as error:
        return error
    return None


@some
@given(st.data(), attributes(), st.sampled_from([".", ","]), named)
def test_any_cell_is_read_or_refused(
    data: st.DataObject, attribute: Attribute, decimal: str, names: tuple[str, ...]
) -> None:
    values = st.sampled_from(attribute.values)
    mixed = st.one_of(cells, st.lists(st.one_of(BITS, values), max_size=6).map("".join))
    texts = data.draw(st.lists(mixed, min_size=1, max_size=12))
    for text in texts:
        fault = _fault(lambda text=text: read_cells([text], attribute, decimal, names), CellError)  # type: ignore[misc]
        assert fault is None or ("\n" not in fault.args[0] and fault.args[1] == 0)
    for kind in (Kind.NUMERIC, Kind.DATE, Kind.CATEGORICAL):
        fault = _fault(lambda kind=kind: shown_values(texts, kind, decimal, names), CellError)  # type: ignore[misc]
        assert fault is None or 0 <= fault.args[1] < len(texts)


def _written(attribute: Attribute, codes: list[int], notation: str, decimal: str) -> str | None:
    """A set of codes as another tool would write it; None where it cannot."""
    values = [attribute.values[c] for c in codes]
    if decimal == ",":
        values = [v.replace(".", ",") for v in values]
    whole = codes == list(range(codes[0], codes[-1] + 1)) and codes[-1] < attribute.real
    if notation == "list":
        quoted = ["'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for v in values]
        return "[" + ", ".join(quoted) + "]"
    if not whole or attribute.binned or not attribute.kind.measured:
        return None
    if notation == "range":
        return f"{values[0]}~{values[-1]}"
    if notation == "bound":
        return f"<={values[-1]}" if codes[0] == 0 else f">={values[0]}" if codes[-1] == attribute.real - 1 else None
    after = codes[-1] + 1  # half-open: the next value is the end that is left out
    if after >= attribute.real:
        return None
    end = attribute.values[after].replace(".", decimal)
    return f"[{values[0]}; {end}["


@some
@given(st.data(), attributes(), st.sampled_from(["list", "range", "bound", "interval"]), st.sampled_from([".", ","]))
def test_what_other_tools_write_comes_back(
    data: st.DataObject, attribute: Attribute, notation: str, decimal: str
) -> None:
    region = data.draw(regions(attribute)).take(np.array([0]))
    codes = region.members(0).tolist()
    assume(decimal == "." or (attribute.kind is Kind.NUMERIC and not attribute.binned))
    text = _written(attribute, codes, notation, decimal)
    assume(text is not None)
    assert text is not None
    taken = attribute.encode([text], decimal)[0] != -1
    labels = [] if attribute.hierarchy is None else [label for level in attribute.hierarchy.labels for label in level]
    assume(not taken and text not in labels and text.strip() not in labels)
    assert read_cells([text], attribute, decimal, (notation,)) == Regions.sets(attribute.codes, [codes])


# --- files ------------------------------------------------------------------------------------------------------------

SCHEMA = Schema(
    SchemaDocument.model_validate(
        {
            "version": 1,
            "confirmed": True,
            "missing": ["?"],
            "attributes": {
                "age": {"role": "quasi-identifier", "kind": "numeric"},
                "sex": {"role": "quasi-identifier", "missing": "category"},
                "name": {"role": "identifier"},
                "s": {"role": "sensitive"},
            },
        }
    )
)
CSV = 'age,sex,s\n20~29,"f,m",flu\n[20;30[,f,hiv\n"[20,29]",*,flu\n<30,NA,flu\n'


def _only_unveil_errors(reads: Callable[[], object]) -> None:
    fault = _fault(reads)
    assert fault is None or (str(fault) and "\n" not in str(fault))


def _file(folder: str, name: str, content: bytes) -> Path:
    path = Path(folder) / name
    path.write_bytes(content)
    return path


@some
@given(spoilt(CSV.encode()), st.one_of(st.none(), spoilt(b'group = "g"\nblocks = [["age", "sex"], ["s"]]\n')), named)
@example(b"age,sex,s\n1,*\n", None, ())
def test_any_release_file(content: bytes, sidecar: bytes | None, names: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = _file(folder, "r.csv", content)
        if sidecar is not None:
            _file(folder, "r.toml", sidecar)
        _only_unveil_errors(lambda: read_release(path, SCHEMA, cells=["+".join(names)] if names else ()))
        _only_unveil_errors(lambda: read_table(path, SCHEMA))


def _read_here(read: Any, source: Any, *, error: Any, timed: bool = True, **options: Any) -> Any:
    return read(source, error=error, **options)


@some
@given(
    st.one_of(
        spoilt(made_project()),
        spoilt(DEFINITION.encode()).map(lambda xml: made_project(input__definition_dot_xml=xml)),
        spoilt(AGES.encode()).map(lambda csv: made_project(input__hierarchies__age_dot_csv=csv)),
        spoilt(arx_output(("age", "zip"), [("34", "81541")] * 5, suppressed=(4,))).map(made_newer_project),
    )
)
def test_any_project(content: bytes) -> None:
    """One in ten behind glass, the others in this process: a fork for each of four readers costs more than reading."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        if zlib.crc32(content) % 10:
            patched.setattr(tables, "behind_glass", _read_here)
        path = _file(folder, "p.deid", content)
        for reads in (read_project, read_columns, project_schema):
            _only_unveil_errors(lambda reads=reads: reads(path))  # type: ignore[misc]
        _only_unveil_errors(lambda: read_release(path, project_schema(path)))


TOML = b"""version = 1
missing = ["?"]
hierarchies = "."
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 17, to = 90, step = 1 }
[attributes.zip]
role = "sensitive"
hierarchy = "h.csv"
"""


@some
@given(spoilt(TOML), spoilt(AGES.encode()))
def test_any_schema_and_hierarchy(content: bytes, hierarchy: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ladder = _file(folder, "h.csv", hierarchy)
        path = _file(folder, "schema.toml", content)
        _only_unveil_errors(lambda: read_schema(path))
        _only_unveil_errors(lambda: read_hierarchy(ladder))
        _only_unveil_errors(lambda: repaired_ladder(hierarchy, "h.csv"))


@some
@given(spoilt(b"attribute,value,given,count\nage,20,flu,2\ns,flu,,1.5\n"))
def test_any_prior_file(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        release = read_release(_file(folder, "r.csv", b"age,sex,s\n20,f,flu\n21,m,hiv\n"), SCHEMA)
        path = _file(folder, "prior.csv", content)
        _only_unveil_errors(lambda: read_prior(path, release, 2, alpha=1.0, beta=1.0))


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("parquet") / "t.parquet"
    pl.DataFrame({"age": [1, 2, None], "sex": ["f", "m", "f"], "s": ["u", "v", "u"]}).write_parquet(path)
    return path.read_bytes()


@settings(max_examples=FEW or 1000)
@given(data=st.data())
def test_any_parquet_file(data: st.DataObject, parquet: bytes) -> None:
    content = data.draw(spoilt(parquet))
    with tempfile.TemporaryDirectory() as folder:
        path = _file(folder, "t.parquet", content)
        _only_unveil_errors(lambda: read_columns(path))


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sqlite") / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("pragma page_size = 512")
    connection.execute("create table t (age int, sex text, s)")
    connection.executemany("insert into t values (?, ?, ?)", [(1, "f", "u"), (2.5, "é", 3), (None, "", "long" * 300)])
    connection.commit()
    connection.close()
    return path.read_bytes()


@settings(max_examples=FEW or 1000)
@given(data=st.data())
def test_any_database_file(data: st.DataObject, sqlite: bytes) -> None:
    content = data.draw(spoilt(sqlite))
    with tempfile.TemporaryDirectory() as folder:
        path = _file(folder, "t.db", content)
        _only_unveil_errors(lambda: read_columns(f"sqlite:///{path}#t"))
        assert path.read_bytes() == content


def test_a_name_that_is_no_text(sqlite: bytes, tmp_path: Path) -> None:
    path = _file(str(tmp_path), "t.db", sqlite.replace(b"sex text", b"s\xffx text"))
    with pytest.raises(TableError, match="a column's name is not UTF-8"):
        read_columns(f"sqlite:///{path}#t")


PARTS = st.sampled_from(
    [
        ":",
        "//",
        "/",
        "@",
        "#",
        "?",
        "&",
        "%",
        "%2F",
        "=",
        "select ",
        "host",
        "[",
        "]",
        " ",
        '"',
        ".",
        "password=",
        "\0",
        "é",
    ]
)


@some
@given(st.sampled_from(["sqlite", "postgresql", "postgres", "mysql", ""]), st.lists(PARTS, max_size=12).map("".join))
def test_any_address_is_understood_or_refused(scheme: str, rest: str) -> None:
    secret = "s3cret"
    address = f"{scheme}://me:{secret}@{rest}#t"
    fault = _fault(lambda: located(address))
    found = located(address) if fault is None else fault
    assert secret not in str(found) or not isinstance(found, Database | UnveilError)
    assert not isinstance(found, Database) or found.file is not None or secret not in f"{found!r}{found.name}"
