"""Texts and addresses of a whole block of records, normalised together.

In: columns of raw strings. Out: columns of the same length. Most texts of a crawl are clean, and
most addresses are canonical already: these are found by one scan and left as they are; only the
others are looked at one by one.
"""

import re
import unicodedata

import polars as pl

from builder.ingest.doubtful import are_doubtful, are_plain_lines
from builder.text.keys import url_key
from builder.text.replacement import replaced

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\u2028\u2029]")
C1 = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0)}
"""The windows-1252 character of each C1 control, as WHATWG decodes them; U+FFFD where none is."""
_CONTROLS = {
    **dict.fromkeys([*range(0x09), *range(0x0E, 0x1C), 0x1F, 0x7F, 0xFEFF, 0xFFFE, 0xFFFF], " "),
    **{code: " " if character == "\ufffd" else character for code, character in C1.items()},
}
"""What stands for each character that texts do not have: never nothing, which would join words."""
UNCLEAN = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}"
    r"\p{M}\u{340}-\u{387}\u{900}-\u{fff}\u{1100}-\u{11ff}\u{1b00}-\u{1bff}\u{1f00}-\u{2001}"
    r"\u{2126}-\u{212b}\u{2329}\u{232a}\u{2adc}\u{f900}-\u{fb4f}"
    r"\u{11000}-\u{11fff}\u{16100}-\u{16dff}\u{1d15e}-\u{1d1c0}\u{2f800}-\u{2fa1f}]"
)
"""What `_LINE_ENDS` or `_CONTROLS` would change, and all that NFC may change or join."""

CANONICAL = (
    r"^https?://[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]{2,}"
    r"(?:/|(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+/?)$"
)
"""Addresses that are their own URL key: no port, query, fragment, escape, dot segment or capital
in the host, and a path."""
CREDENTIALS = r"(?i)^(\s*https?://)[^/?#\\]*@"
"""The beginning of an address with a user and a password, which are no part of it."""


def normalise(text: str) -> str:
    """NFC, LF line ends, no outer white space, no control characters.

    C1 controls take their meaning in windows-1252, as which they were written; other controls and
    byte order marks become a space.
    """
    clean = _LINE_ENDS.sub("\n", text).translate(_CONTROLS)
    return unicodedata.normalize("NFC", clean).strip()


def normalise_texts(texts: pl.Series) -> pl.Series:
    """`normalise` of each text."""
    unclean = are_doubtful(texts)
    seen = texts.filter(unclean).str.contains(UNCLEAN)
    unclean[unclean] = seen.fill_null(value=False).to_numpy()
    clean = [normalise(text) for text in texts.filter(unclean).to_list()]
    others = pl.Series(clean, dtype=pl.String)
    return replaced(texts, pl.Series(unclean), others).str.strip_chars()


def one_line(texts: pl.Series) -> pl.Series:
    """Texts without line ends and runs of white space."""
    others = ~pl.Series(are_plain_lines(texts))
    lines = normalise_texts(texts.filter(others)).str.replace_all(r"\s+", " ")
    return replaced(texts, others, lines)


def without_credentials(urls: pl.Series) -> pl.Series:
    """Addresses without the users and passwords that they begin with."""
    some = urls.str.contains("@", literal=True).fill_null(value=False)
    return replaced(urls, some, urls.filter(some).str.replace(CREDENTIALS, "${1}"))


def are_canonical(urls: pl.Series) -> pl.Series:
    """Whether each address is plainly its own URL key; others may be, too."""
    return urls.str.contains(CANONICAL)


def url_keys(urls: pl.Series) -> pl.Series:
    """The URL key of each address; null where it is no web address."""
    others = ~are_canonical(urls)
    canonical = pl.Series(map(canonical_url, urls.filter(others).to_list()), dtype=pl.String)
    return replaced(urls, others, canonical)


def canonical_url(url: str) -> str | None:
    """The URL key, or None where the text is no web address in clean Unicode."""
    try:
        canonical = url_key(url)
        canonical.encode()
    except (ValueError, UnicodeError):
        return None
    return unicodedata.normalize("NFC", canonical)
