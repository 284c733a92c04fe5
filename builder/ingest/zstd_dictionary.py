"""Creates decompressors for zstd files that may contain their own dictionary.

A WARC archive whose records were compressed with a dictionary starts with a skippable frame, which
contains the dictionary, plain or compressed with zstd (IIPC: "Zstandard Compression for WARC").
"""

from pathlib import Path

import zstandard

from builder.io.file_types import ZSTD

DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
MAX_DICTIONARY_BYTES = 2**26
"""Maximum size of a dictionary in bytes; zstd trains dictionaries of up to 110 KiB by default."""


def create_decompressor(path: Path) -> zstandard.ZstdDecompressor:
    """Return a decompressor for a file, with the dictionary at the start of the file, if any.

    If the dictionary is damaged or larger than `MAX_DICTIONARY_BYTES`, it is ignored; the frames
    that need it then cannot be decompressed.
    """
    try:
        return zstandard.ZstdDecompressor(dict_data=_read_dictionary(path))
    except zstandard.ZstdError:
        return zstandard.ZstdDecompressor()


def _read_dictionary(path: Path) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary at the start of a file; None if there is none or it is too large.

    Raises:
        ZstdError: the dictionary is compressed and damaged.
    """
    with path.open("rb") as file:
        magic, size = file.read(4), int.from_bytes(file.read(4), "little")
        if magic != DICTIONARY_FRAME or size > MAX_DICTIONARY_BYTES:
            return None
        content = file.read(size)
    if content.startswith(ZSTD):
        if zstandard.frame_content_size(content) > MAX_DICTIONARY_BYTES:
            return None
        content = zstandard.ZstdDecompressor().decompress(content, MAX_DICTIONARY_BYTES)
    return zstandard.ZstdCompressionDict(content)
