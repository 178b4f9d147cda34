"""Every notebook runs from top to bottom as it stands, on a small made-up hospital, and shows what it promises."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from hospitals import write_hospital
from unveil.data.display import Display

EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE = {"steward": 40, "privacy-engineer": 80, "researcher": 40}


def cells(name: str) -> list[str]:
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"])
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(name: str) -> tuple[dict[str, Any], list[object]]:
    """The names that are left, and the last value of each cell, which a notebook shows."""
    names: dict[str, Any] = {}
    shown = []
    for source in cells(name):
        tree = ast.parse(source)
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        shown.append(None if last is None else eval(compile(last, name, "eval"), names))
        assert len(repr(shown[-1])) < 3000
    return names, shown


def test_every_notebook_is_known_and_named_in_the_readme() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(PEOPLE)
    assert all(f"]({name}.ipynb)" in (EXAMPLES / "README.md").read_text() for name in PEOPLE)


@pytest.mark.parametrize("name", PEOPLE)
def test_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_hospital(tmp_path, PEOPLE[name])
    monkeypatch.chdir(tmp_path)
    names, shown = run(name)
    if name == "steward":
        assert isinstance(shown[0], Display)
        assert "mondrian.csv" in capsys.readouterr().out
        assert (tmp_path / "report.html").is_file()
        assert (tmp_path / "publish.csv").is_file() == bool(shown[-1])
    if name == "privacy-engineer":
        linked = names["linked"]
        assert linked["noise:amount=0.05"] > linked["noise:amount=0.8"] > 0
        assert linked["microaggregation:k=3"] > linked["microaggregation:k=10"]
        assert [row["l"] for row in names["rows"]] == sorted(row["l"] for row in names["rows"])
    if name == "researcher":
        assert set(names["beliefs"]) == {"learner", "bayesian"}
        assert "bits on average" in capsys.readouterr().out
        assert len(shown[-1]) == 2  # type: ignore[arg-type]
