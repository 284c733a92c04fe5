"""Runs the `longeval` command for `python -m builder`."""

from builder.cli import main

if __name__ == "__main__":
    main()
