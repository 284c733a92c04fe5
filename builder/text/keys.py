"""Identity of queries and documents: folded text, canonical URLs, 64-bit keys, printable ids.

A key is the first 8 bytes of the MD5 of a text as a big-endian integer, so that keys sort like
their hexadecimal ids. It depends only on the bytes of the text.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from w3lib.url import canonicalize_url

TRACKING_PREFIXES = ("utm_", "mtm_", "hsa_", "_hs")
TRACKING_PARAMETERS = frozenset(
    re.split(
        r"\s+",
        "gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid mc_cid mc_eid "
        "xtor at_medium at_campaign pk_campaign pk_kwd _ga _gl",
    )
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ACCENTS = (
    (0x300, 0x36F), (0x483, 0x489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
    (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xE0100, 0xE01EF),
    (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7),
    (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4), (0x6E7, 0x6E8),
    (0x6EA, 0x6ED),
)  # fmt: skip
"""Combining marks that searchers omit: accents of Latin, Greek and Cyrillic letters, Hebrew and
Arabic points, variation selectors. Marks of other scripts, such as Thai and Indic vowels or
Japanese voicing, count as letters."""
_ACCENTS = "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ACCENTS) + "]+"
_NO_ACCENTS = {code: None for first, last in ACCENTS for code in range(first, last + 1)}
_HYPHENATION = r"[\x{ad}\x{2060}]"
"""Soft hyphens and word joiners, which mark where a line may or may not break."""
LIGATURES = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d"}


def fold(text: pl.Expr) -> pl.Expr:
    """Fold a text column: remove case, accents, punctuation and extra spaces.

    Removes soft hyphens, applies NFKD, lowercases, removes `ACCENTS`, expands ligatures, and
    replaces every run of characters other than letters, numbers and their marks with one space.
    Idempotent.
    """
    folded = text.str.replace_all(_HYPHENATION, "")
    folded = folded.str.normalize("NFKD").str.to_lowercase().str.normalize("NFKD")
    folded = folded.str.replace_all(_ACCENTS, "")
    folded = folded.str.replace_many(list(LIGATURES), list(LIGATURES.values()))
    return collapse_runs(folded, r"[^\p{L}\p{N}\p{M}]").str.strip_chars(" ")


def collapse_runs(text: pl.Expr, characters: str) -> pl.Expr:
    """Replace every run of certain characters by one space.

    The pattern does not match single spaces, the most frequent run, which makes it three times as
    fast.

    Args:
        text: The column.
        characters: Regular expression character class that includes the space.
    """
    return text.str.replace_all(f"{characters}{{2,}}|[{characters}--[ ]]", " ")


def strip_accents(text: str) -> str:
    """Remove `ACCENTS` from a string; the result is in NFD."""
    return unicodedata.normalize("NFD", text).translate(_NO_ACCENTS)


def fold_texts(texts: Iterable[str]) -> list[str]:
    """Fold strings: remove case, accents, punctuation and extra spaces."""
    return fold_series(pl.Series(list(texts), dtype=pl.String)).to_list()


def fold_series(texts: pl.Series) -> pl.Series:
    """Fold a string series: remove case, accents, punctuation and extra spaces."""
    return texts.to_frame("text").select(fold(pl.col("text")))["text"]


def key64(text: str) -> int:
    """Return the 64-bit key of a text: the first 8 bytes of its MD5, big-endian."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big")


def keys64(texts: pl.Series) -> npt.NDArray[np.uint64]:
    """Return the 64-bit key of each text, uint64[n]; see `key64`."""
    data = texts.cast(pl.Binary).to_list()
    digests = b"".join([hashlib.md5(text, usedforsecurity=False).digest() for text in data])
    return np.frombuffer(digests, ">u8")[::2].astype(np.uint64)


def _is_tracking(parameter: str) -> bool:
    """Whether a URL parameter only serves to track visitors."""
    name = parameter.partition("=")[0].lower()
    return name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)


def url_key(url: str) -> str:
    """Return the canonical form of a URL: the identity of a document.

    Scheme and host are lowercased; credentials, default port, fragment and tracking parameters
    removed; query parameters sorted; escapes normalized; dot segments resolved. The rest of the
    path and of the parameters is unchanged.

    Raises:
        ValueError: the text is not an absolute http or https URL.
    """
    parts = urlsplit(canonicalize_url(url.strip()))
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"not an absolute http or https URL: {url[:80]!r}")
    host = parts.netloc.rpartition("@")[2].removesuffix(DEFAULT_PORTS[parts.scheme])
    query = "&".join(p for p in parts.query.split("&") if p and not _is_tracking(p))
    return urlunsplit((parts.scheme, host, parts.path or "/", query, ""))


def doc_id(key: int) -> str:
    """Return the printable id of a document key: `d` and 16 hexadecimal digits."""
    return f"d{key:016x}"


def query_id(key: int) -> str:
    """Return the printable id of a query key: `q` and 16 hexadecimal digits."""
    return f"q{key:016x}"


def id_to_key(column: str) -> pl.Expr:
    """Return an expression for the 64-bit keys (UInt64) in a column of printable ids."""
    return pl.col(column).str.slice(1).str.to_integer(base=16, dtype=pl.UInt64)


def key_to_id(column: str, prefix: str) -> pl.Expr:
    """Return an expression for the printable ids of a column of 64-bit keys."""
    digits = pl.col(column).map_batches(_hexadecimal, return_dtype=pl.String, is_elementwise=True)
    return pl.lit(prefix) + digits


def _hexadecimal(keys: pl.Series) -> pl.Series:
    big_endian = pa.py_buffer(keys.to_numpy().astype(">u8").tobytes())
    array = pa.Array.from_buffers(pa.binary(8), len(keys), [None, big_endian])
    return pl.Series(keys.name, array.cast(pa.binary())).bin.encode("hex")


def in_sample(ids: str | pl.Expr, share: float, seed: str) -> pl.Expr:
    """Return an expression for whether printable ids belong to a hash-based sample.

    A larger share contains the smaller one. Only id and seed decide, so an id is in the sample of
    every snapshot or of none.
    """
    threshold = int(share * 2**64)

    def is_below_threshold(column: pl.Series) -> pl.Series:
        return pl.Series(column.name, keys64(f"{seed}\n" + column) < threshold)

    expression = pl.col(ids) if isinstance(ids, str) else ids
    return expression.map_batches(is_below_threshold, return_dtype=pl.Boolean, is_elementwise=True)
