"""unveil list: every member of every family, by the families themselves."""

import sys

import pytest

from unveil import catalog, cli
from unveil.audit import read_presets
from unveil.audit.measures import measures
from unveil.cli.list import LISTS
from unveil.formats.tables import READERS


def run(*args: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    argv, sys.argv = sys.argv, ["unveil", "list", *args]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    return int(str(stopped.value.code or 0)), *capsys.readouterr()


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("anonymizers", catalog.members("anonymizers")),
        ("models", catalog.members("privacy_models")),
        ("attackers", catalog.members("attackers")),
        ("measures", tuple(measures())),
        ("presets", tuple(read_presets())),
        ("formats", (".csv", ".deid", *READERS)),
    ],
)
def test_every_member_has_a_line(family: str, names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(family, capsys=capsys)
    assert code == 0
    first = [line.split()[0] for line in out.splitlines() if line[:1].strip()]
    assert set(names) <= set(first)


def test_an_unknown_family_names_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("schemes", capsys=capsys)
    assert code == 2
    assert all(name in err for name in LISTS)
    assert run(capsys=capsys)[0] == 2
