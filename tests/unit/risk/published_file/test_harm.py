"""What classes tell, against counting by hand in plain Python."""

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import across_releases, harmful_classes, likely_members, read_published_file

Rows = list[tuple[str, str]]

SCHEMA = """version = 1
confirmed = true
[attributes.place]
role = "quasi-identifier"
[attributes.ill]
role = "sensitive"
"""


def _file(folder: Path, rows: Rows, *, schema: str = SCHEMA, original: Rows | None = None, name: str = "release"):
    (folder / "schema.toml").write_text(schema)
    for file, lines in ((name, rows), ("original", original or rows)):
        (folder / f"{file}.csv").write_text("place|ill\n" + "".join(f"{a}|{b}\n" for a, b in lines))
    read = read_schema(folder / "schema.toml")
    return read_published_file(folder / f"{name}.csv", read, original=read_columns(folder / "original.csv"))


@pytest.mark.parametrize("seed", range(5))
def test_harmed_people_are_those_of_plain_counting(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rows = [(f"p{draw.randrange(25)}", draw.choice("aaabbcdefg")) for _ in range(300)]
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    for place, ill in rows:
        classes[place][ill] += 1
    usual = Counter(ill for _, ill in rows)
    harmed = 0
    for counts in classes.values():
        for ill, number in counts.items():
            belief, before = number / counts.total(), usual[ill] / 300
            if (belief >= 0.5 and belief - before >= 0.3) or (belief - before >= 0.2 and belief >= 5 * before):
                harmed += counts.total()
                break
    found = harmful_classes(_file(tmp_path, rows))
    assert sum(leak.people or 0 for leak in found) == harmed


def test_equal_classes_tell_nothing(tmp_path: Path) -> None:
    assert harmful_classes(_file(tmp_path, [(p, i) for p in "xyz" for i in "abcdefgh" for _ in range(5)])) == []


def test_harmless_values_harm_nobody(tmp_path: Path) -> None:
    rows = [("x", "flu")] * 20 + [("y", i) for i in "abcde" for _ in range(10)]
    assert harmful_classes(_file(tmp_path, rows))[0].people == 20
    schema = SCHEMA + 'harmless = ["flu"]\n'
    assert harmful_classes(_file(tmp_path, rows, schema=schema)) == []


def test_codes_of_one_chapter_are_alike(tmp_path: Path) -> None:
    letters = {"x": "F", "y": "CEIJKMN"}
    rows = [(p, f"{letters[p][j % len(letters[p])]}{10 + j}") for p in "xy" for j in range(42)]
    (leak,) = harmful_classes(_file(tmp_path, rows))
    assert (leak.people, leak.kind) == (42, "inference")
    assert "kind of ill" in leak.sentence


def test_close_numbers(tmp_path: Path) -> None:
    rows = [("x", str(500 + j)) for j in range(40)] + [("y", str(25 * j)) for j in range(40)]
    (leak,) = harmful_classes(_file(tmp_path, rows, schema=SCHEMA + 'kind = "numeric"\n'))
    assert leak.people == 40
    assert "to within a fifth of the range" in leak.sentence


def test_one_value_for_everybody_is_membership(tmp_path: Path) -> None:
    (leak,) = harmful_classes(_file(tmp_path, [("x", "hiv")] * 30))
    assert (leak.kind, leak.people) == ("membership", 30)


def test_hidden_links_are_averaged_over_groups(tmp_path: Path) -> None:
    """`x` stands in both groups, `y` in the second only: its beliefs are those of the second group."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    groups = [("1", "x", "a")] * 10 + [("2", "y", "b")] * 5 + [("2", "y", "c")] * 1 + [("2", "x", "b")] * 4
    text = "group|place|ill\n" + "".join("|".join(g) + "\n" for g in groups)
    (tmp_path / "release.csv").write_text(text)
    (tmp_path / "release.toml").write_text('group = "group"\nblocks = [["place"], ["ill"]]\n')
    (leak,) = harmful_classes(read_published_file(tmp_path / "release.csv", read_schema(tmp_path / "schema.toml")))
    # y: b at 9/10 where 45% have it; x: a at 10/14 where half have it.
    assert leak.people == 6
    assert leak.strength == pytest.approx(0.9)


def test_members_are_likely_where_few_others_fit(tmp_path: Path) -> None:
    rows = [("x", "a")] * 8 + [("y", "b")] * 6
    register = [("x", "a")] * 10 + [("y", "b")] * 60
    (leak,) = likely_members(_file(tmp_path, rows, original=register))
    assert leak.people == 8
    assert leak.strength == pytest.approx(0.8)


def test_two_releases_that_differ_by_a_row(tmp_path: Path) -> None:
    rows = [(p, i) for p in "xy" for i in "abcdefgh" for _ in range(5)]
    one, other = _file(tmp_path, rows), _file(tmp_path, rows[:-1], original=rows, name="second")
    (leak,) = across_releases([one, other])
    assert (leak.kind, leak.people) == ("composition", 1)
    assert across_releases([one, one]) == []
