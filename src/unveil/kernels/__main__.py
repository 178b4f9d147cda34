"""Compile and cache every kernel, with a line of progress: `python -m unveil.kernels`."""

import importlib
import pkgutil
import sys
import time

import unveil.kernels as family


def main() -> None:
    """Warm every kernel module."""
    names = [m.name for m in pkgutil.iter_modules(family.__path__) if not m.name.startswith("_")]
    start = time.monotonic()
    for done, name in enumerate(names, start=1):
        end = "\n" if not sys.stderr.isatty() and done == len(names) else "\r"
        print(f"compiling kernels {done}/{len(names)} {name:<12}", end=end, file=sys.stderr, flush=True)
        module = importlib.import_module(f"unveil.kernels.{name}")
        if hasattr(module, "warm"):  # kernels.mondrian is warmed by its one user, kernels.partition
            module.warm()
    print(f"kernels ready after {time.monotonic() - start:.1f} s          ", file=sys.stderr)


if __name__ == "__main__":
    main()
