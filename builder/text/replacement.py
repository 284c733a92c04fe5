"""Replace the values of a column where a mask is true."""

import polars as pl


def replaced(values: pl.Series, where: pl.Series, others: pl.Series) -> pl.Series:
    """Replace the values where a mask is true.

    `Series.scatter` is not used: if all strings of a column have at most 12 bytes, Polars 2.1
    returns a column in which `group_by` treats equal strings as distinct.

    Args:
        values: The column, n rows.
        where: Mask, n booleans; null counts as false.
        others: Replacement values in row order, one per true value of the mask.

    Raises:
        ValueError: the number of replacement values is wrong.
    """
    if where.null_count():
        where = where.fill_null(value=False)
    if where.sum() != len(others):
        raise ValueError(f"{where.sum()} places, {len(others)} values")
    if others.is_empty():
        return values
    number = (where.cum_sum().cast(pl.Int64) - 1).clip(0)
    return others.gather(number).zip_with(where, values).alias(values.name)
