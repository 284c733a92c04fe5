"""Some values of a column replaced, the others left as they are."""

import polars as pl


def replaced(values: pl.Series, where: pl.Series, others: pl.Series) -> pl.Series:
    """A column with other values in some places.

    `Series.scatter` is not used: where a column of texts had short ones alone (up to 12 bytes), it
    leaves one whose equal texts Polars 2.1 takes for different ones in groups.

    Args:
        values: The column, n rows.
        where: Which rows are replaced, n booleans; null: not.
        others: Their values in order, as many as `where` is true.

    Raises:
        ValueError: they are not as many.
    """
    if where.null_count():
        where = where.fill_null(value=False)
    if where.sum() != len(others):
        raise ValueError(f"{where.sum()} places, {len(others)} values")
    if others.is_empty():
        return values
    number = (where.cum_sum().cast(pl.Int64) - 1).clip(0)
    return others.gather(number).zip_with(where, values).alias(values.name)
