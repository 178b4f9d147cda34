"""Packages that are not installed with unveil itself: imported where they are used, named where they are not there."""

import importlib
from types import ModuleType
from typing import Any

from unveil.errors import UnveilError

__all__ = ["needed"]


def needed(package: str, extra: str, purpose: str, error: type[UnveilError]) -> ModuleType | Any:
    """The package; if it is not there, one line that says what to install."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise error(f"{purpose}, install {package.replace('_', '-')}: pip install 'unveil[{extra}]'") from None
