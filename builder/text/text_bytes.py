"""Access the UTF-8 bytes of a string series as NumPy arrays."""

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


class TextBytes(NamedTuple):
    """UTF-8 bytes of n texts and their offsets.

    Args:
        data: Bytes, uint8; may extend beyond the texts on both sides.
        ends: Offsets, int64[n + 1]; a null is an empty text.
    """

    data: Bytes
    ends: Positions

    def to_series(self) -> pl.Series:
        """Return the texts as a string series."""
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.data)]
        array = pa.Array.from_buffers(pa.large_string(), len(self.ends) - 1, buffers)
        return pl.Series(pl.from_arrow(array), dtype=pl.String)


def to_bytes(texts: pl.Series) -> TextBytes:
    """Return the UTF-8 bytes and offsets of a string series, without copying."""
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    array_bytes = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return TextBytes(array_bytes, ends)


def md5_hex_digests(data: Bytes, starts: Positions, stops: Positions) -> list[str]:
    """Return the hexadecimal MD5 of each range of bytes."""
    view, bounds = data.data, zip(starts.tolist(), stops.tolist(), strict=True)
    return [hashlib.md5(view[a:b], usedforsecurity=False).hexdigest() for a, b in bounds]


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
