"""`python -m tests.fuzz COUNT`: see `blocks`, which worker processes import by its name."""

import sys

from tests.fuzz.blocks import main

if __name__ == "__main__":
    main(sys.argv[1:])
