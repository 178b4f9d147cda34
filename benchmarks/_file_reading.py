"""One file read in a process of its own, so that its memory can be told.

Usage: python -m benchmarks._file_reading FILE
"""

import json
import sys
import time
from pathlib import Path

from unveil.formats.tables import read_columns


def main(path: str) -> None:
    """Print CPU seconds, bytes of the coded columns and bytes the process had at most as JSON."""
    begin = time.process_time()
    found = read_columns(path)
    seconds = time.process_time() - begin
    coded = sum(c.text_of_row.nbytes + sum(map(sys.getsizeof, c.texts)) for c in found.columns.values())
    # Not ru_maxrss: a child starts with its parent's.
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "coded": coded, "peak": peak, "rows": found.rows}))


if __name__ == "__main__":
    main(sys.argv[1])
