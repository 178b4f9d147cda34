"""Where files lie that other tools really made: beside the repository, on a developer's machine only."""

from pathlib import Path

import pytest

__all__ = ["ARX", "SDCMICRO", "needs_foreign_files"]

_BESIDE = (folder / "shared" / "data" / "foreign" for folder in Path(__file__).resolve().parents)
_FOREIGN = next((folder for folder in _BESIDE if folder.is_dir()), Path("not-there"))
ARX, SDCMICRO = _FOREIGN / "arx", _FOREIGN / "sdcmicro"
needs_foreign_files = pytest.mark.skipif(not ARX.is_dir(), reason="the files of other tools are not here")
