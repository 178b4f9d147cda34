"""What an audit refuses, with one line and exit code 2; and how a narrower question shows in the verdict."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_cli import run

ILLS = ("flu", "hiv", "cold", "none")
SCHEMA = """version = 1
confirmed = true
[attributes.name]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 59 }
[attributes.ill]
role = "sensitive"
domain = ["flu", "hiv", "cold", "none"]
[attributes.vote]
role = "sensitive"
domain = ["red", "blue"]
"""


def csv(head: str, rows: Sequence[Sequence[object]]) -> str:
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = random.Random(3)
    people = [(f"p{i}", 20 + i % 40, ILLS[i // 40 % 4], ("red", "blue")[i // 160 % 2]) for i in range(320)]
    rows = [(f"{a // 20 * 20}-{a // 20 * 20 + 19}", ill, vote) for _, a, ill, vote in people]
    draw.shuffle(rows)
    (tmp_path / "original.csv").write_text(csv("name,age,ill,vote", people))
    (tmp_path / "release.csv").write_text(csv("age,ill,vote", rows))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def audit(folder: Path, *more: str) -> tuple[str | Path, ...]:
    return ("audit", folder / "release.csv", "-s", folder / "schema.toml", "--original", folder / "original.csv", *more)


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code, _, err = run(*audit(folder), capsys=capsys)
    assert code == 2
    assert err.count("\n") == 1
    return err


def test_a_safe_release_is_within(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(*audit(folder), capsys=capsys)
    assert code == 0
    assert "Not considered: membership, earlier releases, a population register." in out


def test_a_column_that_the_schema_does_not_know(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, word in (("release.csv", "remove it, add"), ("original.csv", "add [attributes.NAME] with its role")):
        kept = (folder / name).read_text()
        lines = kept.splitlines()
        (folder / name).write_text("\n".join([f"{lines[0]},ward", *(f"{line},a" for line in lines[1:])]) + "\n")
        said = refused(folder, capsys)
        assert "does not name the column 'ward'" in said
        assert word in said
        (folder / name).write_text(kept)


def test_roles_that_nobody_confirmed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for draft in ("confirmed = false\n", ""):
        (folder / "schema.toml").write_text(SCHEMA.replace("confirmed = true\n", draft))
        assert "set confirmed = true" in refused(folder, capsys)


def test_roles_that_contradict_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for top, said in (
        ('weight = "age"\n', "has no role then"),
        ('joined = [["name", "age"]]\n', "'name' is an identifier, which no model ever sees"),
    ):
        (folder / "schema.toml").write_text(SCHEMA.replace("confirmed = true\n", f"confirmed = true\n{top}"))
        assert said in refused(folder, capsys)
    (folder / "schema.toml").write_text(SCHEMA.replace('"sensitive"\ndomain = ["flu"', '"identifier"\ndomain = ["flu"'))
    assert "identifiers are never released" in refused(folder, capsys)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--asked", "ill"), "It was not asked about."),
        (("--known", "age"), "Within, but only for a reader who knows no more than age."),
        (("--attacker", "bayesian"), "Within, but only against bayesian."),
        (("--attacker", "bayesian:membership=0.5", "--attacker", "random_worlds"), "Within, but only against"),
        (("--sample", "20"), "! Only a s"),
        (("--background", "no"), "readers with background knowledge were not asked"),
    ],
)
def test_a_narrower_question_is_no_pass(
    folder: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    code, out, _ = run(*audit(folder, *more), capsys=capsys)
    assert code == 3
    assert said in " ".join(out.split())


def test_a_raw_table_called_masked_never_passes_beside_a_safe_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line.partition(",")[2] for line in (folder / "original.csv").read_text().splitlines()]
    (folder / "raw.csv").write_text("\n".join(lines) + "\n")
    (folder / "raw.toml").write_text('masked = ["age"]\n')
    command = list(audit(folder, "--preset", "k_5"))
    command.insert(2, folder / "raw.csv")
    code, out, _ = run(*command, capsys=capsys)
    assert code in (1, 3)
    assert "raw.csv: A LIMIT IS EXCEEDED" in out or "raw.csv: INCONCLUSIVE" in out
    waived = [w for kind in ("file", "linking", "inference", "background") for w in ("--waive", f"{kind}='why'")]
    code, out, _ = run(*command, *waived, capsys=capsys)
    assert code == 3
    assert "k_anonymity >= 5 was not judged" in " ".join(out.split())
