"""Whitespace-separated TREC files -> frames, strictly.

In: the bytes of a run (`query Q0 document rank score tag`), of qrels (`query 0 document grade`) or
of a scores file (`query document score`). Out: one row per line in file order, columns `query_id`,
`doc_id` and the number. Every line has the right number of columns, every number is one, no pair
of query and document comes twice; otherwise the error names the file and the line. Blank lines and
CRLF are accepted.

Two parsers give the same rows: Arrow's for files with single separators, ours for the others and
for finding the line of an error.
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
_INTEGER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_SPACE = ord(" ")


@dataclass(frozen=True)
class Layout:
    """The columns of a TREC file.

    Args:
        name: What the file is, for messages.
        columns: Names of its columns, in order.
        number: The column that holds a number.
        integer: Whether that number is an integer (32 bits), otherwise a 64-bit float.
    """

    name: str
    columns: tuple[str, ...]
    number: str
    integer: bool = False

    def schema(self) -> dict[str, pl.DataType]:
        """Polars types of the columns that are kept."""
        number = pl.Int32() if self.integer else pl.Float64()
        return {"query_id": pl.String(), "doc_id": pl.String(), self.number: number}


RUN = Layout("TREC run", ("query_id", "Q0", "doc_id", "rank", "score", "tag"), "score")
QRELS = Layout("TREC qrels", ("query_id", "iteration", "doc_id", "grade"), "grade", integer=True)
SCORES = Layout("scores file", ("query_id", "doc_id", "score"), "score")


def parse(data: bytes, layout: Layout, file: Path) -> pl.DataFrame:
    """The rows of a TREC file, in file order.

    Args:
        data: The decompressed file.
        layout: Its columns.
        file: Its path, for messages.

    Returns:
        Columns `query_id`, `doc_id` (strings) and `layout.number`, unique by the first two.

    Raises:
        FormatError: a line is malformed or repeats a pair; names file and line.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if data.endswith(b"\n\n"):
        data = data.rstrip(b"\n")
    frame = _parse_plain(data, layout)
    return _parse_lines(data, layout, file) if frame is None else frame


def _parse_plain(data: bytes, layout: Layout) -> pl.DataFrame | None:
    """The rows of a file with single separators; None where anything is unusual or wrong."""
    separators = _count_single_separators(data)
    if separators is None:
        return None
    delimiter = "\t" if b"\t" in first_line(data) else " "
    kinds = {"query_id": pa.string(), "doc_id": pa.string()}
    kinds[layout.number] = pa.int32() if layout.integer else pa.float64()
    try:
        table = pyarrow.csv.read_csv(
            pa.py_buffer(data),
            pyarrow.csv.ReadOptions(column_names=list(layout.columns)),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
            pyarrow.csv.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
        )
    except pa.ArrowInvalid:
        return None
    if separators != table.num_rows * len(layout.columns) - (not data.endswith(b"\n")):
        return None  # some field holds a control character, or another separator
    if layout.integer and (b" 0x" in data or b" 0X" in data or b"\t0x" in data or b"\t0X" in data):
        return None  # hexadecimal numbers, which Arrow takes
    frame = pl.DataFrame(table).cast(layout.schema())  # type: ignore[arg-type]
    numbers = frame[layout.number]
    broken = numbers.null_count() or (not layout.integer and numbers.is_nan().any())
    # equal hashes are no proof of a repeated pair, but different ones are proof of none
    repeats = frame.select(pl.struct("query_id", "doc_id").hash().n_unique()).item() < frame.height
    return None if broken or repeats else frame


def first_line(data: bytes) -> bytes:
    """The first line that is not blank, without its end."""
    text = data.lstrip()
    end = text.find(b"\n")
    return text if end < 0 else text[:end]


def _count_single_separators(data: bytes) -> int | None:
    """Bytes up to the space; None where two of them meet, or one begins the file."""
    blank = np.frombuffer(data, dtype=np.uint8) <= _SPACE
    if not len(blank) or blank[0] or bool((blank[1:] & blank[:-1]).any()):
        return None
    return int(np.count_nonzero(blank))


def _parse_lines(data: bytes, layout: Layout, file: Path) -> pl.DataFrame:
    """The rows of any file, line by line, with the line of the first error."""
    rows: dict[tuple[str, str], tuple[int, float]] = {}
    for line, raw in enumerate(data.split(b"\n"), start=1):
        fields = _fields(raw, layout, file, line)
        if not fields:
            continue
        pair = (fields[layout.columns.index("query_id")], fields[layout.columns.index("doc_id")])
        if pair in rows:
            raise FormatError(
                f"expected each document once per query, found document {pair[1]!r} of query "
                f"{pair[0]!r} again (first in line {rows[pair][0]}); remove one of the two",
                file,
                line,
            )
        rows[pair] = (
            line,
            _number(fields[layout.columns.index(layout.number)], layout, file, line),
        )
    columns = ([q for q, _ in rows], [d for _, d in rows], [number for _, number in rows.values()])
    return pl.DataFrame(dict(zip(layout.schema(), columns, strict=True)), schema=layout.schema())


def _fields(raw: bytes, layout: Layout, file: Path, line: int) -> list[str]:
    try:
        fields = [field.decode() for field in raw.split()]
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text ({error.reason})", file, line) from error
    if b"\x00" in raw:
        raise FormatError("expected text, found a NUL byte", file, line)
    if fields and len(fields) != len(layout.columns):
        start = raw[:80].decode(errors="replace")
        raise FormatError(
            f"expected the {len(layout.columns)} columns of a {layout.name} "
            f"({' '.join(layout.columns)}), found {len(fields)}: {start!r}",
            file,
            line,
        )
    return fields


def _number(text: str, layout: Layout, file: Path, line: int) -> float:
    pattern, kind = (_INTEGER, "an integer") if layout.integer else (_FLOAT, "a number")
    if pattern.fullmatch(text) is None:
        raise FormatError(f"expected {kind} as {layout.number}, found {text[:40]!r}", file, line)
    return int(text) if layout.integer else float(text)
