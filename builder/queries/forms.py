"""From the forms in which queries were typed to one row a query, with a text that may be shown.

In: forms of k-anonymous queries with their texts and counts. Out: one row a query. Its text is
its most frequent form among those that k users typed and that are fit to print; where there is
none, the folded text, which all its users share. Personal data in any form, however rare, marks
the whole query: folding would only disguise it.
"""

import polars as pl

from builder.queries.personal import personal_data

UNFIT = r"\p{C}|\s{2}|^\s|\s$|[\u2028\u2029\uFFFD]"
"""Control and unassigned characters, doubled or outer spaces, and characters lost in decoding."""


def fit_to_print(text: pl.Expr) -> pl.Expr:
    """Whether a text can stand in a line of a published file: no stray spaces or quotes."""
    return ~text.str.contains(UNFIT) & (text.str.count_matches('"', literal=True) % 2 == 0)


def describe(forms: pl.DataFrame) -> pl.DataFrame:
    """One row a query.

    Args:
        forms: Columns `query`, `text`, `folded`, `impressions` of each form, and `anonymous`:
            whether k users typed it.

    Returns:
        Columns `query`, `text` (to publish), `typed` (most frequent form, for rules only),
        `folded` and `personal` (kind of personal data or null), sorted by `query`.
    """
    published = pl.col("anonymous") & fit_to_print(pl.col("text"))
    by_frequency = forms.with_columns(personal_data(forms["text"]).alias("personal")).sort(
        "query", "impressions", "text", descending=[False, True, False]
    )
    return by_frequency.group_by("query", maintain_order=True).agg(
        pl.coalesce(pl.col("text").filter(published).first(), pl.col("folded").first()),
        pl.col("text").first().alias("typed"),
        pl.col("folded").first(),
        pl.col("personal").drop_nulls().sort().first(),
    )
