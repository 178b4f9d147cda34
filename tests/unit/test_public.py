"""The public names: every one is there, none is imported before it is used."""

import subprocess
import sys

import unveil


def test_every_public_name_resolves() -> None:
    for name in unveil.__all__:
        assert getattr(unveil, name).__name__ == name
    assert dir(unveil) == unveil.__all__ == sorted(unveil.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(unveil, "nonsense")


def test_importing_unveil_imports_nothing_else() -> None:
    code = "import sys, unveil; print([m for m in sys.modules if m.startswith('unveil.') or m in ('numpy', 'polars')])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_the_package_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "unveil", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("unveil ")
