"""The peers' own environments in `.bench-venv`, and how their scripts are run in them."""

import hashlib
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

__all__ = ["run_peer"]

HERE = Path(__file__).resolve().parent
VENVS = HERE.parent / ".bench-venv"


def run_peer(script: str, *arguments: str, pins: str = "pins") -> Any:
    """What a script of peers/ prints as JSON; `pins`: what it needs, where it does not go with the others."""
    command = [str(_python(pins)), str(HERE / "peers" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _python(pins: str) -> Path:
    """The environment's interpreter; made if it is not there or the pins changed."""
    folder, requirements = VENVS / pins, HERE / "peers" / f"{pins}.txt"
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
        print(f"  installing peers into {VENVS.name}/{pins} …", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-r", str(requirements)]
        subprocess.run(pip, check=True)
        stamp.write_text(wanted)
    return python
