"""`python -m unveil`: the command line, where the script is not on the path."""

from unveil.cli import main

if __name__ == "__main__":
    main()
