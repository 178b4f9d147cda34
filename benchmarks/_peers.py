"""The peers' own environment, `.bench-venv`, and how their scripts are run in it."""

import hashlib
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

__all__ = ["run_peer"]

HERE = Path(__file__).resolve().parent
VENV = HERE.parent / ".bench-venv"
REQUIREMENTS = HERE / "requirements.txt"


def run_peer(script: str, *arguments: str) -> Any:
    """What a script of peers/ prints as JSON."""
    command = [str(_python()), str(HERE / "peers" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _python() -> Path:
    """The environment's interpreter; made if it is not there or the pins changed."""
    python, stamp = VENV / "bin" / "python", VENV / ".installed"
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not python.exists() or not stamp.exists() or stamp.read_text() != pins:
        print(f"  installing the peers into {VENV.name} …", file=sys.stderr)
        venv.create(VENV, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-r", str(REQUIREMENTS)]
        subprocess.run(pip, check=True)
        stamp.write_text(pins)
    return python
