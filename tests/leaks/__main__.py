"""`python -m tests.leaks` prints the table; the work is in run.py, which worker processes can import."""

import sys

from tests.leaks.run import main

if __name__ == "__main__":
    sys.exit(main())
