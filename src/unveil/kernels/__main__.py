"""`python -m unveil.kernels` compiles every kernel; with names of modules, or `demo`, only those."""

import sys

from unveil.kernels._compile import DEMO, compile_kernels, kernel_modules

if __name__ == "__main__":
    names = [name for word in sys.argv[1:] for name in (DEMO if word == "demo" else (word,))]
    if unknown := sorted(set(names) - set(kernel_modules())):
        sys.exit(f"unknown kernels {', '.join(unknown)}; choose from demo, {', '.join(kernel_modules())}")
    compile_kernels(names)
