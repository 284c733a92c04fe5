"""Lists and tables of text that people hand in: what a line is, and what is refused."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from builder.errors import FormatError, UsageError
from builder.evaluation.textlines import numbered_lines
from builder.io.file_types import ARCHIVE_NAME, BACKUP_COPY
from builder.io.sources import Source
from builder.trec.bounded import read_text_lines
from builder.trec.runs import read_run

TEXT = "\ufeffprix\u2028eau\r\nd'été\x0b\rà\x85b\n\n"
LINES = ["prix\u2028eau", "d'été\x0b", "à\x85b", ""]


def _compress_with_size(data: bytes) -> bytes:
    """Compress data as pzstd does: a skippable frame with the size of the frame precedes it."""
    frame = zstandard.compress(data)
    return b"\x50\x2a\x4d\x18\x04\0\0\0" + len(frame).to_bytes(4, "little") + frame


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress, _compress_with_size])
def test_lines_end_as_files_do(pack, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    for text, lines in ((TEXT, LINES), (TEXT + "end", [*LINES, "end"]), ("", []), ("\n", [""])):
        path.write_bytes(pack(text.encode()))
        assert read_text_lines(Source(path, "list")) == lines


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    source = Source(path, "mine/list.txt")
    with pytest.raises(UsageError, match="cannot open file"):
        read_text_lines(source)
    path.write_bytes(b"\xe9t\xe9")
    with pytest.raises(FormatError, match=r"mine/list.txt: expected UTF-8"):
        read_text_lines(source)
    path.write_bytes(gzip.compress(b"eau\n" * 99)[:-4])
    with pytest.raises(FormatError, match="intact gzip"):
        read_text_lines(source)
    path.write_bytes(gzip.compress(b"eau\n" * 99))
    with pytest.raises(FormatError, match="at most 99 bytes"):
        read_text_lines(source, max_bytes=99)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (
            bz2.compress(b"q1 Q0 d1 1 1 x\n"),
            "text, found a bzip2 file; decompress it, or compress it with gzip or zstd",
        ),
        (
            lzma.compress(b"q1 Q0 d1 1 1 x\n"),
            "text, found an xz file; decompress it, or compress it with gzip or zstd",
        ),
        (
            b"PK\x03\x04" + bytes(40),
            "text, found a zip archive; extract it and list its files",
        ),
        (
            b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(40),
            "text, found an Excel workbook; save it as CSV in UTF-8",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40),
            "text, found an Excel workbook; save it as CSV in UTF-8",
        ),
        (
            b"\x04\x22\x4d\x18" + bytes(40),
            "text, found an LZ4 file; decompress it, or compress it with gzip or zstd",
        ),
        (
            b"7z\xbc\xaf\x27\x1c" + bytes(40),
            "text, found a 7z archive; extract it and list its files",
        ),
        (
            b"Rar!\x1a\x07" + bytes(40),
            "text, found a RAR archive; extract it and list its files",
        ),
        (
            b"q.run" + bytes(252) + b"ustar\x0000" + bytes(248),
            "text, found a tar archive; extract it and list its files",
        ),
        (
            b"filedesc://a.arc",
            "text, found an ARC archive; convert it to WARC with warcio recompress",
        ),
        (
            b"SQLite format 3\x00" + bytes(40),
            "text, found a SQLite database; export it as Parquet or JSON lines",
        ),
        (
            b"Obj\x01" + bytes(40),
            "text, found an Avro file; export it as Parquet or JSON lines",
        ),
        (
            b"ARROW1\x00\x00" + bytes(40),
            "text, found an Arrow file; export it as Parquet or JSON lines",
        ),
        (
            "q1 Q0\n".encode("utf-16-le"),
            "text in UTF-8, found UTF-16; convert it with iconv -f UTF-16LE -t UTF-8",
        ),
        (
            "q1 Q0\n".encode("utf-16-be"),
            "text in UTF-8, found UTF-16; convert it with iconv -f UTF-16BE -t UTF-8",
        ),
        (
            b"PAR1" + bytes(40),
            "text, found a Parquet file; export it as text",
        ),
        (
            "q1 Q0 d1 1 1 x\n".encode("utf-16"),
            "text in UTF-8, found UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
        ),
    ],
)
def test_other_file_types_are_named(tmp_path: Path, data: bytes, found: str) -> None:
    path = tmp_path / "2022-06.run"
    path.write_bytes(data)
    for read in (read_run, lambda file: list(numbered_lines(file))):
        with pytest.raises(FormatError) as error:
            read(path)
        assert str(error.value) == f"{path}: expected {found}"


@pytest.mark.parametrize(
    ("name", "is_archive", "is_backup"),
    [
        ("log.zip", True, False),
        ("log.TAR.gz", True, False),
        ("log.tgz", True, False),
        ("log.csv.gz", False, False),
        ("zip.csv", False, False),
        ("log.csv.bak", False, True),
        ("log.csv.old.gz", False, True),
        ("log.csv~", False, True),
        ("log (2).csv", False, True),
        ("log - Copie (3).csv.gz", False, True),
        ("log - copy", False, True),
        ("log.csv.crdownload", False, True),
        ("log(2).csv", False, False),
        ("bold.csv", False, False),
    ],
)
def test_archives_and_backup_copies_have_names(
    name: str, is_archive: bool, is_backup: bool
) -> None:
    assert bool(ARCHIVE_NAME.search(name)) is is_archive
    assert bool(BACKUP_COPY.search(name)) is is_backup
