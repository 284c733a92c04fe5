"""Raises the field size limit of the `csv` module, so that fields of any length can be read.

The limit applies to the whole process: if one reader set a limit of its own, it would change the
limit of all others. Readers use this one, and limit the length of lines or files instead.
"""

import csv

MAX_CELL_CHARS = 2**31 - 1
"""Largest field size limit that the `csv` module accepts on every platform."""


def allow_long_cells() -> None:
    """Raise the field size limit of the `csv` module to its maximum, in the whole process."""
    csv.field_size_limit(MAX_CELL_CHARS)
