"""Recognizes files that are not text by their first bytes, and backup copies by their names."""

import re
from pathlib import Path

from builder.errors import FormatError

HEAD_BYTES = 512
"""Number of bytes at the start of a file that suffice to recognize its type."""
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ZSTD_START = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
"""Matches the first bytes of a zstd file, which is a compressed or a skippable frame."""
ARCHIVE_NAME = re.compile(r"(?i)\.(?:zip|7z|rar|tar|tgz|tar\.\w+)$")
"""Matches the file name of an archive, which must be unpacked before its files can be read."""
BACKUP_COPY = re.compile(
    r"(?:\.(?:bak|old|orig|tmp|part|partial|crdownload|download)(?:\.(?:gz|zst))?|~"
    r"|(?: \(\d+\)| - (?:copy|copie|kopie)(?: \(\d+\))?)(?:\.\w+)*)$",
    re.IGNORECASE,
)
"""Matches the end of the name of a backup copy or incomplete download."""
UTF16 = (
    (re.compile(rb"\xff\xfe|\xfe\xff"), "UTF-16"),
    (re.compile(rb"(?:[\t\r\n -~]\x00){4}"), "UTF-16LE"),
    (re.compile(rb"(?:\x00[\t\r\n -~]){4}"), "UTF-16BE"),
)
"""Patterns of the first bytes of a text in UTF-16, each with the name of the encoding in `iconv`.
The text starts with a byte order mark or, if it has none, with four ASCII characters."""
REPACK = "decompress it, or compress it with gzip or zstd"
UNPACK = "extract it and list its files"
SAVE = "save it as CSV in UTF-8"
EXPORT = "export it as Parquet or JSON lines"
UNSUPPORTED = (
    (0, rb"BZh[1-9]1AY&SY", "a bzip2 file", REPACK),
    (0, rb"\xfd7zXZ\x00", "an xz file", REPACK),
    (0, rb"\x04\x22\x4d\x18", "an LZ4 file", REPACK),
    (0, rb"(?s)PK\x03\x04.{26}\[Content_Types\]|\xd0\xcf\x11\xe0", "an Excel workbook", SAVE),
    (0, rb"PK\x03\x04", "a zip archive", UNPACK),
    (0, rb"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (0, rb"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (257, rb"ustar[\x00 ]", "a tar archive", UNPACK),
    (0, rb"filedesc://", "an ARC archive", "convert it to WARC with warcio recompress"),
    (0, rb"SQLite format 3\x00", "a SQLite database", EXPORT),
    (0, rb"Obj\x01", "an Avro file", EXPORT),
    (0, rb"ARROW1\x00\x00", "an Arrow file", EXPORT),
)
"""Signatures of unsupported file types: offset, pattern, description, advice."""


def check_file_type(first_bytes: bytes, file: Path | str) -> None:
    """Raise an error if the first bytes of a file show UTF-16 text or an unsupported file type.

    Args:
        first_bytes: First bytes of the file.
        file: Path or name of the file, for the message.

    Raises:
        FormatError: the file type is not supported; the message names the type and says how to
            convert the file.
    """
    for start, encoding in UTF16:
        if start.match(first_bytes):
            raise FormatError(
                f"expected text in UTF-8, found UTF-16; convert it with iconv -f {encoding} "
                "-t UTF-8",
                file,
            )
    for offset, pattern, kind, advice in UNSUPPORTED:
        if re.match(pattern, first_bytes[offset:]):
            raise FormatError(f"expected text, found {kind}; {advice}", file)
