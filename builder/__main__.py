"""Entry point of `python -m builder`, which is the same as the `longeval` command."""

from builder.cli import main

if __name__ == "__main__":
    main()
