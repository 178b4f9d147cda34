"""The how-to pages: every command on them runs as it is written."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from arx_projects import OUTPUT, made_project
from unveil import cli

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = """version = 1
confirmed = true
missing = ["NA"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
missing = "category"
[attributes.sex]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
"""
ROWS = [(21 + i % 9, "fm"[i % 2], ("flu", "hiv", "none")[i % 3]) for i in range(24)]


def commands(page: str) -> list[list[str]]:
    found = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return [shlex.split(line, comments=True) for block in found for line in block.splitlines() if line]


@pytest.mark.parametrize("page", ["from-arx.md", "from-sdcmicro.md", "only-the-release.md"])
def test_every_command_of_a_how_to_page_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clinic.deid").write_bytes(made_project())
    (tmp_path / "export.csv").write_text(OUTPUT)
    (tmp_path / "patients.csv").write_text(
        "age,sex,disease\nNA,f,flu\n" + "".join(f"{a},{s},{d}\n" for a, s, d in ROWS)
    )
    safe = [("NA" if i % 5 == 0 else "(20,25]" if a <= 25 else "(25,30]", s, d) for i, (a, s, d) in enumerate(ROWS)]
    text = "".join(f'"{a}",{s},{d}\n' for a, s, d in safe)
    (tmp_path / "safe.csv").write_text(f"age,sex,disease\n{text}")
    (tmp_path / "public.csv").write_text(f"age,sex,disease\n{text}")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "public-schema.toml").write_text(SCHEMA.replace('missing = "category"', ""))
    monkeypatch.chdir(tmp_path)
    found = commands(page)
    assert len(found) >= 3
    for arguments in found:
        short = ["--sweeps", "60", "--attacker", "random_worlds"] if arguments[1] == "audit" else []
        monkeypatch.setattr(sys, "argv", [*arguments, *short])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code in ((0, 3) if short else (0,)), (arguments, capsys.readouterr().err)
        if arguments[1:] == ["schema", "clinic.deid", "-o", "schema.toml"]:
            drafted = Path("schema.toml").read_text()
            Path("schema.toml").write_text(drafted.replace("confirmed = false", "confirmed = true"))
