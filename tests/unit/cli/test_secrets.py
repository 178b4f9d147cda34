"""What is handed on tells nothing that lets a reader test guesses about the original, or replay what was drawn."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_audit_cli import ROWS, WIDE, audit, folder, table  # noqa: F401  the fixture
from test_cli import run
from test_frontier import TABLE

from unveil.engine import Engine
from unveil.frontier import run_frontier

MASKED = [(str(int(age) // 2 * 2), *rest) for age, *rest in ROWS]


def oracles(*files: Path) -> list[str]:
    """Every spelling of a hash of the files, and their names."""
    found = []
    for file in files:
        found += [file.name, file.stem]
        for name in sorted(hashlib.algorithms_guaranteed - {"shake_128", "shake_256"}):
            digest = hashlib.new(name, file.read_bytes(), usedforsecurity=False).digest()
            found += [digest.hex()[:12], base64.b64encode(digest)[:12].decode(), str(int.from_bytes(digest))[:12]]
            found += [base64.urlsafe_b64encode(digest)[:12].decode(), base64.b32encode(digest)[:12].decode()]
    return [text.lower() for text in found]


@pytest.fixture
def secret(folder: Path) -> Path:  # noqa: F811
    """The original, a control and a population whose names nobody may learn, in a folder that nobody may learn."""
    inside = folder / "wardzeppelin"
    inside.mkdir()
    (folder / "data.csv").rename(inside / "quetzal.csv")
    (inside / "okapi.csv").write_text(table([("21", "f", "flu", "x"), ("29", "m", "none", "y")]))
    (inside / "numbat.csv").write_text("age,sex\n" + "".join(f"{row[0]},{row[1]}\n" for row in ROWS * 3))
    (folder / "schema.toml").rename(inside / "ibisschema.toml")
    return inside


def command(folder: Path, secret: Path, *rest: Any) -> tuple[Any, ...]:  # noqa: F811
    few = ("--sweeps", "50", "--most-sweeps", "50", "--workers", "1")
    around = ("--control", secret / "okapi.csv", "--population", secret / "numbat.csv")
    return ("audit", folder / "wide.csv", "-s", secret / "ibisschema.toml", "--original", secret / "quetzal.csv",
            *around, *few, *rest)  # fmt: skip


@pytest.mark.parametrize("published", [WIDE, ROWS[::-1], MASKED], ids=["kept", "exceeded", "masked"])
def test_an_external_document_is_no_oracle(
    published: list[tuple[str, ...]],
    folder: Path,  # noqa: F811
    secret: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "wide.csv").write_text(table(published))  # what is exceeded comes with a command that would help
    if published is MASKED:
        (folder / "wide.toml").write_text('masked = ["age"]\n')
    files = ("--json", folder / "a.json", "--report", folder / "r.html", "--people", folder / "p.csv", "--verbose")
    code, out, _ = run(*command(folder, secret, *files, "--variant", "external"), capsys=capsys)
    assert code in (0, 1, 3)
    hidden = [*oracles(*secret.iterdir()), secret.name]
    people = [path.read_text() for path in folder.glob("p*.csv")]
    assert people
    for text in (out, (folder / "a.json").read_text(), (folder / "r.html").read_text(), *people):
        shown = text.replace(str(folder / "wide.csv"), "").lower()
        assert not [one for one in hidden if one in shown]
    # What is published may be named: a reader can tell which file was audited.
    only, *_ = json.loads((folder / "a.json").read_text())["inputs"]
    assert only == {"name": "wide.csv", "sha256": hashlib.sha256((folder / "wide.csv").read_bytes()).hexdigest()}


def test_the_check_finds_an_oracle(
    folder: Path,  # noqa: F811
    secret: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same files in an internal document, which names what was read."""
    assert run(*command(folder, secret, "--json", folder / "a.json"), capsys=capsys)[0] in (0, 1, 3)
    text = (folder / "a.json").read_text().lower()
    assert {"quetzal.csv", hashlib.sha256((secret / "quetzal.csv").read_bytes()).hexdigest()[:12]} <= {
        one for one in oracles(*secret.iterdir()) if one in text
    }


def test_releases_of_one_name_are_told_apart_by_as_little_as_needed(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "wide.csv").write_text(table(WIDE))
    code, out, _ = run(*audit(folder, "--json", "-", "--asked", "job", releases=("one/wide.csv", "two/wide.csv")),
                       capsys=capsys)  # fmt: skip
    assert code in (0, 3)
    assert json.loads(out)["settings"]["releases"] == ["one/wide.csv", "two/wide.csv"]
    assert str(folder) not in out


ROOT = Path(__file__).parents[3]
GUESSABLE = re.compile(
    r"anonymize\(\w+, (?:unveil\.)?Engine\(seed=\d|unveil anonymize[^\n]*--seed \d|--release-seed \d"
)


def test_no_page_and_no_example_shows_a_seed_for_a_release() -> None:
    """Who copies it publishes a release whose draws can be replayed."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    assert len(pages) > 30
    for page in pages:
        if page.suffix in (".md", ".py", ".toml", ".ipynb"):
            assert not GUESSABLE.search(page.read_text()), page
    assert GUESSABLE.search("m.anonymize(table, unveil.Engine(seed=1))")


@pytest.mark.parametrize("seed", [5, 2**127 + 11])
def test_the_document_of_a_frontier_never_names_the_seed_of_a_release(seed: int) -> None:
    """Not even where it was also given as the seed of the measurements."""
    table = TABLE
    found = run_frontier(
        table, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=Engine(seed=seed, workers=1), release_seed=seed
    )
    assert found.document.settings["seed"] is None
    assert str(2**127 + 11) not in found.document.model_dump_json()
    other = run_frontier(
        table, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=Engine(seed=3, workers=1), release_seed=seed
    )
    assert other.document.settings["seed"] == 3
    assert str(2**127 + 11) not in other.document.model_dump_json()
    assert str(2**127 + 11) not in repr(other)
