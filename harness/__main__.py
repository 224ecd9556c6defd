"""`python -m harness`: the command `flake-hunt`."""

from harness.cli import main

if __name__ == "__main__":
    main.main()
