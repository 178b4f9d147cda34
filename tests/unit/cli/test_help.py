"""What a person sees first: short help, the same option everywhere, every member with its line."""

from collections import defaultdict
from importlib.metadata import EntryPoint
from typing import Any

import pytest
import typer.main
from test_cli import run

from unveil import catalog, cli
from unveil.privacy.models import MODELS

VERBS = ["schema", "hierarchy", "anonymize", "check", "audit", "ledger", "attack", "frontier", "studio"]
VERBS += ["list", "doctor", "demo"]
KINDS = ["attribute", "identity", "membership", "background", "disclosure", "differential"]


def commands(command: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command that does something, by its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return {path: command}
    return {k: v for name, one in inner.items() for k, v in commands(one, (*path, name)).items()}


def panels(text: str) -> dict[str, list[str]]:
    """The options of a help page by their panel."""
    found: dict[str, list[str]] = {}
    panel = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            panel = line[:-1]
        elif line.startswith("  -"):
            found.setdefault(panel, []).append(line.split()[0] if "--" in line.split()[0] else line.split()[1])
    return found


def test_the_first_help_fits_a_screen_and_says_where_to_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = run("--help", capsys=capsys)
    lines = out.rstrip().splitlines()
    assert code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert "..." not in out.replace("[ARGS]...", "")  # no sentence is cut
    first, second, third = (out.index(f"  unveil {verb} ") for verb in ("schema", "anonymize", "audit"))
    assert first < second < third
    shown = out[out.index("Commands:") : out.index("Start here")].split("\n")[1:]
    assert [line.split()[0] for line in shown if line] == VERBS
    assert [
        line.split()[0]
        for line in run("attack", "--help", capsys=capsys)[1].partition("Commands:\n")[2].splitlines()
        if line
    ] == KINDS


def test_at_most_fifteen_options_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.main.get_command(cli.app)
    for path, command in commands(app).items():
        shown = panels(run(*path, "--help", capsys=capsys)[1])
        assert len([o for o in shown["Options"] if o != "--help"]) <= 15, path
        declared = sum(1 for p in command.params if p.param_type_name == "option")
        assert sum(map(len, shown.values())) == declared + 1, path
    assert "--precision" in panels(run("audit", "--help", capsys=capsys)[1])["More options"]


def test_an_option_is_the_same_everywhere() -> None:
    own = {
        "--model",
        "--distance",
        "--output",
        "-o",
        "--with",
        "--data",
        "--delimiter",
        "--first",
    }  # each command's own words
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path, command in commands(typer.main.get_command(cli.app)).items():
        for option in command.params:
            if option.param_type_name == "option" and path[0] != "hierarchy":
                if path[0] == "anonymize" and option.name == "assignment":
                    continue  # there it is written
                kind = (str(option.metavar), f"{option.multiple} {option.is_flag}")
                for name in option.opts:
                    seen[name].add(kind)
    assert len(seen) > 80
    assert {name: kinds for name, kinds in seen.items() if len(kinds) > 1 and name not in own} == {}


def test_schemes_and_requirements_are_listed_with_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = catalog.entry_points

    def more(*, group: str) -> Any:
        added = EntryPoint("shuffle", "unveil.anonymizers.mondrian:Mondrian", "unveil.anonymizers")
        broken = EntryPoint("lost", "no_such_package:Lost", "unveil.anonymizers")
        return [*real(group=group), *([added, broken] if group == "unveil.anonymizers" else [])]

    monkeypatch.setattr(catalog, "entry_points", more)
    code, out, _ = run("anonymize", "--help", capsys=capsys)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ") and line.split()}
    for name in (*catalog.members("anonymizers"), *MODELS):
        assert len(lines[name].split()) > 3, name
    assert "Multidimensional" in lines["shuffle"]
    assert "cannot be loaded" in " ".join(out.split())
    out = run("attack", "attribute", "--help", capsys=capsys)[1]
    assert all(f"\n  {name} " in out for name in catalog.members("attackers"))
