"""Ids as numbers, for layouts and tools that take nothing else.

The number of an id is the first 63 bits of its key, which SQLite's INTEGER holds; it is the same
in every snapshot and version, because the id is.
"""

import polars as pl

from builder.errors import DataError
from builder.text.keys import key_of_id


def number_of(column: str) -> pl.Expr:
    """The number (UInt64, below 2^63) of a column of printable ids."""
    return key_of_id(column) // 2


def check_numbers(ids: pl.Series, what: str) -> None:
    """Make sure that no two ids have one number.

    Raises:
        DataError: two have.
    """
    frame = ids.unique().to_frame("id").with_columns(number=number_of("id"))
    repeated = frame.filter(pl.col("number").is_duplicated()).sort("id")
    if repeated.height:
        examples = ", ".join(repeated["id"].head(2))
        raise DataError(
            f"two {what} ({examples}) have the same first 63 bits, so that they would have one "
            "number; export them in a layout with textual ids, such as trec"
        )
