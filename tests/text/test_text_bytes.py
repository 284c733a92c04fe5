"""Texts as bytes and offsets."""

import numpy as np
import polars as pl

from builder.text.text_bytes import is_utf8, md5_hex_digests, to_text_bytes


def test_texts_are_bytes_between_offsets() -> None:
    texts = pl.Series(["eau", "été", None, ""])
    found = to_text_bytes(texts)
    assert found.ends.tolist() == [0, 3, 8, 8, 8]
    assert found.data[:8].tobytes() == "eauété".encode()
    assert found.to_series().to_list() == ["eau", "été", "", ""]
    part = to_text_bytes(texts[1:3])
    assert np.diff(part.ends).tolist() == [5, 0]
    assert part.to_series().to_list() == ["été", ""]
    assert to_text_bytes(pl.Series([], dtype=pl.String)).to_series().to_list() == []
    assert to_text_bytes(pl.Series([], dtype=pl.String)).to_series().dtype == pl.String


def test_each_range_of_bytes_has_its_hash() -> None:
    data = np.frombuffer(b"xabcy", np.uint8)
    starts, stops = np.array([1, 0]), np.array([4, 0])
    assert md5_hex_digests(data, starts, stops) == [
        "900150983cd24fb0d6963f7d28e17f72",
        "d41d8cd98f00b204e9800998ecf8427e",
    ]


def test_bytes_are_utf8_or_not() -> None:
    assert is_utf8("été".encode())
    assert is_utf8(b"")
    assert not is_utf8("été".encode("latin-1"))
