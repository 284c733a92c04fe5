"""Text files as numbered lines, plain, gzip or zstd.

In: a path. Out: lines without their line end, each with its 1-based number, so that every error of
a reader can say where. The compression is told by the first bytes, never by the name; the file is
streamed, and neither it nor a line of it unpacks beyond a bound.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa

from builder.errors import FormatError
from builder.trec.bounded import BYTE_ORDER_MARK, MAX_BYTES, detect_compression, size_limit_error

LINES_PER_BLOCK = 250_000
LONGEST = 64 * 2**20
"""Bytes of a line; no post and no judgement has as many."""


def numbered_lines(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file with their numbers; LF and CRLF ends are cut off.

    Args:
        path: A plain, gzip or zstd file.
        max_bytes: Largest decompressed size accepted.

    Raises:
        UsageError: the path is not a readable file.
        FormatError: the file is not UTF-8, its compression is broken, or it or a line is too large.
    """
    compression = detect_compression(path)
    number, room = 0, max_bytes
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            reader = io.BufferedReader(stream, 2**20)
            lines = iter(lambda: reader.readline(LONGEST + 1), b"")
            for number, raw in enumerate(lines, start=1):
                room -= len(raw)
                if room < 0:
                    raise size_limit_error(path, max_bytes)
                if len(raw) > LONGEST:
                    raise FormatError(f"expected a line of at most {LONGEST} bytes", path, number)
                line = raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw
                yield number, line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8, found {error.reason}", path, number) from error
    except OSError as error:
        message = f"expected an intact {compression or 'file'} stream ({error})"
        raise FormatError(message, path, number + 1) from error


def line_blocks(path: Path, lines_per_block: int = LINES_PER_BLOCK) -> Iterator[pl.DataFrame]:
    """The file as frames with columns line (UInt32) and text, without blank and `#` lines.

    Raises:
        UsageError, FormatError: as `numbered_lines`.
    """
    numbers: list[int] = []
    texts: list[str] = []
    for number, text in numbered_lines(path):
        if not text or text.isspace() or text.startswith("#"):
            continue
        numbers.append(number)
        texts.append(text)
        if len(texts) == lines_per_block:
            yield _block(numbers, texts)
            numbers, texts = [], []
    yield _block(numbers, texts)


def _block(numbers: list[int], texts: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {"line": numbers, "text": texts}, schema={"line": pl.UInt32, "text": pl.String}
    )


def refuse_first(rows: pl.DataFrame, valid: pl.Expr, expected: str, path: Path) -> None:
    """Refuse a block of lines at its first line for which `valid` does not hold.

    Args:
        rows: A frame with the columns of `line_blocks` beside whatever was parsed from them.
        valid: A Boolean expression; null counts as false.
        expected: What a line should have been.
        path: The file, for the message.

    Raises:
        FormatError: at the first offending line, with what was found there.
    """
    wrong = rows.filter(~valid.fill_null(value=False)).head(1)
    if wrong.height:
        line, text = wrong.item(0, "line"), wrong.item(0, "text")
        raise FormatError(f"expected {expected}, found {text[:120]!r}", path, line)
