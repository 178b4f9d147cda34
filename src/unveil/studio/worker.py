"""A job's process: one unveil command, as the command line runs it, and a note of how it ended.

It is a session of its own, so that neither a closed tab nor the end of the studio touches it.
"""

import json
import os
import runpy
import sys
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["main"]

NICE = 10  # the studio's pages go first


def main(job: Path) -> None:
    """Run the command of a job's folder, in the steward's folder."""
    words = json.loads((job / "job.json").read_text("utf-8"))["words"]
    if hasattr(os, "nice"):
        os.nice(NICE)
        with suppress(OSError):  # Linux shares the processor among sessions first
            Path("/proc/self/autogroup").write_text(str(NICE))
    os.environ["UNVEIL_PROGRESS"] = str(job / "progress.json")
    sys.argv = ["unveil", *words]
    code: object = 70
    try:
        runpy.run_module("unveil", run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        part = job / "ended.part"
        part.write_text(json.dumps({"code": code if isinstance(code, int) else 0, "at": time.time()}), "utf-8")
        part.replace(job / "ended.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
