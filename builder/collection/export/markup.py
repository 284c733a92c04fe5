"""Text that imitates a tag of TREC formats: escaped on the way out, restored on the way in.

`<DOC>` becomes `&lt;DOC>`, and `&lt;DOC>` becomes `&amp;lt;DOC>`, so that
`unescape_markup(escape_markup(text)) == text` for every text; other text is left alone.
"""

import re

import polars as pl

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
_LINE_BREAKS = "[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"


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


def one_line(text: pl.Expr) -> pl.Expr:
    """A column of texts without what would break a line-based file: single spaces."""
    return text.str.replace_all(r"[\s\x1c-\x1f]+", " ").str.strip_chars()
