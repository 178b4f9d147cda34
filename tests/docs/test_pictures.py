"""The pictures of docs/concepts.md are what unveil finds today."""

import importlib.util
import re
from pathlib import Path

import pytest

from thorough import THOROUGH

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("pictures", ROOT / "site" / "pictures.py")
assert _spec is not None
assert _spec.loader is not None
pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pictures)
SLOW = {"calibration.svg"}  # boosting on 2,400 people


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_is_of_this_program(name: str) -> None:
    kept = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    if name not in SLOW or THOROUGH:
        assert kept == pictures.DRAWN[name]()
    told = re.search(rf"!\[([^\]]*)\]\(pictures/{name}\)", (ROOT / "docs" / "concepts.md").read_text())
    assert told is not None
    shares = set(re.findall(r"\d+%", told[1])) - {"50%", "85%"}  # what is said in words of a curve
    assert shares <= set(re.findall(r"\d+%", kept))
