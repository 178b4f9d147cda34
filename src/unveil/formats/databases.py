"""Tables in SQLite and PostgreSQL databases: an address and what to read there, `ADDRESS#TABLE` or `ADDRESS#SELECT …`.

Nothing is written: SQLite files are opened read-only, PostgreSQL is asked in a read-only transaction. What an address
holds of users, passwords and options is used to connect and shown nowhere.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from unveil.errors import TableError, UnveilError, UsageError, shown

if TYPE_CHECKING:
    import polars as pl

    from unveil.data.table import CodedColumn
    from unveil.formats.columns import Columns

__all__ = ["Database", "located", "read_database"]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_READING = re.compile(  # comments in comments, which the server would end elsewhere, are not skipped
    r"(?:\s|\(|--[^\n]*\n|/\*(?:(?!/\*|\*/).)*\*/)*(?:select|with|values|table)\b", re.IGNORECASE | re.DOTALL
)
_STATEMENT = re.compile(r"[\s(]*(select|with|values|table)(\s+\S|\s*[(*\"'])", re.IGNORECASE)
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_BATCH = 50_000  # rows of SQLite at a time
_SECONDS = 10  # to connect, unless the address says otherwise
_LOCKED = 5.0  # seconds that a writer to an SQLite file is waited for
_YEARS_1_TO_9999 = (-719_162, 2_932_896)  # in days since 1970
_HOW = 'write sqlite:///FILE#TABLE or postgresql://HOST/DATABASE#TABLE; after # also "SELECT …" or @FILE.sql'


@dataclass(frozen=True, slots=True)
class Database:
    """Where a table is, and the statement that reads it. Its text and its name hold no user, password or option."""

    address: str = field(repr=False)  # as the driver wants it: a secret
    statement: str = field(repr=False)
    table: str | None  # as the user named it, if it is a table
    shown: str
    file: Path | None = None  # of SQLite
    _read: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """As documents name it: a file without its folders."""
        base = self.shown if self.file is None else f"sqlite:///{self.file.name}"
        return base if self.table is None else f"{base}#{self.table}"

    @property
    def suffix(self) -> str:
        """None: what is read does not depend on an ending."""
        return ""

    def resolve(self) -> Path:
        """The file that must not be written to, if there is one."""
        return Path(self.shown) if self.file is None else self.file.resolve()

    @property
    def sha256(self) -> str:
        """Hash of the columns as they were read last: names, distinct texts, and which of them each row holds."""
        return self._read[-1] if self._read else ""

    def note(self, columns: "dict[str, CodedColumn]") -> None:
        """These were read last."""
        self._read.append(_digest(columns))

    def __str__(self) -> str:
        return self.shown if self.table is None else f"{self.shown}#{self.table}"


def located(text: str | os.PathLike[str], folder: Path = Path()) -> Path | Database:
    """A path, or the table in a database that an address names; SQLite files and @files are relative to `folder`."""
    if isinstance(text, os.PathLike):
        return Path(text)
    scheme = _ADDRESS.match(text)
    if scheme is None:
        return folder / text
    kind = scheme[1].lower()
    address, mark, what = text.partition("#")
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise UsageError(f"{kind}://…: not a kind of database that is read; {_HOW}")
    if not mark or not what.strip():
        raise UsageError(f"{kind}://…: does not say what to read there; {_HOW}")
    statement, table = _statement(what, folder)
    rest = address[scheme.end() :]
    if kind == "sqlite":
        if not rest.startswith("/") or "?" in rest or len(rest) < 2:
            raise UsageError("sqlite://…: write sqlite:///FILE#TABLE, with a fourth / if the path starts with one")
        file = folder / unquote(rest[1:])
        return Database(str(file), statement, table, f"sqlite:///{file}", file)
    return Database(*_postgresql(rest, statement, table))


def _statement(what: str, folder: Path) -> tuple[str, str | None]:
    """The statement to send, and the table's name if that is all that was given."""
    if what.startswith("@"):
        file = folder / what[1:]
        try:
            text = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise UsageError(f"{file}: cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
        except UnicodeDecodeError:
            raise UsageError(f"{file}: is not UTF-8 text; a file after @ holds one SELECT statement") from None
    elif _STATEMENT.match(what):
        text = what
    else:
        name, parts, at = what.strip(), [], 0
        while at <= len(name):
            part = _NAME.match(name, at)
            if part is None or (part.end() < len(name) and name[part.end()] != "."):
                raise UsageError(f'{shown(name)} is not a table; write TABLE, SCHEMA.TABLE or "A.NAME", or SELECT …')
            parts.append(part[1].replace('""', '"') if part[1] is not None else part[2].strip())
            at = part.end() + 1
        quoted = ('"' + part.replace('"', '""') + '"' for part in parts)
        return f"SELECT * FROM {'.'.join(quoted)}", name
    text = text.strip().rstrip(";").rstrip()
    if not text:
        raise UsageError("the statement is empty; write one SELECT statement")
    return text + "\n", None  # a comment may end it


def _postgresql(rest: str, statement: str, table: str | None) -> tuple[str, str, str | None, str]:
    """The address with everything quoted again, so that libpq has nothing to complain about and to quote."""
    rest, _, options = rest.partition("?")
    place, _, database = rest.partition("/")
    who, _, host = place.rpartition("@")
    if "/" in database:
        raise UsageError("postgresql://…: a / in a user or password is written %2F, an @ %40, a # %23, a ? %3F")
    user, _, password = who.partition(":")
    login = quote(unquote(user), safe="") + (f":{quote(unquote(password), safe='')}" if password else "")
    asked = dict(parse_qsl(options, keep_blank_values=True))
    asked.setdefault("connect_timeout", str(_SECONDS))
    if not re.fullmatch(r"[\w.,:%\[\]-]*", host):
        raise UsageError(
            "postgresql://…: its host is not a valid name; write postgresql://USER@HOST:PORT/DATABASE#TABLE"
        )
    base = f"{host}/{quote(unquote(database), safe='')}"
    address = f"postgresql://{login + '@' if login else ''}{base}?{urlencode(asked, quote_via=quote)}"
    return address, statement, table, f"postgresql://{base}"


# ------------------------------------------------------------------------------------------------------------- reading


def read_database(
    database: Database,
    *,
    missing: str = "",
    counted: Collection[str] = (),
    error: type[UnveilError] = TableError,
) -> "Columns":
    """The columns a statement gives; a NULL becomes the text `missing`.

    Batches are coded as they come. Of the columns `counted` only which rows are equal is kept.
    """
    import polars as pl

    from unveil.formats.columns import Coder, Columns, Place

    coder = Coder(counted)
    rows = 0
    try:
        for batch in _sqlite(database) if database.file is not None else _postgresql_batches(database):
            frame = pl.DataFrame({name: texts.fill_null(missing) for name, texts in batch})
            if frame.height:
                coder.add(frame)
                rows += frame.height
    except _Refusal as refusal:
        raise error(f"{database}{refusal}") from None
    if not rows:
        raise error(f"{database}: the statement gives no rows")
    return Columns(coder.coded(), rows, Place(), ".", "database")


class _Refusal(Exception):  # noqa: N818  what is wrong; the caller knows where and raises its own error
    """Starts with a comma and a place, or with a colon."""


Batch = list[tuple[str, "pl.Series"]]  # names and String columns, null where NULL


def _digest(columns: "dict[str, CodedColumn]") -> str:
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name}\0{len(column.texts)}\0".encode())
        for text in column.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(column.text_of_row.astype("<u4").data)
    return digest.hexdigest()


def _check_names(names: list[str]) -> None:
    from unveil.formats.columns import checked_names

    nameless = ("" if name == "?column?" else name for name in names)  # as PostgreSQL calls it
    if fault := checked_names(nameless, "add AS NAME in the statement"):
        raise _Refusal(f": {fault}")


# -------------------------------------------------------------------------------------------------------------- SQLite


def _sqlite(database: Database) -> Iterator[Batch]:
    """Through Python's own module: a column may hold numbers in one row and text in the next."""
    import sqlite3

    assert database.file is not None
    if not database.file.is_file():
        raise _Refusal(": no such file; check the path (sqlite:////FILE if it starts with /)")
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    connection = None
    try:
        connection = sqlite3.connect(f"{database.file.resolve().as_uri()}?mode=ro", uri=True, timeout=_LOCKED)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY)
        cursor = connection.execute(database.statement)
        if cursor.description is None:
            raise _Refusal(": the statement gives no columns; write one SELECT statement")
        names = [column[0] for column in cursor.description]
        _check_names(names)
        while rows := cursor.fetchmany(_BATCH):
            yield [
                (name, _sqlite_texts(name, values)) for name, values in zip(names, zip(*rows, strict=True), strict=True)
            ]
    except UnicodeDecodeError:  # of a name; a text is sqlite3's own error
        raise _Refusal(": a column's name is not UTF-8; is the file whole?") from None
    except sqlite3.Error as fault:
        what = str(fault)
        if "not authorized" in what or "readonly" in what:
            what = "the statement may only read; write one SELECT statement"
        raise _Refusal(f": {shown(what, 200)[1:-1]}") from None
    finally:
        if connection is not None:
            connection.close()


def _sqlite_texts(name: str, values: tuple[Any, ...]) -> "pl.Series":
    import polars as pl

    from unveil.data.hierarchy import number_text

    kinds = set(map(type, values)) - {type(None)}
    if bytes in kinds:
        raise _Refusal(f", {name}: holds binary values; leave it out, or cast it to text in the statement")
    if kinds <= {str}:
        return pl.Series(values, dtype=pl.String)
    if kinds == {int}:
        return pl.Series(values, dtype=pl.Int64).cast(pl.String)
    return pl.Series([_text(v, number_text) for v in values], dtype=pl.String)


def _text(value: Any, number_text: Any) -> str | None:
    if isinstance(value, float):
        return str(number_text(value)) if abs(value) < float("inf") else str(value)
    return None if value is None else str(value)


# ---------------------------------------------------------------------------------------------------------- PostgreSQL


def _postgresql_batches(database: Database) -> Iterator[Batch]:
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql.dbapi as driver
        import pyarrow as pa
    except ImportError:
        raise _Refusal(": PostgreSQL needs more packages; install them with pip install 'unveil[databases]'") from None
    import polars as pl

    try:
        with driver.connect(database.address) as connection, connection.cursor() as cursor:
            # Not by options of the connection, which a pooler may drop. Without synchronised scans a table is read in
            # the same order every time.
            for setting in ("SET TRANSACTION READ ONLY", "SET LOCAL synchronize_seqscans = off"):
                cursor.execute(setting)
            if not _READING.match(database.statement):  # a read-only transaction lets COPY … TO PROGRAM and LOAD pass
                raise _Refusal(": the statement may only read; write one SELECT statement")
            cursor.execute(database.statement)
            reader = cursor.fetch_record_batch()
            if not reader.schema.names:
                raise _Refusal(": the statement gives no columns; write one SELECT statement")
            _check_names(list(reader.schema.names))
            kinds = [_kind(column) for column in reader.schema]
            for batch in reader:
                yield [
                    (name, _texts(name, kind, pl.Series(pl.from_arrow(getattr(column, "storage", column)))))
                    for name, kind, column in zip(reader.schema.names, kinds, batch.columns, strict=True)
                ]
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as fault:
        raise _Refusal(f": {_reason(str(fault), database)}") from None


def _kind(column: Any) -> str:
    """The server's name of a column's type, if texts can be made of it without guessing."""
    import pyarrow.types as types

    kind = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode() or str(column.type)
    stored = getattr(column.type, "storage_type", column.type)
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_date, types.is_timestamp, types.is_string)
    # The driver gives money as cents, and large oids as negative numbers.
    if kind != "uuid" and (kind in ("json", "jsonb", "money", "oid") or not any(is_it(stored) for is_it in plain)):
        raise _Refusal(
            f", {column.name}: a column of type {shown(kind)[1:-1]} cannot be read; leave it out, or cast it to text, "
            "numeric or date in the statement"
        )
    return kind


def _texts(name: str, kind: str, values: "pl.Series") -> "pl.Series":
    """A typed column as the texts a CSV file would hold; nulls stay."""
    import polars as pl

    from unveil.formats.frames import float_texts, whole_days

    if kind == "uuid":
        whole = values.bin.encode("hex")
        ends = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
        texts = pl.select(pl.concat_str([whole.str.slice(*part) for part in ends], separator="-")).to_series()
    elif kind == "bpchar":
        texts = values.str.strip_chars_end(" ")  # char(n) is filled up with blanks
    elif values.dtype.is_float():
        texts = float_texts(values)
    elif values.dtype == pl.Datetime:
        days = whole_days(values)
        if days is None:
            raise _Refusal(f", {name}: holds times of day; cast it to date in the statement, or to text")
        texts = _days(name, days)
    elif values.dtype == pl.Date:
        texts = _days(name, values)
    else:
        texts = values.cast(pl.String)
    return texts


def _days(name: str, days: "pl.Series") -> "pl.Series":
    """Dates as texts; infinity and years beyond four digits are refused."""
    import polars as pl

    if not days.to_physical().is_between(*_YEARS_1_TO_9999).fill_null(True).all():
        raise _Refusal(f", {name}: holds a date outside the years 1 to 9999, such as infinity; cast it to text")
    return days.cast(pl.String)


def _reason(fault: str, database: Database) -> str:
    """The server's own words in one line, without what belongs to nobody else."""
    said = re.search(r"(?:ERROR|FATAL):\s+(.+)", fault) or re.search(r"Failed to connect: (.+)", fault)
    what = said[1] if said else fault.partition("\n")[0]
    if "read-only transaction" in what:
        what = f"the statement may only read: {what}"
    elif "Failed to connect" in fault:
        what = f"cannot connect: {what}; see docs/databases.md"
    place, _, options = database.address.partition("?")
    secrets = {value for key, value in parse_qsl(options) if "password" in key}
    secrets.add(unquote(place.partition("://")[2].rpartition("@")[0].partition(":")[2]))
    if any(secret and secret in what for secret in secrets):
        what = "cannot be read; what the server says holds the password, so it is not shown"
    return shown(what, 200)[1:-1]
