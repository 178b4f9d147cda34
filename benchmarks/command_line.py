"""How long `unveil --help` takes, and what it imports."""

import subprocess
import sys
from collections.abc import Iterator
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks import Row
from benchmarks._timing import best_wall

HEAVY = ("numba", "polars", "scipy.stats", "sklearn", "altair")
SHOW = f"""
import contextlib, io, sys
from unveil.cli import main
sys.argv = ["unveil", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
print(len([name for name in {HEAVY!r} if name in sys.modules]), "numpy" in sys.modules, len(sys.modules))
"""


def measure() -> Iterator[Row]:
    """Best of ten processes."""
    found = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True).stdout.split()
    yield Row(
        "heavy modules that --help imports",
        float(found[0]),
        floor="<= 0",
        note=f"{', '.join(HEAVY)}; numpy: {found[1]}",
    )
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'unveil'; from unveil.cli import main; main()",
        "--help",
    ]
    spent = []
    for _ in range(10):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = getrusage(RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    bare = best_wall(lambda: subprocess.run([sys.executable, "-c", "import typer"], check=True), 10)
    wall = best_wall(lambda: subprocess.run(command, capture_output=True, check=True), 10)
    yield Row("unveil --help", min(spent), unit="s CPU", note=f"{found[2]} modules")
    yield Row("unveil --help, on the clock", wall, bare, "s", note="beside it: python -c 'import typer'")
