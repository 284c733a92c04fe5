"""Normalizes texts and URLs of a whole block of records.

Input: columns of raw strings. Output: columns of the same length. Most texts of a crawl are clean
and most URLs canonical: a fast scan finds them, and only the others are processed one by one.
"""

import re
import unicodedata

import polars as pl

from builder.ingest.text_scan import are_clean_lines, may_need_normalization
from builder.text.keys import url_key
from builder.text.replacement import replace_where

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\u2028\u2029]")
C1 = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0)}
"""C1 control -> its windows-1252 character, as WHATWG decodes it; U+FFFD if undefined."""
_REPLACED = {
    **dict.fromkeys([*range(0x09), *range(0x0E, 0x1C), 0x1F, 0x7F, 0xFEFF, 0xFFFE, 0xFFFF], " "),
    **{code: " " if character == "\ufffd" else character for code, character in C1.items()},
}
"""Replacement of each disallowed character: never empty, which would join two words."""
UNCLEAN = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}"
    r"\p{M}\u{340}-\u{387}\u{900}-\u{fff}\u{1100}-\u{11ff}\u{1b00}-\u{1bff}\u{1f00}-\u{2001}"
    r"\u{2126}-\u{212b}\u{2329}\u{232a}\u{2adc}\u{f900}-\u{fb4f}"
    r"\u{11000}-\u{11fff}\u{16100}-\u{16dff}\u{1d15e}-\u{1d1c0}\u{2f800}-\u{2fa1f}]"
)
"""Pattern of all characters that `_LINE_ENDS`, `_REPLACED` or the NFC form may change."""

CANONICAL = (
    r"^https?://[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]{2,}"
    r"(?:/|(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+/?)$"
)
"""Matches URLs that are their own URL key: with a path; without port, query, fragment, escape, dot
segment or uppercase host."""
CREDENTIALS = r"(?i)^(\s*https?://)[^/?#\\]*@"
"""Matches scheme, user and password at the start of a URL."""


def normalize(text: str) -> str:
    """Normalize a text: NFC, LF line endings, no surrounding white space or control characters.

    C1 controls become the windows-1252 characters that were meant; other controls and byte order
    marks become a space.
    """
    clean = _LINE_ENDS.sub("\n", text).translate(_REPLACED)
    return unicodedata.normalize("NFC", clean).strip()


def normalize_texts(texts: pl.Series) -> pl.Series:
    """Normalize each text of a series."""
    unclean = may_need_normalization(texts)
    matches = texts.filter(unclean).str.contains(UNCLEAN)
    unclean[unclean] = matches.fill_null(value=False).to_numpy()
    clean = [normalize(text) for text in texts.filter(unclean).to_list()]
    cleaned = pl.Series(clean, dtype=pl.String)
    return replace_where(texts, pl.Series(unclean), cleaned).str.strip_chars()


def to_single_lines(texts: pl.Series) -> pl.Series:
    """Normalize each text, and replace every run of white space by one space."""
    unclean = ~pl.Series(are_clean_lines(texts))
    lines = normalize_texts(texts.filter(unclean)).str.replace_all(r"\s+", " ")
    return replace_where(texts, unclean, lines)


def strip_credentials(urls: pl.Series) -> pl.Series:
    """Remove user name and password from each URL."""
    has_at_sign = urls.str.contains("@", literal=True).fill_null(value=False)
    return replace_where(
        urls, has_at_sign, urls.filter(has_at_sign).str.replace(CREDENTIALS, "${1}")
    )


def are_canonical(urls: pl.Series) -> pl.Series:
    """Return a mask of the URLs that are certainly canonical."""
    return urls.str.contains(CANONICAL)


def url_keys(urls: pl.Series) -> pl.Series:
    """Return the canonical form of each URL; null if it is not a web address."""
    unclear = ~are_canonical(urls)
    canonical = pl.Series(map(canonical_url, urls.filter(unclear).to_list()), dtype=pl.String)
    return replace_where(urls, unclear, canonical)


def canonical_url(url: str) -> str | None:
    """Return the canonical form of a URL; None if it is not a web address in valid Unicode."""
    try:
        canonical = url_key(url)
        canonical.encode()
    except (ValueError, UnicodeError):
        return None
    return unicodedata.normalize("NFC", canonical)
