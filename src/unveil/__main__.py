"""The program: `unveil`, and `python -m unveil` where the script is not on the path."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported is no trace of frames either."""
    try:
        from unveil.cli import main

        main()
    except KeyboardInterrupt:
        print("unveil: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
