"""Escapes text that looks like a tag of a TREC format, and restores it on import.

`<DOC>` becomes `&lt;DOC>`, and `&lt;DOC>` becomes `&amp;lt;DOC>`, so that
`unescape_markup(escape_markup(text)) == text` for every text. All other text is unchanged.
"""

import re

import polars as pl

from builder.text.keys import replace_runs_with_space
from builder.text.replacement import replace_where

ESCAPING_RULE = (
    "TREC tags in texts are escaped: < as &lt;, and & before an already escaped tag as &amp;"
)
"""Description of the escaping rule; recorded in `longeval-export.json`."""
NOT_ESCAPED = "none"
"""Value recorded in `longeval-export.json` if the layout does not escape texts."""

_TAGS = "DOC|DOCNO|DOCID|TEXT|TITLE|HEADLINE|top|num|title|desc|narr"
_ESCAPED_TAG = rf"(?i)&((?:amp;)*lt;/?(?:{_TAGS})\b)"
_TAG = rf"(?i)<(/?(?:{_TAGS})\b)"
_ESCAPED = re.compile(
    rf"&lt;(?=/?(?:{_TAGS})\b)|&amp;(?=(?:amp;)*lt;/?(?:{_TAGS})\b)", re.IGNORECASE
)
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_LINE_BREAKS = f"[{_BREAKS}]"
_SPACES = ("\t", "\n", " ", "\xa0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u202f", "\u205f")
_SPACES_BESIDE_BREAKS = [
    pair for space in (*_SPACES, "\u3000") for pair in (f"{space}\n", f"\n{space}")
]
_NEEDS_JOINING = [*_BREAKS, *_SPACES_BESIDE_BREAKS]
"""Strings that `join_lines_expr` changes: line breaks other than LF, and whitespace next to LF."""


def escape_markup_expr(text: pl.Expr) -> pl.Expr:
    """Return an expression that escapes TREC tags in a string column."""
    return text.str.replace_all(_ESCAPED_TAG, "&amp;$1").str.replace_all(_TAG, "&lt;$1")


def escape_markup(text: str) -> str:
    """Escape the TREC tags in a text."""
    return str(pl.select(escape_markup_expr(pl.lit(text))).item())


def unescape_markup(text: str) -> str:
    """Restore the original text from a text that was escaped with `escape_markup`."""
    return _ESCAPED.sub(lambda m: "<" if m[0].lower() == "&lt;" else "&", text)


def join_lines_expr(*texts: pl.Expr) -> pl.Expr:
    """Return an expression that joins string columns with LF and normalizes the lines.

    All line breaks become LF, lines are stripped, and blank lines and null values are removed.
    """
    joined = pl.concat_str(*texts, separator="\n", ignore_nulls=True)
    normalized = joined.str.replace_all(_LINE_BREAKS, "\n")
    return normalized.str.replace_all(r"\s*\n\s*", "\n").str.strip_chars()


def document_body_expr(title: str, text: str) -> pl.Expr:
    """Return an expression that joins a title column and a text column with LF.

    The title becomes the first line. Blank lines and trailing spaces within the text are kept.
    """
    return pl.concat_str(title, text, separator="\n", ignore_nulls=True).str.strip_chars()


def normalize_lines(bodies: pl.Series) -> pl.Series:
    """Normalize the line breaks and blank lines of each text, as `join_lines_expr` does.

    For speed, texts that are already normalized are not processed.
    """
    return _apply_where(
        bodies, bodies.str.contains_any(_NEEDS_JOINING), join_lines_expr(pl.col("text"))
    )


def escape_markup_series(texts: pl.Series) -> pl.Series:
    """Escape the TREC tags in a series of texts."""
    return _apply_where(
        texts, texts.str.contains_any(["<", "&"]), escape_markup_expr(pl.col("text"))
    )


def _apply_where(texts: pl.Series, mask: pl.Series, expr: pl.Expr) -> pl.Series:
    """Apply an expression on column `text` to the texts that the mask selects; keep the others."""
    changed = texts.filter(mask).alias("text").to_frame().select(expr).to_series()
    return replace_where(texts, mask, changed)


def collapse_whitespace_expr(text: pl.Expr) -> pl.Expr:
    """Return an expression that replaces each run of whitespace in a text with one space."""
    return replace_runs_with_space(text, r"[\s\x1c-\x1f]").str.strip_chars()
