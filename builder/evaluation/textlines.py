"""Reads UTF-8 text files as numbered lines, plain or compressed with gzip or zstd.

Line numbers are 1-based; callers use them in error messages. The compression is detected from
the first bytes, not from the file name. Files are streamed, and the decompressed size of a file and
of each line is limited.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa

from builder.errors import FormatError
from builder.trec.bounded import BYTE_ORDER_MARK, MAX_BYTES, detect_compression, size_limit_error

LINES_PER_BLOCK = 250_000
MAX_LINE_BYTES = 64 * 2**20
"""Maximum size of a line in bytes, far above the size of any real post or judgement."""


def numbered_lines(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[tuple[int, str]]:
    """Yield the 1-based number and the text of each line of a UTF-8 file, without line endings.

    Args:
        path: Plain, gzip or zstd file.
        max_bytes: Maximum decompressed size of the file.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: The file is corrupt or not valid UTF-8, or the file or a line is too large.
    """
    compression = detect_compression(path)
    number, remaining = 0, max_bytes
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            reader = io.BufferedReader(stream, 2**20)
            lines = iter(lambda: reader.readline(MAX_LINE_BYTES + 1), b"")
            for number, raw in enumerate(lines, start=1):
                remaining -= len(raw)
                if remaining < 0:
                    raise size_limit_error(path, max_bytes)
                if len(raw) > MAX_LINE_BYTES:
                    raise FormatError(
                        f"line exceeds the maximum of {MAX_LINE_BYTES} bytes", path, number
                    )
                line = raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw
                yield number, line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8, found {error.reason}", path, number) from error
    except OSError as error:
        message = f"cannot read the {compression or 'file'} stream: {error}"
        raise FormatError(message, path, number + 1) from error


def line_blocks(path: Path, lines_per_block: int = LINES_PER_BLOCK) -> Iterator[pl.DataFrame]:
    """Yield blocks of lines as DataFrames with the columns `line` (1-based number) and `text`.

    Blank lines and lines that start with `#` are skipped.

    Raises:
        UsageError, FormatError: For the same reasons as `numbered_lines`.
    """
    numbers: list[int] = []
    texts: list[str] = []
    for number, text in numbered_lines(path):
        if not text or text.isspace() or text.startswith("#"):
            continue
        numbers.append(number)
        texts.append(text)
        if len(texts) == lines_per_block:
            yield _create_line_block(numbers, texts)
            numbers, texts = [], []
    yield _create_line_block(numbers, texts)


def _create_line_block(numbers: list[int], texts: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {"line": numbers, "text": texts}, schema={"line": pl.UInt32, "text": pl.String}
    )


def check_lines(rows: pl.DataFrame, is_valid: pl.Expr, expected: str, path: Path) -> None:
    """Raise an error for the first invalid line of a block.

    Args:
        rows: Block from `line_blocks`, with additional columns parsed from the text.
        is_valid: Boolean expression; null is treated as false.
        expected: Description of a valid line, for the message.
        path: Path of the file, for the message.

    Raises:
        FormatError: A line is invalid; the message contains its number and text.
    """
    invalid = rows.filter(~is_valid.fill_null(value=False)).head(1)
    if invalid.height:
        line, text = invalid.item(0, "line"), invalid.item(0, "text")
        raise FormatError(f"expected {expected}, found {text[:120]!r}", path, line)
