"""Raises the cell limit of the `csv` module, so that cells of any length can be read.

The limit of the module belongs to the process. Readers that each set their own would change what
the others accept, so that all of them set this one and limit lines or files instead.
"""

import csv

MAX_CELL_CHARS = 2**31 - 1
"""The largest limit that the module takes on every platform."""


def allow_long_cells() -> None:
    """Raise the cell limit of the `csv` module to its maximum, in the whole process."""
    csv.field_size_limit(MAX_CELL_CHARS)
