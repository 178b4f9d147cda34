"""Tables in databases: addresses, SQLite, and that no password is ever shown. PostgreSQL itself: tests/database."""

import json
import socket
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from test_audit_cli import ROWS, SCHEMA, WIDE, table
from test_cli import run

from small import IDENTIFIER, QI, SENSITIVE, made_schema
from unveil.errors import SchemaError, TableError, UnveilError, UsageError
from unveil.formats.columns import Coder
from unveil.formats.databases import Database, located
from unveil.formats.tables import read_columns, read_table
from unveil.formats.text import distinct_codes

SECRET = "s3cret"


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A database of the 60 people of the audit's tests, `people`, and of odd values, `odd stuff`."""
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("create table people (age int, sex text, disease text, job text)")
        connection.executemany("insert into people values (?, ?, ?, ?)", ROWS)
        connection.execute('create table "odd ""stuff"".x" (a, b)')
        odd = [(1, None), (2.50, "x"), ("3", ""), (2**62, "ü"), (1e300, "y"), (float("inf"), "z")]
        connection.executemany('insert into "odd ""stuff"".x" values (?, ?)', odd)
        connection.execute("create table blobs as select x'00ff' as picture")
    connection.close()
    return f"sqlite:///{tmp_path}/people.db"


def texts(path: str, name: str, missing: str = "?") -> list[str]:
    column = read_columns(path, missing=missing).columns[name]
    return [column.texts[i] for i in column.text_of_row.tolist()]


# ------------------------------------------------------------------------------------------------------------ addresses


def test_what_is_no_address_is_a_path(tmp_path: Path) -> None:
    assert located("a/b.csv") == Path("a/b.csv")
    assert located(Path("sqlite:///x#y")) == Path("sqlite:///x#y")
    assert located("b.csv", tmp_path) == tmp_path / "b.csv"


@pytest.mark.parametrize(
    ("what", "statement"),
    [
        ("people", 'SELECT * FROM "people"'),
        (" health.people ", 'SELECT * FROM "health"."people"'),
        ('"a.b".People', 'SELECT * FROM "a.b"."People"'),
        ('"say ""hi"""', 'SELECT * FROM "say ""hi"""'),
        ("two words", 'SELECT * FROM "two words"'),
        ("selected", 'SELECT * FROM "selected"'),
        ("select", 'SELECT * FROM "select"'),
        ('x"; drop table people; --', None),
        ("a..b", None),
        (".a", None),
        ("a.", None),
        ("select * from a; ", "select * from a\n"),
        ("SELECT(1) AS a -- all", "SELECT(1) AS a -- all\n"),
        ("with a as (select 1 as b) select b#b from a", "with a as (select 1 as b) select b#b from a\n"),
        ("(values (1))", "(values (1))\n"),
    ],
)
def test_a_table_or_a_statement(what: str, statement: str | None) -> None:
    if statement is None:
        with pytest.raises(UsageError, match="is not a table"):
            located(f"sqlite:///x.db#{what}")
        return
    found = located(f"sqlite:///x.db#{what}")
    assert isinstance(found, Database)
    assert found.statement == statement
    assert (found.table is None) == (statement == what.strip().rstrip("; ") + "\n")


@pytest.mark.parametrize(
    ("address", "driver", "text"),
    [
        ("postgresql://h/d#t", "postgresql://h/d?", "postgresql://h/d#t"),
        (
            f"postgres://me:{SECRET}@h:1/d?sslmode=require#select 1",
            f"postgresql://me:{SECRET}@h:1/d?sslmode=require&",
            "postgresql://h:1/d",
        ),
        (f"postgresql://me:p%40{SECRET}@/d#s.t", f"postgresql://me:p%40{SECRET}@/d?", "postgresql:///d#s.t"),
        (f"postgresql://me@x:{SECRET}@h/d#t", f"postgresql://me%40x:{SECRET}@h/d?", "postgresql://h/d#t"),
        (f"postgresql://me:%zz{SECRET}@h/d#t", f"postgresql://me:%25zz{SECRET}@h/d?", "postgresql://h/d#t"),
        (f"postgresql:///?service=s&password={SECRET}#t", f"postgresql:///?service=s&password={SECRET}&", None),
        ("postgresql://[::1]:5432/d#t", "postgresql://[::1]:5432/d?", "postgresql://[::1]:5432/d#t"),
    ],
)
def test_what_connects_and_what_is_shown(address: str, driver: str, text: str | None) -> None:
    found = located(address)
    assert isinstance(found, Database)
    assert found.address.startswith(driver)
    assert "connect_timeout=10" in found.address
    assert str(found) == (text or "postgresql:///#t")
    assert SECRET not in f"{found} {found!r} {found.name} {found.resolve()}"


def test_own_options_stay() -> None:
    found = located("postgresql://h/d?connect_timeout=3&options=-c%20geqo%3Doff#t")
    assert isinstance(found, Database)
    assert found.address.endswith("?connect_timeout=3&options=-c%20geqo%3Doff")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (f"mysql://me:{SECRET}@h/d#t", "mysql://…: not a kind of database that is read"),
        (f"postgresql://me:{SECRET}@h/d", "does not say what to read"),
        (f"postgresql://me:{SECRET}@h/d# ", "does not say what to read"),
        (f"postgresql://me:a/{SECRET}@h/d#t", "is written %2F"),
        (f"postgresql://me:a b/{SECRET}", "does not say what to read"),
        (f"postgresql://h {SECRET}/d#t", "its host is not a valid name"),
        ("sqlite://x.db#t", "sqlite:///FILE#TABLE"),
        ("sqlite:///x.db?mode=rw#t", "sqlite:///FILE#TABLE"),
        ("sqlite:///#t", "sqlite:///FILE#TABLE"),
        ("sqlite:///x.db#@none.sql", "none.sql: cannot be read"),
    ],
)
def test_addresses_that_make_no_sense(address: str, says: str) -> None:
    with pytest.raises(UsageError) as fault:
        located(address)
    assert says in str(fault.value)
    assert SECRET not in str(fault.value)


def test_errors_hold_no_password_wherever_the_address_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert str(SchemaError(f"pg://a:{SECRET}@h/d?password={SECRET} is no file")) == "pg://h/d?password=… is no file"
    settings = f"host=h password = '{SECRET} x' user=me sslpassword={SECRET}#t: no such file"
    assert str(TableError(settings)) == "host=h password = … user=me sslpassword=…#t: no such file"
    assert str(UsageError("--cells 'password=lists'")) == "--cells 'password=lists'"
    assert str(TableError(f"data.csv: {SECRET}@home is not a value")) == f"data.csv: {SECRET}@home is not a value"
    for args in (
        ("check", f"postgresql://me:{SECRET}@h/d#t", "--schema", "none.toml"),
        ("schema", f"postgresql://me:{SECRET}@127.0.0.1:1/d#t"),
        ("schema", "a.csv", f"postgresql://me:{SECRET}@h/d#t"),
        ("schema", f"oracle://me:{SECRET}@h/d#t"),
        ("anonymize", f"postgresql://me:{SECRET}@h/d", "--schema", f"postgresql://me:{SECRET}@h/d"),
    ):
        code, out, err = run(*args, capsys=capsys)
        assert code == 2
        assert SECRET not in out + err


def test_a_release_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for command in ("check", "audit"):
        code, _, err = run(command, f"postgresql://me:{SECRET}@h/d#t", "-s", tmp_path / "schema.toml", capsys=capsys)
        assert (code, err.count("\n")) == (2, 1)
        assert "a release is a file, not a table in a database" in err


# --------------------------------------------------------------------------------------------------------------- SQLite


def test_values_as_a_csv_file_would_hold_them(base: str) -> None:
    odd = base + '#"odd ""stuff"".x"'
    assert texts(odd, "a") == ["1", "2.5", "3", str(2**62), "1e+300", "inf"]
    assert texts(odd, "b") == ["?", "x", "", "ü", "y", "z"]


def test_the_same_table_as_from_csv(base: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table(ROWS))
    (tmp_path / "all.sql").write_text("-- everybody\nselect age, sex, disease, job\nfrom people;\n")
    plain = read_columns(tmp_path / "data.csv")
    for what in ("people", "main.people", "select * from people", f"@{tmp_path}/all.sql"):
        found = read_columns(f"{base}#{what}")
        assert list(found.columns) == list(plain.columns)
        for name, column in found.columns.items():
            assert column.texts == plain.columns[name].texts
            assert column.text_of_row.tolist() == plain.columns[name].text_of_row.tolist()
            assert column.text_of_row.dtype == plain.columns[name].text_of_row.dtype
    assert found.place(3) == "row 4"


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("nobody", "no such table: nobody"),
        ("select height from people", "no such column: height"),
        ("select 1 as a, 2 as a", "two columns are named 'a'"),
        ("select 1 as ''", "column 1 has no name"),
        ("select * from people where age > 99", "the statement gives no rows"),
        ("blobs", ", picture: holds binary values"),
        ("select 1 as a; select 2 as b", "one statement at a time"),
        ("with x as (select 1) delete from people", "may only read"),
        ("@{}/delete.sql", "may only read"),
        ("@{}/attach.sql", "may only read"),
        ("@{}/pragma.sql", "may only read"),
    ],
)
def test_statements_that_give_no_table(base: str, tmp_path: Path, what: str, says: str) -> None:
    (tmp_path / "delete.sql").write_text("delete from people")
    (tmp_path / "attach.sql").write_text(f"attach database '{tmp_path}/new.db' as new")
    (tmp_path / "pragma.sql").write_text("pragma table_info(people)")
    with pytest.raises(TableError) as fault:
        read_columns(f"{base}#{what.format(tmp_path)}")
    assert says in str(fault.value)
    assert str(fault.value).startswith(f"sqlite:///{tmp_path}/people.db")
    assert "\n" not in str(fault.value)
    assert not (tmp_path / "new.db").exists()
    assert len(texts(base + "#people", "age")) == len(ROWS)


def test_a_missing_or_foreign_file_is_no_new_database(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        read_columns(f"sqlite:///{tmp_path}/none.db#t")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text.db").write_text("a,b\n1,2\n" * 500)
    with pytest.raises(TableError, match="file is not a database"):
        read_columns(f"sqlite:///{tmp_path}/text.db#t")


def test_a_locked_database_is_said_so(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.formats.databases._LOCKED", 0.05)
    writer = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    writer.execute("begin exclusive")
    with pytest.raises(TableError, match="database is locked"):
        read_columns(base + "#people")
    writer.close()


# --------------------------------------------------------------------------------------------------------------- coding


def test_batches_are_coded_as_the_whole() -> None:
    values = [str(i * i % 1009) for i in range(3000)] + ["", "ü", "z"]
    whole = pl.Series(values, dtype=pl.String)
    coder = Coder(counted=["b"])
    for start, stop in ((0, 1), (1, 1), (1, 700), (700, 3003)):
        coder.add(pl.DataFrame({"a": whole[start:stop], "b": whole[start:stop]}))
    expected, codes = distinct_codes(whole)
    columns = coder.coded()
    found = columns["a"]
    assert (found.texts, found.text_of_row.tolist()) == (expected, codes.tolist())
    assert found.text_of_row.dtype == codes.dtype
    number = columns["b"].text_of_row
    assert number.tolist() == [list(dict.fromkeys(values)).index(v) for v in values]
    assert len({*zip(number.tolist(), values, strict=True)}) == len(set(values)) == number.max() + 1


def test_identifiers_are_counted_but_not_kept(tmp_path: Path) -> None:
    schema = made_schema({"id": {"role": IDENTIFIER}, "age": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE}})
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("create table t (id, age, s)")
        rows = [("a", 1, "x"), ("b", 2, "y"), ("a", 3, "x"), (None, 4, "y"), ("c", 5, "x"), (None, 6, "y")]
        connection.executemany("insert into t values (?, ?, ?)", rows)
    connection.close()
    found = read_table(f"sqlite:///{tmp_path}/x.db#t", schema)
    assert found.repeated == {"id": 4}
    assert [a.name for a in found.attributes] == ["age", "s"]


# -------------------------------------------------------------------------------------------------------------- command


def test_commands_read_databases(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "wide.csv").write_text(table(WIDE))
    (tmp_path / "audit.toml").write_text('original = "sqlite:///people.db#people"\nreleases = ["wide.csv"]\n')
    (tmp_path / "data.csv").write_text(table(ROWS))
    common = ("--schema", tmp_path / "schema.toml", "--workers", "1", "--sweeps", "200", "--json", "-")
    wanted = ("audit", tmp_path / "wide.csv", "--original", tmp_path / "data.csv", *common)
    expected = json.loads(run(*wanted, capsys=capsys)[1])
    code, out, err = run("audit", "--config", tmp_path / "audit.toml", *common, capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["findings"] == expected["findings"]
    assert found["settings"]["original"] == "people.db#people"
    assert {i["name"]: len(i["sha256"]) for i in found["inputs"]}["sqlite:///people.db#people"] == 64

    code, _, err = run(
        *("anonymize", base + "#people", "-s", tmp_path / "schema.toml", "--with", "mondrian:k=3"),
        *("-o", tmp_path / "people.db"),
        capsys=capsys,
    )
    assert (code, "choose another file" in err) == (2, True)
    assert (tmp_path / "people.db").read_bytes().startswith(b"SQLite format 3")
    code, out, _ = run("schema", base + "#select age, job from people", capsys=capsys)
    assert (code, "[attributes.job]" in out) == (0, True)


def test_a_hash_of_what_was_read(base: str) -> None:
    both = [located(base + what) for what in ("#people", "#select * from people", "#select * from people limit 59")]
    for database in both:
        read_columns(database)
    first, same, other = (database.sha256 for database in both if isinstance(database, Database))
    assert first == same != other


# ----------------------------------------------------------------------------------------------- PostgreSQL, no server


def test_a_server_that_is_not_there_or_does_not_answer() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        cases = {
            f"{place}/d?connect_timeout=2": "timeout expired",
            "127.0.0.1:1/d": "Connection refused",
            "nobody.invalid/d": "could not translate host name",
            "h/d?nonsense=1": "invalid URI query parameter",
        }
        for rest, says in cases.items():
            with pytest.raises(UnveilError) as fault:
                read_columns(f"postgresql://me:{SECRET}@{rest}#t")
            assert says in str(fault.value)
            assert SECRET not in str(fault.value)
            assert "\n" not in str(fault.value)
