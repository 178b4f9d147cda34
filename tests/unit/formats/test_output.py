"""Files appear whole or not at all; a written table is read back as it was."""

import errno
import os
import pathlib
import stat

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unveil.errors import OutputError, ReleaseError
from unveil.formats import output
from unveil.formats.output import csv_bytes, write_whole
from unveil.formats.text import read_text


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def full(file):
    file.write(b"half")
    file.flush()
    raise OSError(errno.ENOSPC, "No space left on device")


# --------------------------------------------------------------------------------------------- whole or not at all


def test_bytes_and_functions(tmp_path):
    write_whole({tmp_path / "a.csv": b"1", str(tmp_path / "b.csv"): lambda file: file.write(b"2")})
    assert listing(tmp_path) == {"a.csv": b"1", "b.csv": b"2"}


def test_nothing_to_write():
    write_whole({})


def test_earlier_files_are_replaced(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").write_bytes(b"old")
    write_whole({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert listing(tmp_path) == {"a": b"new", "b": b"new"}


@pytest.mark.parametrize(("mode", "mask", "final"), [(0o644, 0o022, 0o644), (0o666, 0o027, 0o640), (0o600, 0, 0o600)])
def test_mode_honours_the_umask_and_is_strict_meanwhile(tmp_path, mode, mask, final):
    seen = []

    def content(file):
        seen.append(os.fstat(file.fileno()).st_mode & 0o777)

    before = os.umask(mask)
    try:
        write_whole({tmp_path / "a": content}, mode=mode)
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert (tmp_path / "a").stat().st_mode & 0o777 == final


def test_links_are_followed(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_whole({tmp_path / "link": b"new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_full_disk(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OutputError, match="b: the disk is full; nothing was written"):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": full})
    assert listing(tmp_path) == {"a": b"old"}


def test_missing_folder(tmp_path):
    with pytest.raises(OutputError, match="no' does not exist; make the folder first"):
        write_whole({tmp_path / "a": b"1", tmp_path / "no" / "b": b"2"})
    assert listing(tmp_path) == {}


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(OutputError, match="f' is not a folder"):
        write_whole({tmp_path / "f" / "a": b"1"})


def test_target_is_a_folder(tmp_path):
    (tmp_path / "d").mkdir()
    for path in (tmp_path / "d", f"{tmp_path}/x/"):
        with pytest.raises(OutputError, match="is a folder; name a file in it"):
            write_whole({tmp_path / "a": b"1", path: b"2"})
    assert listing(tmp_path) == {}


def test_target_is_a_device():
    with pytest.raises(OutputError, match="/dev/null: is a device"):
        write_whole({"/dev/null": b"1"})


def test_write_protected_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(output.os, "access", lambda path, how: False)  # chmod does not stop root
    with pytest.raises(OutputError, match="a: is write-protected"):
        write_whole({tmp_path / "a": b"new"})
    assert listing(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EACCES, "no permission to write in '.*'; name another folder"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EIO, "cannot be written: input/output error"),
    ],
)
def test_no_temporary_file_can_be_made(tmp_path, monkeypatch, code, message):
    def refuse(*given):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(output.os, "open", refuse)
    with pytest.raises(OutputError, match=message) as caught:
        write_whole({tmp_path / "a": b"1"})
    assert "\n" not in str(caught.value)


def test_names_that_are_none(tmp_path):
    with pytest.raises(OutputError, match="name is too long"):
        write_whole({tmp_path / ("x" * 300): b"1"})
    with pytest.raises(OutputError, match="is not a valid file name"):
        write_whole({"a\0b": b"1"})


def test_same_file_twice(tmp_path):
    with pytest.raises(OutputError, match="is to be written twice"):
        write_whole({tmp_path / "a": b"1", f"{tmp_path}/../{tmp_path.name}/a": b"2"})
    assert listing(tmp_path) == {}


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), ReleaseError("no"), ZeroDivisionError()])
def test_other_ends_clean_up_and_pass(tmp_path, reason):
    (tmp_path / "a").write_bytes(b"old")

    def content(file):
        file.write(b"half")
        raise reason

    with pytest.raises(type(reason)):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": content})
    assert listing(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("failing", ["a", "b", "c"])
def test_rename_that_fails_undoes_the_others(tmp_path, monkeypatch, failing, after, links):
    """`after`: an interrupt that falls between the rename and its note."""
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "c").write_bytes(b"old c")
    replace = os.replace

    def fragile(source, target):
        if target == tmp_path / failing and not (tmp_path / "failed").exists():
            (tmp_path / "failed").mkdir()
            if after:
                replace(source, target)
                raise KeyboardInterrupt
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    def no_links(*given):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(output.os, "replace", fragile)
    if not links:
        monkeypatch.setattr(output.os, "link", no_links)
    with pytest.raises(KeyboardInterrupt if after else OutputError):
        write_whole({tmp_path / name: b"new" for name in "abc"})
    everything = {"a": b"new", "b": b"new", "c": b"new"}
    nothing = {"a": b"old a", "c": b"old c"}
    assert listing(tmp_path) == (everything if after and failing == "c" else nothing)


# -------------------------------------------------------------------------------------------------------------- csv


def test_quotes_only_where_needed():
    rows = ["plain", "a b", "a,b", 'say "x"', "l1\nl2", " edge", "edge ", "a;b", "-1.5", "[20,29]", "*", ""]
    written = csv_bytes(["name", "other"], [rows, ["x"] * len(rows)]).decode()
    assert written == (
        'name,other\nplain,x\na b,x\n"a,b",x\n"say ""x""",x\n"l1\nl2",x\n" edge",x\n"edge ",x\n"a;b",x\n-1.5,x\n'
        '"[20,29]",x\n*,x\n,x\n'
    )


def test_lone_empty_field_is_quoted():
    assert csv_bytes(["a"], [["", "x"]]) == b'a\n""\nx\n'


def test_no_rows():
    assert csv_bytes(["a", "b"], [[], []]) == b"a,b\n"


def test_from_a_frame():
    frame = pl.DataFrame({"x": ["1", "2,3"], "y": ["", "é"]})
    assert csv_bytes(frame.columns, frame) == 'x,y\n1,\n"2,3",é\n'.encode()


@pytest.mark.parametrize(
    ("header", "columns", "message"),
    [
        (["a"], [["1"], ["2"]], "1 names for 2 columns"),
        (["a", "b"], [["1"], ["2", "3"]], "different length"),
        (["a"], [["1", None]], "a missing text"),
    ],
)
def test_misuse(header, columns, message):
    with pytest.raises(ValueError, match=message):
        csv_bytes(header, columns)


HOSTILE = st.text(
    st.one_of(
        st.sampled_from(list(",;\t|\"'\r\n =+-@\ufeff\u200f\u202e\u2028\x0b\x1a#\\é€19.")),
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    ),
    max_size=8,
)


@st.composite
def tables(draw):
    width = draw(st.integers(1, 4))
    names = HOSTILE.map(str.strip).filter(bool)
    header = draw(st.lists(names, min_size=width, max_size=width, unique=True))
    return header, draw(st.lists(st.lists(HOSTILE, min_size=width, max_size=width), min_size=1, max_size=6))


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_round_trip_is_the_identity(tmp_path, table):
    header, rows = table
    path = tmp_path / "t.csv"
    write_whole({path: csv_bytes(header, list(zip(*rows, strict=True)))})
    back = read_text(path)
    assert list(back.columns) == header
    columns = [[column.texts[i] for i in column.text_of_row.tolist()] for column in back.columns.values()]
    assert [list(row) for row in zip(*columns, strict=True)] == rows


def test_a_private_file_is_readable_by_its_owner_alone(tmp_path: pathlib.Path) -> None:
    open_file, secret = tmp_path / "open.csv", tmp_path / "secret.csv"
    write_whole({open_file: b"a", secret: b"b"}, private=[secret])
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(open_file.stat().st_mode) & 0o044 == 0o044 & ~_process_umask()


def _process_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
