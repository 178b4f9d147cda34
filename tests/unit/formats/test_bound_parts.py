"""The files of a release belong together: written and replaced as one, and refused when one of them was exchanged."""

import os
from pathlib import Path

import numpy as np
import pytest

from small import QI, SENSITIVE, made_release, made_schema, masked_release
from unveil.errors import OutputError, ReleaseError
from unveil.formats.output import write_whole
from unveil.formats.releases import read_release, write_release

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


@pytest.mark.parametrize("stopped", ["the second table", "and the sidecar", "none, the sidecar kept"])
def test_a_run_that_was_killed_while_placing_its_files_is_followed_by_another(tmp_path: Path, stopped: str) -> None:
    """What the killed run left beside them says that second table and sidecar were parts of the release."""
    path, files = tmp_path / "r.csv", ["r-sensitive.csv", "r.csv", "r.toml"]
    write_release(ANATOMY, path)
    earlier = {n: (tmp_path / n).read_bytes() for n in files}
    write_release(OTHER, path)
    assert earlier["r-sensitive.csv"] != (tmp_path / "r-sensitive.csv").read_bytes()
    if stopped.startswith("none"):
        (tmp_path / "r.toml").rename(tmp_path / ".unveil-0.tmp")
    else:
        placed = ["r-sensitive.csv", "r.toml"][: 1 + stopped.startswith("and")]
        for number, name in enumerate(files):
            (tmp_path / f".unveil-{number}.tmp").write_bytes(earlier[name])  # kept
            if name not in placed:
                (tmp_path / name).write_bytes(earlier[name])
    for old in tmp_path.glob(".unveil-*"):
        os.utime(old, (0, 0))
    write_release(PLAIN if stopped.startswith("none") else ANATOMY, path)
    assert [n for n in names(tmp_path) if not n.startswith(".")] == (["r.csv"] if stopped.startswith("none") else files)
    assert read_release(path, SCHEMA) == (PLAIN if stopped.startswith("none") else ANATOMY)


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
