"""Text that imitates a tag of TREC formats: escaped on the way out, restored on the way in.

`<DOC>` becomes `&lt;DOC>`, and `&lt;DOC>` becomes `&amp;lt;DOC>`, so that
`unescape_markup(escape_markup(text)) == text` for every text; other text is left alone.
"""

import re

import polars as pl

from builder.text.keys import collapse_runs
from builder.text.replacement import replace_where

RULE = (
    "tags of the TREC format in texts are escaped: < as &lt; and & of what looks escaped as &amp;"
)
"""The rule in words, as exports record it."""

_TAGS = "DOC|DOCNO|DOCID|TEXT|TITLE|HEADLINE|top|num|title|desc|narr"
_BEFORE = rf"(?i)&((?:amp;)*lt;/?(?:{_TAGS})\b)"
_TAG = rf"(?i)<(/?(?:{_TAGS})\b)"
_ESCAPED = re.compile(
    rf"&lt;(?=/?(?:{_TAGS})\b)|&amp;(?=(?:amp;)*lt;/?(?:{_TAGS})\b)", re.IGNORECASE
)
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_LINE_BREAKS = f"[{_BREAKS}]"
_SPACES = ("\t", "\n", " ", "\xa0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u202f", "\u205f")
_BESIDE = [pair for space in (*_SPACES, "\u3000") for pair in (f"{space}\n", f"\n{space}")]
_UNTIDY = [*_BREAKS, *_BESIDE]
"""What `lines` would change within a text: breaks other than LF, and white space beside LF."""


def escaped(text: pl.Expr) -> pl.Expr:
    """Escape a column of texts; see the module."""
    return text.str.replace_all(_BEFORE, "&amp;$1").str.replace_all(_TAG, "&lt;$1")


def escape_markup(text: str) -> str:
    """Escape what a TREC reader would take for a tag."""
    return str(pl.select(escaped(pl.lit(text))).item())


def unescape_markup(text: str) -> str:
    """Undo `escape_markup`."""
    return _ESCAPED.sub(lambda m: "<" if m[0].lower() == "&lt;" else "&", text)


def lines(*texts: pl.Expr) -> pl.Expr:
    """Columns of texts as the lines of one text.

    Every kind of line end is LF, lines are trimmed, empty ones are left out; null is no line.
    """
    whole = pl.concat_str(*texts, separator="\n", ignore_nulls=True)
    broken = whole.str.replace_all(_LINE_BREAKS, "\n")
    return broken.str.replace_all(r"\s*\n\s*", "\n").str.strip_chars()


def bodies(titles: pl.Series, texts: pl.Series) -> pl.Series:
    """`lines` of titles and texts; only those with something to change are looked at twice."""
    frame = pl.DataFrame({"title": titles, "text": texts})
    joined = frame.select(
        pl.concat_str("title", "text", separator="\n", ignore_nulls=True).str.strip_chars()
    ).to_series()
    return _where(joined, joined.str.contains_any(_UNTIDY), lines(pl.col("text")))


def escape_all(texts: pl.Series) -> pl.Series:
    """`escaped` of a whole column."""
    return _where(texts, texts.str.contains_any(["<", "&"]), escaped(pl.col("text")))


def _where(texts: pl.Series, changes: pl.Series, change: pl.Expr) -> pl.Series:
    """Texts, those that it changes changed."""
    changed = texts.filter(changes).alias("text").to_frame().select(change).to_series()
    return replace_where(texts, changes, changed)


def one_line(text: pl.Expr) -> pl.Expr:
    """A column of texts without what would break a line-based file: single spaces."""
    return collapse_runs(text, r"[\s\x1c-\x1f]").str.strip_chars()
