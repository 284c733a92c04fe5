"""Strict parser for whitespace-separated TREC files.

Parses runs (`query Q0 document rank score tag`), qrels (`query 0 document grade`) and scores files
(`query document score`) into a frame with one row per line, in file order, and the columns
`query_id`, `doc_id` and the score or grade. A wrong number of columns, a malformed number or a
duplicate (query, document) pair raises an error that names file and line. Blank lines and CRLF are
accepted.

Files whose columns are separated by single characters are parsed by Arrow. All other files, and
files with an error, are parsed line by line, which gives the same rows, or the number of the line
with the error.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv

from builder.errors import FormatError

_FLOAT = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)
_INTEGER = re.compile(r"[+-]?0*\d{1,10}", re.ASCII)
_INT32 = range(-(2**31), 2**31)
_SPACE = ord(" ")
_CACHED_BYTES = 2**18
"""Number of bytes scanned at a time: few enough that the cache of a CPU core holds them."""


@dataclass(frozen=True)
class TrecFormat:
    """Columns of a TREC file format.

    Args:
        name: Name of the format in error messages.
        columns: Column names, in order.
        value_column: Name of the numeric column to parse.
        is_integer: Whether the numeric column is Int32; otherwise, it is Float64.
    """

    name: str
    columns: tuple[str, ...]
    value_column: str
    is_integer: bool = False

    def schema(self) -> dict[str, pl.DataType]:
        """Return the Polars schema of the frame that `parse_trec` returns."""
        value = pl.Int32() if self.is_integer else pl.Float64()
        return {"query_id": pl.String(), "doc_id": pl.String(), self.value_column: value}


RUN = TrecFormat("TREC run", ("query_id", "Q0", "doc_id", "rank", "score", "tag"), "score")
QRELS = TrecFormat(
    "TREC qrels file", ("query_id", "iteration", "doc_id", "grade"), "grade", is_integer=True
)
SCORES = TrecFormat("scores file", ("query_id", "doc_id", "score"), "score")


def parse_trec(data: bytes, trec_format: TrecFormat, path: Path) -> pl.DataFrame:
    """Parse the content of a TREC file into a frame with one row per line, in file order.

    Args:
        data: Decompressed bytes of the file.
        trec_format: Columns of the file.
        path: Path of the file, for error messages.

    Returns:
        Columns `query_id` and `doc_id` (strings) and `trec_format.value_column`; each
        (`query_id`, `doc_id`) pair is unique.

    Raises:
        FormatError: A line is malformed or repeats a (query, document) pair; the error names file
            and line.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if data.endswith(b"\n\n"):
        data = data.rstrip(b"\n")
    frame = _parse_with_arrow(data, trec_format)
    return _parse_line_by_line(data, trec_format, path) if frame is None else frame


def _parse_with_arrow(data: bytes, trec_format: TrecFormat) -> pl.DataFrame | None:
    """Parse a file with Arrow; return None if it must be parsed line by line."""
    separators = _count_single_separators(data)
    if separators is None:
        return None
    delimiter = "\t" if b"\t" in first_nonblank_line(data) else " "
    dtypes = {"query_id": pa.string(), "doc_id": pa.string()}
    dtypes[trec_format.value_column] = pa.int32() if trec_format.is_integer else pa.float64()
    try:
        table = pyarrow.csv.read_csv(
            _copy_to_arrow(data),
            pyarrow.csv.ReadOptions(column_names=list(trec_format.columns)),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
            pyarrow.csv.ConvertOptions(column_types=dtypes, include_columns=list(dtypes)),
        )
    except pa.ArrowInvalid:
        return None
    if separators != table.num_rows * len(trec_format.columns) - (not data.endswith(b"\n")):
        return None  # a field contains a control character or a different separator
    if trec_format.is_integer and (
        b" 0x" in data or b" 0X" in data or b"\t0x" in data or b"\t0X" in data
    ):
        return None  # Arrow accepts hexadecimal numbers, but TREC files must not have them
    frame = pl.DataFrame(pl.from_arrow(table, rechunk=False)).cast(trec_format.schema())  # type: ignore[arg-type]
    values = frame[trec_format.value_column]
    is_invalid = values.null_count() or (not trec_format.is_integer and values.is_nan().any())
    return None if is_invalid or _may_have_duplicates(frame) else frame


def _copy_to_arrow(data: bytes) -> pa.Buffer:
    """Copy the content of a file to memory that is managed by Arrow instead of Python.

    A thread of Arrow may free its input after the file is parsed. If Python manages that memory and
    the interpreter is exiting, the process is aborted and ends with code 134 instead of 1.
    """
    buffer = pa.allocate_buffer(len(data))
    np.frombuffer(buffer, dtype=np.uint8)[:] = np.frombuffer(data, dtype=np.uint8)
    return buffer


def _may_have_duplicates(frame: pl.DataFrame) -> bool:
    """Return whether any two rows have the same hash of `query_id` and `doc_id`.

    If all hashes differ, all (query, document) pairs are unique. Two equal hashes may belong to
    different pairs, so the result True does not prove that there are duplicates.
    """
    hashes = frame.select(pl.struct("query_id", "doc_id").hash()).to_series().to_numpy()
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())


def first_nonblank_line(data: bytes) -> bytes:
    """Return the first nonblank line of a file, without its line ending."""
    text = data.lstrip()
    end = text.find(b"\n")
    return text if end < 0 else text[:end]


def _count_single_separators(data: bytes) -> int | None:
    """Count whitespace and control bytes; return None if two are adjacent or one starts the file.

    Also returns None if the file is empty.
    """
    codes = np.frombuffer(data, dtype=np.uint8)
    count, follows_separator = 0, True
    for start in range(0, len(codes), _CACHED_BYTES):
        is_separator = codes[start : start + _CACHED_BYTES] <= _SPACE
        if (follows_separator and is_separator[0]) or (is_separator[1:] & is_separator[:-1]).any():
            return None
        follows_separator = bool(is_separator[-1])
        count += int(np.count_nonzero(is_separator))
    return count if data else None


def _parse_line_by_line(data: bytes, trec_format: TrecFormat, path: Path) -> pl.DataFrame:
    """Parse a file line by line, so that an error can name the line number."""
    rows: dict[tuple[str, str], tuple[int, float]] = {}
    for line, raw in enumerate(data.split(b"\n"), start=1):
        fields = _split_fields(raw, trec_format, path, line)
        if not fields:
            continue
        pair = (
            fields[trec_format.columns.index("query_id")],
            fields[trec_format.columns.index("doc_id")],
        )
        if pair in rows:
            raise FormatError(
                f"duplicate document {pair[1]!r} for query {pair[0]!r} (first seen in line "
                f"{rows[pair][0]}); remove one of the two lines",
                path,
                line,
            )
        rows[pair] = (
            line,
            _parse_number(
                fields[trec_format.columns.index(trec_format.value_column)], trec_format, path, line
            ),
        )
    columns = ([q for q, _ in rows], [d for _, d in rows], [value for _, value in rows.values()])
    return pl.DataFrame(
        dict(zip(trec_format.schema(), columns, strict=True)), schema=trec_format.schema()
    )


def _split_fields(raw_line: bytes, trec_format: TrecFormat, path: Path, line: int) -> list[str]:
    try:
        fields = [field.decode() for field in raw_line.split()]
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text: {error.reason}", path, line) from error
    if b"\x00" in raw_line:
        raise FormatError("expected text, found a NUL byte", path, line)
    if fields and len(fields) != len(trec_format.columns):
        start = raw_line[:80].decode(errors="replace")
        raise FormatError(
            f"expected the {len(trec_format.columns)} columns of a {trec_format.name} "
            f"({' '.join(trec_format.columns)}), found {len(fields)} columns: {start!r}",
            path,
            line,
        )
    return fields


def _parse_number(field: str, trec_format: TrecFormat, path: Path, line: int) -> float:
    if trec_format.is_integer and _INTEGER.fullmatch(field) and int(field) in _INT32:
        return int(field)
    if trec_format.is_integer or _FLOAT.fullmatch(field) is None:
        kind = "a 32-bit integer" if trec_format.is_integer else "a number"
        raise FormatError(
            f"expected {kind} as {trec_format.value_column}, found {field[:40]!r}",
            path,
            line,
        )
    return float(field)
