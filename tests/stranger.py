"""`make package`: the wheel as a stranger gets it. Built, installed into an empty environment, and used from there.

For every Python from 3.11 to 3.13 on this machine: no extras, an installation and a home folder that cannot be written,
no compiler, no git; then the demo, a table of one's own, a report and a gate. With the first Python each extra is
installed as well. Every step's seconds are printed; the first step that fails ends with 1.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = os.environ.get("PYTHONS", "python3.11 python3.12 python3.13").split()
# For root no folder is read-only by its mode: a mount of its own is.
_MOUNT = '/bin/mount --bind "$0" "$0" && /bin/mount -o remount,ro,bind "$0" && exec "$@"'
_AS_ROOT = ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", _MOUNT)
_READ_ONLY = _AS_ROOT if os.getuid() == 0 else ("/bin/sh", "-c", 'exec "$@"')
TABLE = "age,sex,diagnosis\n" + "".join(
    f"{20 + i % 40},{'fm'[i % 2]},{('flu', 'asthma', 'none')[i % 3]}\n" for i in range(300)
)
GATE = """releases = ["release.csv"]
schema = "schema.toml"
original = "own.csv"
report = "report.html"
junit = "audit.xml"
minutes = 2
"""
# Seconds that a step may take on two cores with nothing else to do; docs/first-hour.md tells them.
MOST = {
    "pip install unveil": 90,
    "unveil doctor": 3,
    "unveil demo": 150,
    "unveil schema": 5,
    "unveil anonymize": 10,
    "unveil audit": 20,
}
BUSY = float(os.environ.get("BUSY", "1"))  # how many times as long on a machine that does something else


def step(what: str, command: Sequence[str | Path], *, codes: tuple[int, ...] = (0,), **options: object) -> str:
    """Run it, say how long it took, and end here if it fails."""
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    seconds = time.monotonic() - start
    print(f"{seconds:7.1f} s  {what}", flush=True)
    most = next((most for name, most in MOST.items() if what == name or what.startswith(f"{name} ")), None)
    if most is not None and seconds > most * BUSY:
        sys.exit(f"{what}: {seconds:.0f} s, where {most} are told; if the machine is busy: BUSY=2 make package")
    if done.returncode not in codes:
        sys.exit(f"{what}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return str(done.stdout)


def built(folder: Path) -> Path:
    """The wheel, made from the source distribution: what is missing there is missing here."""
    builder = folder / "builder"
    step("an environment to build in", [sys.executable, "-m", "venv", builder])
    step("pip install build", [builder / "bin/pip", "install", "--quiet", "build"])
    step("sdist and wheel", [builder / "bin/python", "-m", "build", "--outdir", folder / "dist", ROOT])
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def used(python: str, wheel: Path, folder: Path) -> None:
    """The first quarter of an hour of somebody who has never seen it."""
    work = folder.with_name(f"{folder.name}-work")
    work.mkdir()
    step(f"{python}: an empty environment", [python, "-m", "venv", folder])
    limits = ["--constraint", ROOT / "constraints.txt"]
    step("pip install unveil", [folder / "bin/pip", "install", "--quiet", *limits, wheel])
    (folder / "home").mkdir()
    subprocess.run(["chmod", "-R", "a-w", folder], check=True)
    environment = {"PATH": f"{folder}/bin", "HOME": f"{folder}/home", "LC_ALL": "C", "TMPDIR": str(work)}

    def unveil(*words: str, codes: tuple[int, ...] = (0,)) -> str:
        command = [*_READ_ONLY, str(folder), f"{folder}/bin/unveil", *words]
        return step(" ".join(("unveil", *words)), command, codes=codes, env=environment, cwd=work)

    assert "missing" not in unveil("doctor").partition("unveil[")[0]
    assert "Report:" in unveil("demo")
    (work / "own.csv").write_text(TABLE)
    unveil("schema", "own.csv", "-o", "schema.toml")
    schema = work / "schema.toml"
    schema.write_text(schema.read_text().replace("confirmed = false", "confirmed = true"))
    unveil("anonymize", "own.csv", "-s", "schema.toml", "--with", "mondrian:k=5", "-o", "release.csv")
    (work / "unveil.toml").write_text(GATE)
    unveil("audit", "--config", "unveil.toml", codes=(0, 1, 3))
    assert "<testsuite " in (work / "audit.xml").read_text()
    assert "<html" in (work / "report.html").read_text()[:500]


def with_extra(extra: str, wheel: Path, folder: Path) -> None:
    """Each extra alone brings what it says."""
    step(f"[{extra}]: an empty environment", [PYTHONS[0], "-m", "venv", folder])
    limits = ["--constraint", ROOT / "constraints.txt"]
    step(f"pip install 'unveil[{extra}]'", [folder / "bin/pip", "install", "--quiet", *limits, f"{wheel}[{extra}]"])
    code = "import json, importlib; print(json.dumps(importlib.import_module('unveil.cli.doctor').extras()))"
    found: Mapping[str, list[str]] = json.loads(step("what is missing", [folder / "bin/python", "-c", code]))
    assert not found[""], found
    assert not found.get(extra, []), found


def main() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    with tempfile.TemporaryDirectory(prefix="unveil-package-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        wheel = built(folder)
        for python in filter(shutil.which, PYTHONS):
            used(python, wheel, folder / Path(python).name)
        for extra in sorted(set(extras) - {"dev", "docs"}):
            with_extra(extra, wheel, folder / extra)
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)


if __name__ == "__main__":
    main()
