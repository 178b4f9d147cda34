"""`python -m unveil.kernels` compiles every kernel."""

from unveil.kernels._compile import compile_all

if __name__ == "__main__":
    compile_all()
