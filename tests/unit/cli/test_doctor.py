"""unveil doctor: what is missing is named with what it costs, and only what every command needs is an error."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version

import pytest
from test_cli import run

doctor = import_module("unveil.cli.doctor")  # unveil.cli.doctor is the command


def test_a_whole_installation_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("doctor", capsys=capsys)
    assert code == 0
    assert f"unveil[files] complete: {doctor.EXTRAS['files']}" in " ".join(out.split())
    assert "missing" not in out


def test_every_extra_but_the_tools_is_known() -> None:
    extras = {text.partition("extra == '")[2].strip("'") for text in requires("unveil") or ()}
    assert extras - {"dev", "docs"} == set(doctor.EXTRAS)


@pytest.mark.parametrize(
    ("package", "said", "code"),
    [
        ("pyreadstat", "unveil[files] pyreadstat is missing: Parquet", 0),
        ("numba", "packages numba is missing: everything", 1),
    ],
)
def test_what_is_missing_is_said(
    package: str, said: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(name: str) -> str:
        if name == package:
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", installed)
    found, out, _ = run("doctor", capsys=capsys)
    assert found == code
    assert said in " ".join(out.split())


def test_what_is_too_old_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: "0.9" if name == "pandas" else version(name))
    assert doctor.extras()["frames"] == ["pandas is 0.9, 2.2 or newer is needed"]
    assert not doctor.extras()[""]
