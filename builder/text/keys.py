"""Derives identifiers of queries and documents: folded text, canonical URLs, keys, printable ids.

A key consists of the first 8 bytes of the MD5 hash of a text, as a big-endian integer, so that keys
sort in the same order as their hexadecimal ids. A key depends only on the bytes of the text.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

import idna
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
_PORT = re.compile(r":\d*$")
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ACCENTS = (
    (0x300, 0x36F), (0x483, 0x489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
    (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xE0100, 0xE01EF),
    (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7),
    (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4), (0x6E7, 0x6E8),
    (0x6EA, 0x6ED),
)  # fmt: skip
"""Code point ranges of combining marks that users omit in queries: accents of Latin, Greek and
Cyrillic letters, Hebrew and Arabic points, variation selectors. Marks of other scripts, such as
Thai and Indic vowels or Japanese voicing marks, are kept like letters."""
_ACCENTS = "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ACCENTS) + "]+"
_NO_ACCENTS = {code: None for first, last in ACCENTS for code in range(first, last + 1)}
_HYPHENATION = r"[\x{ad}\x{2060}]"
"""Pattern of soft hyphens and word joiners, which mark where a line may or may not break."""
_LETTER_APOSTROPHES = "\u02b9\u02bb\u02bc\u02bd\u02c8\ua78c"
"""Apostrophes and primes that Unicode classifies as letters. Some keyboards and word processors
insert these characters, and others insert `'`."""
LIGATURES = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d"}


def fold(text: pl.Expr) -> pl.Expr:
    """Fold a text column: lowercase it, and strip accents, punctuation and extra spaces.

    The steps are: remove soft hyphens, apply NFKD, lowercase, remove `ACCENTS`, expand ligatures,
    and replace every run of characters other than letters, numbers and their marks with one space.
    Apostrophes are not treated as letters (see `_LETTER_APOSTROPHES`). Folding is idempotent.
    """
    folded = text.str.replace_all(_HYPHENATION, "")
    folded = folded.str.normalize("NFKD").str.to_lowercase().str.normalize("NFKD")
    folded = folded.str.replace_all(_ACCENTS, "")
    folded = folded.str.replace_many(list(LIGATURES), list(LIGATURES.values()))
    separators = rf"[[^\p{{L}}\p{{N}}\p{{M}}]{_LETTER_APOSTROPHES}]"
    return replace_runs_with_space(folded, separators).str.strip_chars(" ")


def replace_runs_with_space(text: pl.Expr, characters: str) -> pl.Expr:
    """Replace every run of certain characters in a text column with one space.

    Single spaces, the most frequent runs, are not matched, which makes the function three times as
    fast.

    Args:
        text: Text column.
        characters: Character class of a regular expression; must include the space.
    """
    return text.str.replace_all(f"{characters}{{2,}}|[{characters}--[ ]]", " ")


def strip_accents(text: str) -> str:
    """Remove accents (see `ACCENTS`) from a string; the result is in NFD."""
    return unicodedata.normalize("NFD", text).translate(_NO_ACCENTS)


def fold_texts(texts: Iterable[str]) -> list[str]:
    """Fold each string, i.e. lowercase it and strip accents and punctuation; see `fold`."""
    return fold_series(pl.Series(list(texts), dtype=pl.String)).to_list()


def fold_series(texts: pl.Series) -> pl.Series:
    """Fold a string series in the same way as `fold` folds a text column."""
    return texts.to_frame("text").select(fold(pl.col("text")))["text"]


def key64(text: str) -> int:
    """Return the 64-bit key of a text: the first 8 bytes of its MD5 hash, big-endian."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big")


def hash_to_keys(texts: pl.Series) -> npt.NDArray[np.uint64]:
    """Return the 64-bit key of each text, uint64[n]; see `key64`."""
    data = texts.cast(pl.Binary).to_list()
    digests = b"".join([hashlib.md5(text, usedforsecurity=False).digest() for text in data])
    return np.frombuffer(digests, ">u8")[::2].astype(np.uint64)


def _is_tracking_parameter(parameter: str) -> bool:
    """Whether a URL parameter, such as `utm_source=x`, serves only to track visitors."""
    name = parameter.partition("=")[0].lower()
    return name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)


def _encode_host_as_punycode(url: str) -> str:
    """Return a URL with its Unicode host converted to Punycode.

    Browsers convert hosts in the same way (UTS 46, non-transitional). Hosts that IDNA
    2008 does not allow, such as hosts with emoji, are left for `w3lib` to convert. `w3lib` follows
    IDNA 2003, which replaces the letter `ß` with `ss`.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.isascii():
        return url
    with suppress(idna.IDNAError):
        user, at, _ = parts.netloc.rpartition("@")
        port = _PORT.search(parts.netloc)
        encoded = idna.encode(host, uts46=True).decode()
        return urlunsplit(parts._replace(netloc=f"{user}{at}{encoded}{port[0] if port else ''}"))
    return url


def url_key(url: str) -> str:
    """Return the canonical form of a URL, which identifies a document.

    Scheme and host are lowercased, and hosts are converted to Punycode. Credentials, the default
    port, the fragment and tracking parameters are removed. Query parameters are sorted,
    percent-encoding is normalized, and dot segments are resolved. The rest of the path and of the
    parameters remains unchanged.

    Raises:
        ValueError: the text is not an absolute http or https URL.
    """
    parts = urlsplit(canonicalize_url(_encode_host_as_punycode(url.strip())))
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"expected an absolute http or https URL, found {url[:80]!r}")
    host = parts.netloc.rpartition("@")[2].removesuffix(DEFAULT_PORTS[parts.scheme])
    query = "&".join(p for p in parts.query.split("&") if p and not _is_tracking_parameter(p))
    return urlunsplit((parts.scheme, host, parts.path or "/", query, ""))


def doc_id(key: int) -> str:
    """Return the printable id for a document key: `d` followed by 16 hexadecimal digits."""
    return f"d{key:016x}"


def query_id(key: int) -> str:
    """Return the printable id for a query key: `q` followed by 16 hexadecimal digits."""
    return f"q{key:016x}"


def id_to_key(column: str) -> pl.Expr:
    """Return an expression that converts a column of printable ids to 64-bit keys (UInt64)."""
    return pl.col(column).str.slice(1).str.to_integer(base=16, dtype=pl.UInt64)


def key_to_id(column: str, prefix: str) -> pl.Expr:
    """Return an expression that converts a column of 64-bit keys to printable ids.

    Args:
        column: Name of the column.
        prefix: First character of the ids: `d` for documents, `q` for queries.
    """
    digits = pl.col(column).map_batches(
        _to_hexadecimal_digits, return_dtype=pl.String, is_elementwise=True
    )
    return pl.lit(prefix) + digits


def format_keys(rows: pl.DataFrame) -> list[str]:
    """Return the values of each row as text, separated by spaces.

    Columns `query` and `doc` of 64-bit keys are converted to printable ids.
    """
    ids = [
        key_to_id(name, prefix).alias(name)
        for name, prefix in (("query", "q"), ("doc", "d"))
        if rows.schema.get(name) == pl.UInt64
    ]
    return [" ".join(map(str, row)) for row in rows.with_columns(ids).iter_rows()]


def _to_hexadecimal_digits(keys: pl.Series) -> pl.Series:
    big_endian = pa.py_buffer(keys.to_numpy().astype(">u8").tobytes())
    array = pa.Array.from_buffers(pa.binary(8), len(keys), [None, big_endian])
    return pl.Series(keys.name, array.cast(pa.binary())).bin.encode("hex")


def in_sample(ids: str | pl.Expr, sample_share: float, seed: str) -> pl.Expr:
    """Return a Boolean expression that is true for the ids in a hash-based sample.

    For the same seed, a sample with a larger share contains any sample with a smaller share.
    Membership depends only on the id, the share and the seed, so that all snapshots sample the same
    ids.

    Args:
        ids: Name of a column of printable ids, or an expression for ids.
        sample_share: Expected share of ids in the sample, from 0 to 1.
        seed: Seed of the sample.
    """
    threshold = int(sample_share * 2**64)

    def is_hash_below_threshold(column: pl.Series) -> pl.Series:
        return pl.Series(column.name, hash_to_keys(f"{seed}\n" + column) < threshold)

    expression = pl.col(ids) if isinstance(ids, str) else ids
    return expression.map_batches(
        is_hash_below_threshold, return_dtype=pl.Boolean, is_elementwise=True
    )
