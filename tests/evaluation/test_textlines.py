"""Lines of files that people hand in: numbers, ends, compression, bounds."""

import gzip
from pathlib import Path

import polars as pl
import pytest
import zstandard

from builder.errors import FormatError, UsageError
from builder.evaluation.textlines import MAX_LINE_BYTES, check_lines, line_blocks, numbered_lines

LINES = "\ufeffun\r\ndeux\n\n# trois\n  \nquatre é"
WANTED = [(1, "un"), (2, "deux"), (3, ""), (4, "# trois"), (5, "  "), (6, "quatre é")]


@pytest.mark.parametrize(
    "packed",
    [LINES.encode(), gzip.compress(LINES.encode(), mtime=0), zstandard.compress(LINES.encode())],
    ids=["plain", "gzip", "zstd"],
)
def test_lines_have_their_numbers(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(packed)
    assert list(numbered_lines(path)) == WANTED
    blocks = [block.rows() for block in line_blocks(path, 2)]
    assert blocks == [[(1, "un"), (2, "deux")], [(6, "quatre é")]]


def test_a_line_without_end_is_an_error_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"0" * (MAX_LINE_BYTES + 1)))
    with pytest.raises(
        FormatError, match=rf"bomb.gz, line 2: line exceeds the maximum of {MAX_LINE_BYTES}"
    ):
        list(numbered_lines(path))
    path.write_bytes(gzip.compress(b"a\n" + b"0" * (MAX_LINE_BYTES - 1) + b"\nb"))
    assert [len(text) for _, text in numbered_lines(path)] == [1, MAX_LINE_BYTES - 1, 1]


def test_many_lines_are_an_error_beyond_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"0\n" * 500))
    assert sum(1 for _ in numbered_lines(path, 1000)) == 500
    with pytest.raises(FormatError, match="at most 999 bytes after decompression"):
        list(numbered_lines(path, 999))


def test_damage_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(FormatError, match="lines, line 2: expected UTF-8, found invalid start"):
        list(numbered_lines(path))
    path.write_bytes(gzip.compress(b"0\n" * 50_000)[:-20])
    with pytest.raises(FormatError, match="cannot read the gzip stream"):
        list(numbered_lines(path))
    path.write_bytes(gzip.compress(b"0\n")[:-4])
    with pytest.raises(FormatError, match="lines, line 1: cannot read the gzip stream"):
        list(numbered_lines(path))
    with pytest.raises(UsageError, match="expected a file, found a folder"):
        list(numbered_lines(tmp_path))


def test_the_first_invalid_line_is_named_by_120_characters(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("1\n" + "x" * 200 + "\ny\n")
    (rows,) = line_blocks(path, 10)
    check_lines(rows.head(1), pl.col("text") == "1", "a digit", path)
    with pytest.raises(FormatError) as caught:
        check_lines(rows, pl.col("text") == "1", "a digit", path)
    assert str(caught.value) == f"{path}, line 2: expected a digit, found {'x' * 120!r}"
    invalid = rows.with_columns(number=pl.lit(None, pl.Int64))
    with pytest.raises(FormatError, match=r"line 1: expected a number, found '1'$"):
        check_lines(invalid, pl.col("number") > 0, "a number", path)
