"""Restores integer ids in CSV and TSV files, in which some programs write them as floats.

Programs such as pandas convert a column of integers with missing values to floats, and write `12.0`
for the id 12.
"""

import re
from collections.abc import Collection, Iterator
from itertools import chain, islice

from builder.ingest.delimited import NULLS, SAMPLE_ROWS, Row

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0)?")
"""Matches an integer in integer or float notation, such as `12` or `12.0`."""
MISSING = NULLS | {""}


def restore_integer_ids(rows: Iterator[Row], columns: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a file, with `12` instead of `12.0` in columns of integers.

    A column consists of integers if all cells in the first `SAMPLE_ROWS` rows are integers such as
    `12` or `12.0`, or missing. A column with both `12.0` and `12.1` therefore remains unchanged.

    Args:
        rows: Rows of a CSV or TSV file, and reject reasons.
        columns: Names of the id columns.
    """
    sample = list(islice(rows, SAMPLE_ROWS))
    found = [row for _, row in sample if not isinstance(row, str)]
    integers = [name for name in columns if _has_only_integers({row.get(name) for row in found})]
    for number, row in chain(sample, rows):
        if not isinstance(row, str):
            for name in integers:
                if INTEGER.fullmatch(cell := row.get(name, "")):
                    row[name] = cell.removesuffix(".0")
        yield number, row


def _has_only_integers(cells: Collection[str | None]) -> bool:
    """Whether all non-missing cells are integers."""
    given = (cell for cell in cells if cell is not None and cell.strip() not in MISSING)
    return all(map(INTEGER.fullmatch, given))
