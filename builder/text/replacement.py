"""Replaces values of a Polars series where a mask is true."""

import polars as pl


def replace_where(values: pl.Series, mask: pl.Series, replacements: pl.Series) -> pl.Series:
    """Replace the values of a series where a mask is true.

    `Series.scatter` is not used: if all strings of a column have at most 12 bytes, Polars 2.1
    returns a column in which `group_by` treats equal strings as distinct.

    Args:
        values: Series of n values.
        mask: Boolean series of n values; null is treated as false.
        replacements: New values in row order, one for each true value of the mask.

    Raises:
        ValueError: the number of replacements differs from the number of true values.
    """
    if mask.null_count():
        mask = mask.fill_null(value=False)
    if mask.sum() != len(replacements):
        raise ValueError(f"expected {mask.sum()} replacement values, found {len(replacements)}")
    if replacements.is_empty():
        return values
    number = (mask.cum_sum().cast(pl.Int64) - 1).clip(0)
    return replacements.gather(number).zip_with(mask, values).alias(values.name)
