"""What is compiled ahead, and where compiled kernels are kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import unveil.kernels as family
from unveil.kernels._compile import kernel_modules


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    ran = subprocess.run([sys.executable, "-m", "unveil.kernels", "gibs"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("unknown kernels gibs; choose from demo, allotments, anatomy")
    assert "_compile" not in kernel_modules()


@pytest.mark.skipif(sys.platform == "win32", reason="the user's cache folder can always be written there")
class TestWithoutACacheFolder:
    """A read-only installation whose user has no folder to write to either."""

    @pytest.fixture(autouse=True)
    def nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = family._can_write
        monkeypatch.setattr(family, "_can_write", lambda path: kept(path) and path.is_relative_to(tmp_path))
        monkeypatch.setattr(family.tempfile, "gettempdir", lambda: str(tmp_path))
        monkeypatch.setattr(family.tempfile, "tempdir", str(tmp_path))
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")
        import numba

        monkeypatch.setattr(numba.config, "CACHE_DIR", "")

    def test_kernels_are_kept_in_a_private_temporary_folder(self, tmp_path: Path) -> None:
        import numba

        family._cache_somewhere()
        folder = Path(os.environ["NUMBA_CACHE_DIR"])
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        assert str(folder) == numba.config.CACHE_DIR
        os.environ["NUMBA_CACHE_DIR"] = ""
        family._cache_somewhere()
        assert os.environ["NUMBA_CACHE_DIR"] == str(folder)  # the next run finds them again

    @pytest.mark.parametrize("taken", ["open to others", "a link", "a file"])
    def test_a_folder_that_others_can_reach_is_not_used(self, tmp_path: Path, taken: str) -> None:
        name = tmp_path / f"unveil-kernels-{os.getuid()}"
        if taken == "open to others":
            name.mkdir()
            name.chmod(0o777)
        elif taken == "a link":
            name.symlink_to(tmp_path)
        else:
            name.touch()
        family._cache_somewhere()
        folder = Path(os.environ["NUMBA_CACHE_DIR"])
        assert folder != name
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_the_folder_that_is_named_is_used(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NUMBA_CACHE_DIR", "/named")
        family._cache_somewhere()
        assert os.environ["NUMBA_CACHE_DIR"] == "/named"

    def test_a_user_with_a_cache_folder_keeps_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        family._cache_somewhere()
        assert os.environ["NUMBA_CACHE_DIR"] == ""
