"""Raises the field size limit of the `csv` module, so that fields of any length can be read.

The limit is process-wide: a reader that set its own limit would change it for all other readers.
Therefore, all readers use the maximum, and limit the length of lines or files instead.
"""

import csv

MAX_CELL_CHARS = 2**31 - 1
"""Largest field size limit that the `csv` module accepts on every platform."""


def raise_csv_field_size_limit() -> None:
    """Raise the field size limit of the `csv` module to its maximum, process-wide."""
    csv.field_size_limit(MAX_CELL_CHARS)
