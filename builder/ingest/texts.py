"""Normalizes columns of texts and URLs.

Input: a column of raw strings. Output: a column of the same length. In a crawl, most texts are
already normalized and most URLs are canonical. A fast scan finds them; only the remaining texts and
URLs are processed one by one.
"""

import re
import unicodedata

import polars as pl

from builder.ingest.text_scan import are_normalized_single_lines, may_need_normalization
from builder.text.keys import url_key
from builder.text.replacement import replace_where

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\u2028\u2029]")
C1 = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0)}
"""Maps each C1 control character to the windows-1252 character with the same byte; to U+FFFD if
windows-1252 does not define the byte."""
_REPLACED = {
    **dict.fromkeys([*range(0x09), *range(0x0E, 0x1C), 0x1F, 0x7F, 0xFEFF, 0xFFFE, 0xFFFF], " "),
    **{code: " " if character == "\ufffd" else character for code, character in C1.items()},
}
"""Maps each disallowed character to its replacement, which is never empty, since removing a
character could join two words."""
UNCLEAN = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}"
    r"\p{M}\u{340}-\u{387}\u{900}-\u{fff}\u{1100}-\u{11ff}\u{1b00}-\u{1bff}\u{1f00}-\u{2001}"
    r"\u{2126}-\u{212b}\u{2329}\u{232a}\u{2adc}\u{f900}-\u{fb4f}"
    r"\u{11000}-\u{11fff}\u{16100}-\u{16dff}\u{1d15e}-\u{1d1c0}\u{2f800}-\u{2fa1f}]"
)
"""Matches every character that normalization may change: by `_LINE_ENDS`, `_REPLACED` or NFC."""

CANONICAL = (
    r"^https?://[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]{2,}"
    r"(?:/|(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+/?)$"
)
"""Matches URLs that are certainly canonical: lowercase host and a path, but no port, query,
fragment, percent-encoding or dot segment."""
CREDENTIALS = r"(?i)^(\s*https?://)[^/?#\\]*@"
"""Matches the scheme, user name and password at the start of a URL."""


def normalize(text: str) -> str:
    """Normalize a text to NFC with LF line endings, without surrounding white space.

    C1 control characters become the windows-1252 characters that were meant. Other control
    characters and byte order marks become spaces.
    """
    clean = _LINE_ENDS.sub("\n", text).translate(_REPLACED)
    return unicodedata.normalize("NFC", clean).strip()


def normalize_texts(texts: pl.Series) -> pl.Series:
    """Normalize each text of a series to NFC with LF line endings; see `normalize`."""
    unclean = may_need_normalization(texts)
    matches = texts.filter(unclean).str.contains(UNCLEAN)
    unclean[unclean] = matches.fill_null(value=False).to_numpy()
    clean = [normalize(text) for text in texts.filter(unclean).to_list()]
    cleaned = pl.Series(clean, dtype=pl.String)
    return replace_where(texts, pl.Series(unclean), cleaned).str.strip_chars()


def to_single_lines(texts: pl.Series) -> pl.Series:
    """Normalize each text, and replace every run of white space with one space."""
    unclean = ~pl.Series(are_normalized_single_lines(texts))
    lines = normalize_texts(texts.filter(unclean)).str.replace_all(r"\s+", " ")
    return replace_where(texts, unclean, lines)


def strip_credentials(urls: pl.Series) -> pl.Series:
    """Remove the user name and password from each URL."""
    has_at_sign = urls.str.contains("@", literal=True).fill_null(value=False)
    return replace_where(
        urls, has_at_sign, urls.filter(has_at_sign).str.replace(CREDENTIALS, "${1}")
    )


def are_canonical(urls: pl.Series) -> pl.Series:
    """Return a Boolean mask of the URLs that are certainly canonical."""
    return urls.str.contains(CANONICAL)


def url_keys(urls: pl.Series) -> pl.Series:
    """Return the canonical form of each URL; null for values that are not http or https URLs."""
    unclear = ~are_canonical(urls)
    canonical = pl.Series(map(canonical_url, urls.filter(unclear).to_list()), dtype=pl.String)
    return replace_where(urls, unclear, canonical)


def canonical_url(url: str) -> str | None:
    """Return the canonical form of a URL in NFC; None if it is not a valid http or https URL."""
    try:
        canonical = url_key(url)
        canonical.encode()
    except (ValueError, UnicodeError):
        return None
    return unicodedata.normalize("NFC", canonical)
