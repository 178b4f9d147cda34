"""Tables in a real PostgreSQL server: every type, every mistake, read only, and no password anywhere."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from reached import PASSWORD, Server

from unveil import cli
from unveil.errors import TableError
from unveil.formats.databases import Database, located
from unveil.formats.tables import read_columns

SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.id]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
missing = "category"
[attributes.disease]
role = "sensitive"
"""


@pytest.fixture(scope="session")
def people(server: Server) -> Server:
    """A table of 60 people, one of every type that can be read, and one of those that cannot."""
    server.run(
        "create table people as select i as id, 20 + i % 10 as age, nullif((array['f', 'm', 'x'])[1 + i / 25], 'x') as"
        " sex, (array['flu', 'hiv', 'none'])[1 + i * 7 % 3] as disease from generate_series(1, 60) as i",
        "create sequence numbers",
        "create type mood as enum ('good', 'bad')",
        'create schema "Health"',
        """create table "Health"."All kinds" (small int2, whole int4, "large" int8, exact numeric(20, 3), single float4,
           real float8, yes bool, day date, midnight timestamp, zoned timestamptz, words text, filled char(4),
           varied varchar(9), mood mood, number uuid)""",
        """insert into "Health"."All kinds" values
           (1, -2, 9007199254740993, 12345678901234567.100, 0.1, 0.30000000000000004, true, '2000-02-29', '1999-12-31',
            '2020-06-01 00:00+00', 'ü, "x"', 'ab', ' c ', 'bad', '0b0e1c2a-0000-4000-8000-00000000ffff'),
           (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
           (3, 4, 5, 'NaN', 1e20, 'Infinity', false, '0099-01-01', '2000-01-01', null, '', '', '', 'good', null)""",
    )
    return server


def texts(server: Server, what: str, name: str) -> list[str]:
    column = read_columns(server.address(what), missing="?").columns[name]
    return [column.texts[i] for i in column.text_of_row.tolist()]


def test_every_type_as_a_csv_file_would_hold_it(people: Server) -> None:
    found = read_columns(people.address('"Health"."All kinds"'), missing="?")
    rows = {name: [c.texts[i] for i in c.text_of_row.tolist()] for name, c in found.columns.items()}
    assert rows == {
        "small": ["1", "?", "3"],
        "whole": ["-2", "?", "4"],
        "large": ["9007199254740993", "?", "5"],
        "exact": ["12345678901234567.100", "?", "nan"],
        "single": ["0.1", "?", "1e+20"],
        "real": ["0.30000000000000004", "?", "inf"],
        "yes": ["true", "?", "false"],
        "day": ["2000-02-29", "?", "0099-01-01"],
        "midnight": ["1999-12-31", "?", "2000-01-01"],
        "zoned": ["2020-06-01", "?", "?"],
        "words": ['ü, "x"', "?", ""],
        "filled": ["ab", "?", ""],
        "varied": [" c ", "?", ""],
        "mood": ["bad", "?", "good"],
        "number": ["0b0e1c2a-0000-4000-8000-00000000ffff", "?", "?"],
    }


def test_many_batches_and_counted_columns(people: Server) -> None:
    rows = 40_000  # of over 1,000 bytes: the driver gives 16 MB at a time
    columns = "i % 1000 as a, md5(i::text) as b, i / 2 as c, repeat('x', 1000) as d"
    wide = f"select {columns} from generate_series(1, {rows}) as i"
    found = read_columns(people.address(wide), counted=["b", "c"])
    column = found.columns["a"]
    assert [column.texts[i] for i in column.text_of_row.tolist()] == [str(i % 1000) for i in range(1, rows + 1)]
    assert found.rows == rows
    assert [len(set(found.columns[n].text_of_row.tolist())) for n in "bc"] == [rows, rows // 2 + 1]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("nobody", 'relation "nobody" does not exist'),
        ("People", 'relation "People" does not exist'),
        ("select height from people", 'column "height" does not exist'),
        ("select 1 as a, 2 as a", "two columns are named 'a'"),
        ("select 1 + 1", "column 1 has no name"),
        ("select from people", "the statement gives no columns"),
        ("select * from people where age > 99", "the statement gives no rows"),
        ("select 1; select 2", "multiple commands"),
        ("select 1 / (id - 50) as a from people", "division by zero"),
        ("select '[1]'::jsonb as a", ", a: a column of type jsonb cannot be read"),
        ("select 'x'::bytea as a", ", a: a column of type bytea cannot be read"),
        ("select array[1] as a", ", a: a column of type _int4 cannot be read"),
        ("select 1.2::money as a", ", a: a column of type money cannot be read"),
        ("select '1 day'::interval as a", ", a: a column of type interval cannot be read"),
        ("select '10:00'::time as a", ", a: a column of type time cannot be read"),
        ("select '::1'::inet as a", ", a: a column of type inet cannot be read"),
        ("select timestamp '2020-01-01 10:00' as a", ", a: holds times of day"),
        ("select date 'infinity' as a", ", a: holds a date outside the years"),
        ("select date '10000-01-01' as a", ", a: holds a date outside the years"),
        ("with x as (delete from people returning *) select * from x", "the statement may only read"),
        ("select nextval('numbers') as a", "the statement may only read"),
        ("select set_config('transaction_read_only', 'off', false) as a", "read-write mode must be set before"),
        ("@{}/insert.sql", "the statement may only read: cannot execute SELECT in a read-only transaction"),
        ("@{}/commit.sql", "the statement may only read; write one SELECT statement"),
        ("@{}/set.sql", "the statement may only read; write one SELECT statement"),
        ("@{}/do.sql", "the statement may only read; write one SELECT statement"),
        ("@{}/program.sql", "the statement may only read; write one SELECT statement"),
        ("@{}/comments.sql", "the statement may only read; write one SELECT statement"),
    ],
)
def test_statements_that_give_no_table(people: Server, tmp_path: Path, what: str, says: str) -> None:
    insert = "insert into people values (61, 20, 'f', 'flu') returning id"
    (tmp_path / "insert.sql").write_text(f"-- people\n/* all */ with x as ({insert}) select * from x")
    copy = f"copy (select 1) to program 'touch {tmp_path}/ran'"  # which the server would run, also when it only reads
    tmp_path.chmod(0o777)
    (tmp_path / "program.sql").write_text(copy)
    (tmp_path / "comments.sql").write_text(f"/* /* */ select */ {copy}")
    (tmp_path / "commit.sql").write_text("commit; delete from people")
    (tmp_path / "set.sql").write_text("set transaction read write")
    (tmp_path / "do.sql").write_text("do $$ begin commit; delete from people; end $$")
    with pytest.raises(TableError) as fault:
        read_columns(people.address(what.format(tmp_path)))
    assert says in str(fault.value)
    assert "\n" not in str(fault.value)
    assert PASSWORD not in str(fault.value)
    assert not (tmp_path / "ran").exists()


def test_options_of_the_connection_do_not_let_it_write(people: Server, tmp_path: Path) -> None:
    insert = "insert into people values (61, 20, 'f', 'flu') returning id"
    (tmp_path / "insert.sql").write_text(f"with x as ({insert}) select * from x")
    allowed = "?options=-c%20default_transaction_read_only%3Doff"
    with pytest.raises(
        TableError, match="the statement may only read: cannot execute SELECT in a read-only transaction"
    ):
        read_columns(people.address(f"@{tmp_path}/insert.sql", options=allowed))


def test_nothing_was_written(people: Server) -> None:
    assert texts(people, "select count(*) as n from people", "n") == ["60"]
    assert texts(people, "select is_called as used from numbers", "used") == ["false"]


def test_a_wrong_password_and_an_unknown_database(people: Server) -> None:
    with pytest.raises(TableError, match=r'cannot connect: .*password authentication failed for user "steward"'):
        read_columns(people.address("people", password="wrong"))
    with pytest.raises(TableError, match='database "nowhere" does not exist'):
        read_columns(people.address("people").replace("/postgres#", "/nowhere#"))
    # A password that the server's words hold: nothing of them is shown.
    with pytest.raises(TableError, match=r"so it is not shown$"):
        read_columns(people.address("people", password="authentication"))


def test_the_password_from_the_environment_and_a_service(
    people: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    folder = quote(str(people.folder), safe="")
    assert texts(people, "people", "age") == [str(20 + i % 10) for i in range(1, 61)]
    assert read_columns(f"postgresql://steward@{folder}/postgres#people").rows == 60
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "service.conf").write_text(
        f"[health]\nhost={people.folder}\nuser=steward\ndbname=postgres\npassword={PASSWORD}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "service.conf"))
    assert read_columns("postgresql://?service=health#people").rows == 60


def test_an_audit_from_the_server_shows_no_password(
    people: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unveil(*args: str | Path) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["unveil", *map(str, args)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out + err

    (tmp_path / "schema.toml").write_text(SCHEMA)
    common = ("--schema", tmp_path / "schema.toml", "--seed", "1")
    made = unveil("anonymize", people.address("people"), *common, "--with", "mondrian:k=5", "-o", tmp_path / "r.csv")
    assert made[0] == 0, made
    files = [tmp_path / name for name in ("audit.json", "report.html", "people.csv")]
    told = ("--json", files[0], "--report", files[1], "--people", files[2], "--checkpoint", tmp_path / "saved")
    others = people.address("select 20 as age, 'f' as sex, 'flu' as disease from generate_series(1, 20)")
    asked = ("--original", people.address("select * from people order by id"), "--control", others)
    code, said = unveil(
        "audit", tmp_path / "r.csv", *asked, *common, *told, "--background", "no", "--attacker", "random_worlds"
    )
    assert code in (0, 3), said
    assert {path.name for path in tmp_path.iterdir()} >= {"audit.json", "report.html", "people.csv", "r.csv"}
    written = [made[1], said, *(path.read_text() for path in tmp_path.rglob("*") if path.is_file())]
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "s3cret", "steward"):
        assert not any(secret in text for text in written)
    inputs = [(i["name"], i["sha256"]) for i in json.loads(files[0].read_text())["inputs"]]
    database = located(people.address("select * from people order by id"))
    read_columns(database, missing="?", counted=["id"])
    assert isinstance(database, Database)
    assert (f"postgresql://{quote(str(people.folder), safe='')}/postgres", database.sha256) in inputs

    for path in files:
        path.unlink()
    asked = ("--original", people.address("people", password="s3cret"), *common, *told[:4])
    code, said = unveil("audit", tmp_path / "r.csv", *asked)
    assert (code, said.count("\n")) == (2, 1)
    assert "password authentication failed" in said
    assert "s3cret" not in said
    assert not any(path.exists() for path in files)
