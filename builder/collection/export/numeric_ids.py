"""Assigns numeric ids to documents and queries, for layouts and tools that require them.

Ids that are already numbers (in an imported release) are kept. Otherwise, the number of a document
is the first 63 bits of the 64-bit key in its id, which fit in a SQLite INTEGER. The number of a
query is the first 31 bits of its key, because topic readers expect a signed 32-bit integer; if that
number is taken, the next free one is used. A document or query has the same number in every
snapshot of an export.
"""

import polars as pl

from builder.errors import DataError
from builder.text.keys import key64

DOCUMENT_BITS, QUERY_BITS = 63, 31
_NUMBER = r"^(0|[1-9]\d{0,18})$"


def assign_document_numbers(ids: pl.Series) -> pl.DataFrame:
    """Return the number (Int64) of each distinct document id, as columns `id` and `number`.

    Raises:
        DataError: Two documents would have the same number.
    """
    unique = ids.unique().sort()
    parsed = _parse_numbers(unique, DOCUMENT_BITS)
    numbers = (
        parsed if parsed is not None else [_leading_key_bits(i, DOCUMENT_BITS) for i in unique]
    )
    frame = pl.DataFrame({"id": unique, "number": pl.Series(numbers, dtype=pl.Int64)})
    duplicates = frame.filter(pl.col("number").is_duplicated()).sort("id")
    if duplicates.height:
        examples = ", ".join(duplicates["id"].head(2))
        raise DataError(
            f"documents {examples} would have the same number, because the first 63 bits of their "
            "ids are equal; export them in a layout with string ids, such as trec"
        )
    return frame


def assign_query_numbers(ids: pl.Series) -> pl.DataFrame:
    """Return the number (below 2^31) of each distinct query id, as columns `id` and `number`."""
    unique = ids.unique().sort()
    parsed = _parse_numbers(unique, QUERY_BITS)
    if parsed is not None:
        return pl.DataFrame({"id": unique, "number": pl.Series(parsed, dtype=pl.Int64)})
    numbers: dict[int, str] = {}
    for query in unique:
        number = _leading_key_bits(query, QUERY_BITS)
        while number in numbers:
            number = (number + 1) % 2**QUERY_BITS
        numbers[number] = query
    frame = pl.DataFrame({"id": list(numbers.values()), "number": list(numbers)})
    return frame.cast({"id": pl.String, "number": pl.Int64}).sort("id")


def replace_ids_with_numbers(
    frame: pl.LazyFrame, column: str, numbers: pl.DataFrame
) -> pl.LazyFrame:
    """Replace the ids in a column with numbers, and keep the order of the rows.

    Args:
        frame: Frame with the id column.
        column: Name of the id column.
        numbers: Numeric id (column `number`) of each id (column `id`).
    """
    named = numbers.lazy().rename({"id": column})
    joined = frame.join(named, on=column, how="left", maintain_order="left")
    return joined.with_columns(pl.col("number").alias(column)).drop("number")


def _parse_numbers(ids: pl.Series, bits: int) -> list[int] | None:
    """Parse ids as integers from 0 to 2**bits - 1; return None if any id is not such a number."""
    if not ids.str.contains(_NUMBER).all():
        return None
    numbers = [int(text) for text in ids]
    return numbers if all(number < 2**bits for number in numbers) else None


def _leading_key_bits(id_text: str, bits: int) -> int:
    """Return the leading bits of the 64-bit key in an id, or of its hash if it contains no key."""
    is_key = len(id_text) == 17 and set(id_text[1:]) <= set("0123456789abcdef")
    return (int(id_text[1:], 16) if is_key else key64(id_text)) >> (64 - bits)
