"""The files of a release belong together: written and replaced as one, and refused when one of them was exchanged."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small import QI, SENSITIVE, made_release, made_schema, masked_release
from tests.thorough import THOROUGH
from unveil.data.release import Release
from unveil.errors import OutputError, ReleaseError
from unveil.formats import output
from unveil.formats.output import Content, content_bytes, write_whole
from unveil.formats.output.sets import PATIENCE, alone_in, settle
from unveil.formats.releases import read_release, release_files, write_release

SCHEMA = made_schema(
    {
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)
ATTRIBUTES = tuple(SCHEMA.attribute(name) for name in SCHEMA.names)
# Anatomy: who has which disease is hidden in each group; the second release says the opposite of the first.
ANATOMY = made_release(
    ATTRIBUTES, [((0,), [(0, "f"), (0, "m"), (1, "m")]), ((1,), [(0, "flu"), (0, "hiv"), (1, "none")])]
)
OTHER = made_release(
    ATTRIBUTES, [((0,), [(0, "f"), (0, "m"), (1, "m")]), ((1,), [(0, "none"), (0, "none"), (1, "hiv")])]
)
PLAIN = made_release(ATTRIBUTES, [((0, 1), [(0, "f", "flu"), (1, "m", "hiv")])])
MASKED = masked_release(ATTRIBUTES, (np.array([0, 1]), np.array([1, 2])), (0,), {}, "")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
@pytest.mark.parametrize("part", ["release", "release-sensitive"])
def test_an_exchanged_part_is_refused(tmp_path: Path, part: str, ending: str) -> None:
    """Both tables fit by their groups and counts, so that nothing but the digest tells."""
    for folder, release in (("one", ANATOMY), ("two", OTHER)):
        (tmp_path / folder).mkdir()
        write_release(release, tmp_path / folder / f"release{ending}")
    one, two = (tmp_path / folder / f"{part}{ending}" for folder in ("one", "two"))
    path = tmp_path / "one" / f"release{ending}"
    assert read_release(path, SCHEMA).groups == 2
    one.write_bytes(two.read_bytes() + (b"" if part == "release-sensitive" else b"\n"))
    with pytest.raises(ReleaseError, match=rf"{part}\{ending}: is not the file that release.toml was written with; "):
        read_release(path, SCHEMA)


def test_a_release_may_be_renamed_whole(tmp_path: Path) -> None:
    write_release(PLAIN, tmp_path / "plain.csv")
    write_release(MASKED, tmp_path / "r.csv")
    for ending in (".csv", ".toml"):
        (tmp_path / f"r{ending}").rename(tmp_path / f"public{ending}")
    assert read_release(tmp_path / "public.csv", SCHEMA).rows == 2
    text = (tmp_path / "public.csv").read_text()
    (tmp_path / "public.csv").write_text(text.replace("f,", "m,"))
    with pytest.raises(ReleaseError, match=r"public\.csv: is not the file that public.toml was written with"):
        read_release(tmp_path / "public.csv", SCHEMA)


def test_what_the_earlier_release_leaves_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    write_release(ANATOMY, path)
    assert names(tmp_path) == ["r-sensitive.csv", "r.csv", "r.toml"]
    write_release(MASKED, path)
    assert names(tmp_path) == ["r.csv", "r.toml"]
    write_release(OTHER, path)
    assert names(tmp_path) == ["r-sensitive.csv", "r.csv", "r.toml"]
    assert write_release(PLAIN, path) == [path]
    assert names(tmp_path) == ["r.csv"]
    assert read_release(path, SCHEMA).groups == 2


def killed(work: Callable[[], object], moment: int) -> bool:
    """Whether the work, in a process of its own, was killed as it changed files for the n-th time."""
    child = os.fork()
    if child == 0:
        count = 0

        def strike(event: str, given: tuple[Any, ...]) -> None:
            nonlocal count
            if event in ("os.rename", "os.link", "os.remove") or (event == "open" and given[2] & os.O_WRONLY):
                count += 1
                if count == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(strike)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def of_release(release: Release) -> dict[Path, Content]:
    """Its files, by name: made once, for what makes them has threads."""
    return {path: content and content_bytes(content) for path, content in release_files(release, "r.csv").items()}


@pytest.mark.parametrize(
    ("earlier", "later"), [(ANATOMY, OTHER), (ANATOMY, PLAIN), (MASKED, ANATOMY), (ANATOMY, MASKED), (None, ANATOMY)]
)
def test_a_run_that_is_killed_at_any_moment_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: Release | None, later: Release
) -> None:
    """By whoever writes there next, and if that one is killed as it does, by the one after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "JUST_NOW", 0.0)
    if earlier is not None:
        write_release(earlier, "r.csv")
    before = contents(tmp_path)
    new = of_release(later)
    after = {str(path): content for path, content in new.items() if content is not None}
    half, moment, again = 0, 1, 1
    twice = later is OTHER or THOROUGH
    while killed(partial(write_whole, new), moment):
        left = contents(tmp_path)
        half += not (before.items() <= left.items() or after.items() <= left.items())
        if twice and killed(partial(settle, tmp_path), again):
            again += 1  # and once more from here
        else:
            moment, again = moment + 1, 1
        if again == 1 and moment % 2:
            write_release(later, "r.csv")  # it is not refused
            assert contents(tmp_path) == after
        else:
            write_whole({"r.txt": b""})
            (tmp_path / "r.txt").unlink()
            assert contents(tmp_path) in (before, after)
        for path in tmp_path.iterdir():
            path.unlink()
        for name, content in before.items():
            (tmp_path / name).write_bytes(content)
    assert moment > 10
    assert half or earlier is None
    assert contents(tmp_path) == after


def test_what_somebody_has_changed_since_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "JUST_NOW", 0.0)
    write_release(ANATOMY, "r.csv")
    before, moment = contents(tmp_path), 1
    while killed(partial(write_whole, of_release(OTHER)), moment) and contents(tmp_path).items() >= before.items():
        moment += 1
    Path("r.csv").write_text("mine\n")
    left = {name: content for name, content in contents(tmp_path).items() if not name.startswith(".")}
    settle(tmp_path)
    assert contents(tmp_path) == left


def test_a_note_of_somebody_elses_making_leads_nowhere(tmp_path: Path) -> None:
    """As in a folder that was unpacked from an archive."""
    mine = tmp_path / "mine.csv"
    mine.write_text("mine\n")
    (folder := tmp_path / "folder").mkdir()
    for names_ in (["../mine.csv", None, "a"], ["a", "../mine.csv", "b"], ["a", "b", "../mine.csv"], ["a", 1, "b"]):
        entries = [dict(zip(("name", "draft", "aside"), names_, strict=True), new=None, old=None)]
        for text in (json.dumps(entries), json.dumps(entries)[:-1], "[1]", "{}", "\0"):
            (folder / ".unveil-0.set.tmp").write_text(text)
            settle(folder)
            assert mine.read_text() == "mine\n"


def test_sets_are_put_in_place_one_after_the_other(tmp_path: Path) -> None:
    """Two runs on one output: what stands at the end is the work of one of them."""
    for other in (tmp_path / "a", tmp_path / "b"):
        with alone_in([tmp_path]):
            child = os.fork()
            if child == 0:
                try:
                    write_whole({other: b"1", tmp_path / "c": b"2"})
                finally:
                    os._exit(0)
            until = time.monotonic() + 20
            while not list(tmp_path.glob(".unveil-*")) and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.05)
            assert not other.exists()
        assert os.waitpid(child, 0)[1] == 0
        assert other.exists()


@pytest.mark.parametrize("release", [ANATOMY, PLAIN], ids=["written over", "left behind"])
def test_a_table_that_is_nobodys_part_is_neither_removed_nor_written_over(tmp_path: Path, release: object) -> None:
    (tmp_path / "r-sensitive.csv").write_text("mine\n")
    with pytest.raises(ReleaseError, match=r"r-sensitive\.csv: is in the way"):
        write_release(release, tmp_path / "r.csv")  # type: ignore[arg-type]
    write_release(ANATOMY, tmp_path / "s.csv")
    (tmp_path / "s-sensitive.csv").write_text("mine\n")  # exchanged: no longer the part that the sidecar knows
    with pytest.raises(ReleaseError, match=r"s-sensitive\.csv: is in the way|s.toml: the sidecar"):
        write_release(release, tmp_path / "s.csv")  # type: ignore[arg-type]
    assert (tmp_path / "r-sensitive.csv").read_text() == (tmp_path / "s-sensitive.csv").read_text() == "mine\n"


@pytest.mark.parametrize("place", ["/etc/hostname", "../other.csv", "..", "folder/t.csv", "a\0b"])
def test_the_second_table_stands_beside_the_first(tmp_path: Path, place: str) -> None:
    write_release(ANATOMY, tmp_path / "r.csv")
    text = (tmp_path / "r.toml").read_text()
    text = text[: text.index("[digests]")].replace("r-sensitive.csv", place.replace("\0", "\\u0000"))
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(
        ReleaseError, match=r"r\.toml, sensitive_table: .* is not the name of a file beside the release"
    ):
        read_release(tmp_path / "r.csv", SCHEMA)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_all_or_nothing_where_one_file_goes(tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails at any rename leaves the earlier release as it was."""
    old = {tmp_path / name: name.encode() for name in ("a", "b", "c")}
    write_whole(old)
    renames = 0

    def replace(source: str, target: str) -> None:
        nonlocal renames
        renames += 1
        if renames == failing + 1:
            raise OSError(5, "no luck")
        real(source, target)

    real = os.replace
    with monkeypatch.context() as patched:
        patched.setattr("unveil.formats.output.os.replace", replace)
        with pytest.raises(OutputError, match="no luck"):
            write_whole({tmp_path / "a": None, tmp_path / "b": b"new", tmp_path / "c": None})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old
    assert write_whole({tmp_path / "a": None, tmp_path / "b": b"new", tmp_path / "x": None}) == [tmp_path / "b"]
    assert names(tmp_path) == ["b", "c"]


def test_who_is_alone_in_a_folder_does_not_wait_for_itself(tmp_path: Path) -> None:
    """As the ledger, whose own writes would wait for it."""
    began = time.monotonic()
    with alone_in([tmp_path]):
        write_whole({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert time.monotonic() - began < PATIENCE / 2
