"""Ids as numbers, for layouts and tools that take nothing else.

Ids of a release that are numbers already stay what they are. Of others, the number of a document is
the first 63 bits of its key, which SQLite's INTEGER holds. The number of a query fits a signed
integer of 32 bits, which readers of topics take: the first 31 bits of its key or, where an earlier
id has them, the next number that is free. All are the same in every snapshot of an export.
"""

import polars as pl

from builder.errors import DataError
from builder.text.keys import key64

DOCUMENT_BITS, QUERY_BITS = 63, 31
_NUMBER = r"^(0|[1-9]\d{0,18})$"


def document_numbers(ids: pl.Series) -> pl.DataFrame:
    """`id` and `number` (Int64) of documents.

    Raises:
        DataError: two have one number.
    """
    unique = ids.unique().sort()
    own = _own_numbers(unique, DOCUMENT_BITS)
    numbers = own if own is not None else [_first_bits(i, DOCUMENT_BITS) for i in unique]
    found = pl.DataFrame({"id": unique, "number": pl.Series(numbers, dtype=pl.Int64)})
    repeated = found.filter(pl.col("number").is_duplicated()).sort("id")
    if repeated.height:
        examples = ", ".join(repeated["id"].head(2))
        raise DataError(
            f"two documents ({examples}) have the same first 63 bits, so that they would have one "
            "number; export them in a layout with textual ids, such as trec"
        )
    return found


def query_numbers(ids: pl.Series) -> pl.DataFrame:
    """`id` and `number` (Int64, below 2^31) of queries."""
    unique = ids.unique().sort()
    own = _own_numbers(unique, QUERY_BITS)
    if own is not None:
        return pl.DataFrame({"id": unique, "number": pl.Series(own, dtype=pl.Int64)})
    numbers: dict[int, str] = {}
    for query in unique:
        number = _first_bits(query, QUERY_BITS)
        while number in numbers:
            number = (number + 1) % 2**QUERY_BITS
        numbers[number] = query
    frame = pl.DataFrame({"id": list(numbers.values()), "number": list(numbers)})
    return frame.cast({"id": pl.String, "number": pl.Int64}).sort("id")


def numbered(rows: pl.LazyFrame, column: str, numbers: pl.DataFrame) -> pl.LazyFrame:
    """Rows in their order, with the numbers of a column of ids instead of the ids."""
    named = numbers.lazy().rename({"id": column})
    joined = rows.join(named, on=column, how="left", maintain_order="left")
    return joined.with_columns(pl.col("number").alias(column)).drop("number")


def _own_numbers(ids: pl.Series, bits: int) -> list[int] | None:
    """The ids as numbers, where all of them are numbers of so many bits."""
    if not ids.str.contains(_NUMBER).all():
        return None
    numbers = [int(found) for found in ids]
    return numbers if all(number < 2**bits for number in numbers) else None


def _first_bits(found: str, bits: int) -> int:
    """The first bits of the key of a printable id, or of the md5 of another id."""
    is_key = len(found) == 17 and set(found[1:]) <= set("0123456789abcdef")
    return (int(found[1:], 16) if is_key else key64(found)) >> (64 - bits)
