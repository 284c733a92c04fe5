"""Provides the UTF-8 bytes of Polars string series as NumPy arrays."""

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


class TextBytes(NamedTuple):
    """UTF-8 bytes of n texts, and the offsets of the texts.

    Args:
        data: Bytes (uint8) that include the texts; other bytes may precede and follow them.
        ends: Byte offset of the first text, then the end offset of each text, int64[n + 1]; null
            texts are empty.
    """

    data: Bytes
    ends: Positions

    def to_series(self) -> pl.Series:
        """Return the texts as a string series."""
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.data)]
        array = pa.Array.from_buffers(pa.large_string(), len(self.ends) - 1, buffers)
        return pl.Series(pl.from_arrow(array), dtype=pl.String)


def to_text_bytes(texts: pl.Series) -> TextBytes:
    """Return the UTF-8 bytes and offsets of a string series, without copying the bytes."""
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    array_bytes = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return TextBytes(array_bytes, ends)


def md5_hex_digests(data: Bytes, starts: Positions, stops: Positions) -> list[str]:
    """Return the hexadecimal MD5 hash of each byte range, given start and stop offsets."""
    view, bounds = data.data, zip(starts.tolist(), stops.tolist(), strict=True)
    return [hashlib.md5(view[a:b], usedforsecurity=False).hexdigest() for a, b in bounds]


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
