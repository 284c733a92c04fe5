"""Raises the field size limit of the `csv` module, so that fields of any length can be read.

The limit applies to the whole process: a reader that set its own limit would change it for all
other readers. Therefore, all readers use the maximum, and limit the length of lines or files
instead.
"""

import csv

MAX_CELL_CHARS = 2**31 - 1
"""Largest field size limit that the `csv` module accepts on every platform."""


def raise_csv_field_size_limit() -> None:
    """Raise the field size limit of the `csv` module to its maximum, for the whole process."""
    csv.field_size_limit(MAX_CELL_CHARS)
