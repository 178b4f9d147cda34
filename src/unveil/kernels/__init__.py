"""Numba kernels: arrays and a key in, arrays out; no unveil imports but kernels. Compiled once, cached on disk."""

import os
import stat
import sys
import tempfile
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Where compiled kernels are kept: this folder, or else the user's cache, or else a private temporary folder."""
    if stated := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(stated)
    own = Path(__file__).parent / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    return next((folder for folder in (own, users) if _can_write(folder)), None) or Path(_private_folder())


def _cache_somewhere() -> None:
    """Where neither this folder nor the user's cache can be written, keep compiled kernels in a temporary folder.

    Numba would refuse to start. Its cache holds code that is run, so that the folder must be ours alone.
    """
    folder = cache_folder()
    if folder.name in ("__pycache__", "numba") or os.environ.get("NUMBA_CACHE_DIR"):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(folder)  # inherited by workers
    if "numba" in sys.modules:  # it has read its settings already
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _can_write(path: Path) -> bool:
    """Whether files can be made in this folder, or the folder made first."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def _private_folder() -> str:
    """One that later runs find again, unless somebody else got hold of its name."""
    if not hasattr(os, "getuid"):
        return tempfile.mkdtemp(prefix="unveil-kernels-")
    path = os.path.join(tempfile.gettempdir(), f"unveil-kernels-{os.getuid()}")
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="unveil-kernels-")
    return path


if sys.platform != "win32":  # there the user's cache folder can always be written
    _cache_somewhere()
