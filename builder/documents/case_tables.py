r"""Lookup tables that lowercase non-ASCII characters and recognize word characters.

Input: UTF-8 bytes and the offsets of non-ASCII characters. Output: the bytes with these characters
lowercased in place.

The tables are computed with Polars, so that they match the Unicode version that Polars uses in
regular expressions. They omit joiners, code points of `TABLE_SIZE` and above, and characters whose
lowercase form depends on the context or has a different length in bytes.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.words import JOINERS, WORD
from builder.text.text_bytes import Bytes, Positions

TABLE_SIZE = 0x20000
"""Number of code points in each table."""
SURROGATES = range(0xD800, 0xE000)
SIGMA = 0x3A3
"""Capital sigma; its lowercase form is different at the end of a word."""
SEPARATOR, WORD_START, NOT_IN_TABLE, WORD_MARK = range(4)
TWO_BYTES, THREE_BYTES, FOUR_BYTES = 0xC2, 0xE0, 0xF0
"""Smallest lead bytes of two-, three- and four-byte UTF-8 sequences."""
NON_ASCII = TWO_BYTES
LEAD_BYTES = np.array([0, 0, 0xC0, 0xE0, 0xF0], dtype=np.uint8)
CONTINUATION, LOW_SIX_BITS, SIX = np.uint8(0x80), np.uint8(0x3F), np.uint32(6)
"""Bits for encoding UTF-8: marker bits of the first byte by number of bytes (`LEAD_BYTES`), marker
bits of continuation bytes, and mask and number of their payload bits."""

CodePoints = npt.NDArray[np.uint32]


class CharacterTables(NamedTuple):
    r"""Lookup tables for characters, indexed by code point.

    Args:
        lowercase: Code point of the lowercase form.
        kinds: Kind of the lowercase form: `WORD_START` if it can start a word, `WORD_MARK` if it
            can only continue a word, else `SEPARATOR`; `NOT_IN_TABLE` for omitted characters.
    """

    lowercase: CodePoints
    kinds: npt.NDArray[np.uint8]


@cache
def character_tables() -> CharacterTables:
    """Return the lookup tables for characters; they are computed once per process."""
    code_points = np.delete(np.arange(TABLE_SIZE, dtype="<u4"), SURROGATES)
    texts = pl.Series(list(code_points.tobytes().decode("utf-32-le")))
    lowered = texts.str.to_lowercase()
    is_same_size = (lowered.str.len_chars() == 1) & (
        lowered.str.len_bytes() == texts.str.len_bytes()
    )
    is_joiner = texts.str.contains(JOINERS).to_numpy()
    is_known = is_same_size.to_numpy() & (code_points != SIGMA) & ~is_joiner
    lowercase = np.arange(TABLE_SIZE, dtype=np.uint32)
    encoded = "".join(lowered.filter(pl.Series(is_known)).to_list()).encode("utf-32-le")
    lowercase[code_points[is_known]] = np.frombuffer(encoded, "<u4")
    kinds = np.full(TABLE_SIZE, NOT_IN_TABLE, dtype=np.uint8)
    can_start, can_continue = (lowered.str.contains(p).to_numpy() for p in (WORD, r"\w"))
    kinds[code_points[is_known]] = np.where(
        can_start, WORD_START, np.where(can_continue, WORD_MARK, SEPARATOR)
    )[is_known]
    return CharacterTables(lowercase, kinds)


def lowercase_non_ascii_in_place(data: Bytes, offsets: Positions) -> tuple[Bytes, Positions]:
    """Lowercase the non-ASCII characters of UTF-8 data in place; return their kinds and sizes.

    Args:
        data: UTF-8 bytes; modified.
        offsets: Offsets of the non-ASCII characters, int64[n].

    Returns:
        Kind of each character, uint8[n], and its size in bytes, int64[n]. Characters of the kind
        `NOT_IN_TABLE` are not modified.
    """
    first = data[offsets]
    sizes = 2 + (first >= THREE_BYTES) + (first >= FOUR_BYTES).astype(np.int64)
    code_points = _decode_code_points(data, offsets, first)
    is_outside = code_points >= TABLE_SIZE
    code_points[is_outside] = 0
    table = character_tables()
    kinds, lowercase = table.kinds[code_points], table.lowercase[code_points]
    kinds[is_outside] = NOT_IN_TABLE
    is_changed = np.flatnonzero(lowercase != code_points)
    _encode_code_points(data, offsets[is_changed], lowercase[is_changed], sizes[is_changed])
    return kinds, sizes


def _decode_code_points(data: Bytes, offsets: Positions, first_bytes: Bytes) -> CodePoints:
    """Decode the UTF-8 characters at the given offsets to code points.

    Args:
        data: UTF-8 bytes.
        offsets: Offset of each character, which must not be ASCII.
        first_bytes: First byte of each character.
    """
    code_points = (first_bytes & 0x1F).astype(np.uint32)
    code_points = code_points << SIX | (data[offsets + 1] & LOW_SIX_BITS)
    longer = np.flatnonzero(first_bytes >= THREE_BYTES)
    code_points[longer] = code_points[longer] << SIX | (data[offsets[longer] + 2] & LOW_SIX_BITS)
    longest = longer[first_bytes[longer] >= FOUR_BYTES]
    code_points[longest] = (code_points[longest] & 0x7FFF) << SIX | (
        data[offsets[longest] + 3] & LOW_SIX_BITS
    )
    return code_points


def _encode_code_points(
    data: Bytes, offsets: Positions, code_points: CodePoints, sizes: Positions
) -> None:
    """Overwrite characters in place with the UTF-8 encoding of replacement code points.

    Args:
        data: UTF-8 bytes; modified.
        offsets: Offset of each character to replace.
        code_points: Replacement for each character, with the same encoded length.
        sizes: Encoded length of each character in bytes.
    """
    shifts = (6 * (sizes - 1)).astype(np.uint32)
    data[offsets] = LEAD_BYTES[sizes] | (code_points >> shifts).astype(np.uint8)
    while len(offsets):
        offsets, shifts = offsets + 1, shifts - SIX
        data[offsets] = CONTINUATION | (code_points >> shifts).astype(np.uint8) & LOW_SIX_BITS
        more = shifts > 0
        offsets, code_points, shifts = offsets[more], code_points[more], shifts[more]
