"""Chooses the text to publish for every k-anonymous query, and flags personal data.

A (surface) form of a query is a text as typed. The published text is the most frequent printable
form typed by at least k users or, if there is none, the folded text (lowercased, without accents
and punctuation), which all forms share. A query is flagged if any form contains personal data,
since folding would only disguise it.
"""

import polars as pl

from builder.queries.personal import detect_personal_data

UNPRINTABLE = r"\p{C}|\s{2}|^\s|\s$|[\u2028\u2029\uFFFD]"
"""Control and unassigned characters, repeated or surrounding spaces, and decoding errors."""


def printable_text_expr(text: pl.Expr) -> pl.Expr:
    """Return an expression that is true for texts that can be published.

    Such texts have no control characters, stray spaces or unpaired quotes.
    """
    return ~text.str.contains(UNPRINTABLE) & (text.str.count_matches('"', literal=True) % 2 == 0)


def choose_published_texts(forms: pl.DataFrame) -> pl.DataFrame:
    """Choose the text to publish for every query, and check all its forms for personal data.

    Args:
        forms: One row per form: `query`, `text`, `folded`, `impressions` and `anonymous` (typed by
            at least k users).

    Returns:
        One row per query, sorted: `query`, `text` (published), `typed` (most frequent form, used
        only by the selection rules), `folded`, `personal` (kind of personal data or null).
    """
    published = pl.col("anonymous") & printable_text_expr(pl.col("text"))
    by_frequency = forms.with_columns(detect_personal_data(forms["text"]).alias("personal")).sort(
        "query", "impressions", "text", descending=[False, True, False]
    )
    return by_frequency.group_by("query", maintain_order=True).agg(
        pl.coalesce(pl.col("text").filter(published).first(), pl.col("folded").first()),
        pl.col("text").first().alias("typed"),
        pl.col("folded").first(),
        pl.col("personal").drop_nulls().sort().first(),
    )
