"""Parses many JSON lines at once to columns, if they have the expected fields and types.

The lines of a chunk are parsed together. A line with other types, invalid JSON or unusual values
makes the parse fail; the range is then split around it, and the line is left to a row-wise parser.
"""

import re
from collections import deque
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json

from builder.ingest.lines import Chunk
from builder.ingest.lists import Mask, Rows

MAX_FAILURES = 500
"""Maximum failed parses per chunk; the lines not parsed by then are left to the row-wise parser."""
SPLIT_PARTS = 16
"""Number of parts a range is split into if the faulty line is not known."""
FAULTY_ROW = re.compile(r" in row (\d+)$")
NON_JSON_NUMBERS = {
    b"NaN": re.compile(rb"NaN\s*[,}\]]"),
    b"Inf": re.compile(rb"Inf(inity)?\s*[,}\]]"),
}
"""Numbers that Arrow accepts although they are not JSON."""
MAX_BRACKETS = 1000
"""Brackets per line above which nesting may be too deep for the JSON parser."""
CR, OPENING_BRACE, CLOSING_BRACE = b"\r{}"

LineRange = tuple[int, int]
"""Start and stop index of consecutive lines."""


@dataclass(frozen=True)
class ColumnSchema:
    """Expected columns of JSON lines.

    Args:
        arrow_schema: Field names and types of the file.
        has_other_fields: Whether the lines have further fields, which are ignored.
    """

    arrow_schema: pa.Schema
    has_other_fields: bool


def parse_lines(chunk: Chunk, columns: ColumnSchema) -> tuple[pa.RecordBatch | None, Rows]:
    """Parse the lines that fit into columns; return the columns and the indices of these lines."""
    parsed = _parse_ranges(chunk, columns)
    if not parsed:
        return None, np.zeros(0, dtype=np.int64)
    table = pa.Table.from_batches([batch for _, batch in parsed]).combine_chunks()
    return table.to_batches()[0], np.concatenate([np.arange(*lines) for lines, _ in parsed])


def _parse_ranges(chunk: Chunk, columns: ColumnSchema) -> list[tuple[LineRange, pa.RecordBatch]]:
    """Parse ranges of lines that are as long as possible, without faulty lines."""
    parsed = []
    ranges = deque(_true_ranges(_object_lines(chunk)))
    failures = 0
    while ranges and failures < MAX_FAILURES:
        start, stop = ranges.popleft()
        batch = _parse_columns(chunk.lines(start, stop), stop - start, columns)
        if isinstance(batch, pa.RecordBatch):
            parsed.append(((start, stop), batch))
        else:
            failures += 1
            ranges.extendleft(reversed(_split_range(start, stop, batch)))
    return parsed


def _object_lines(chunk: Chunk) -> Mask:
    """Return a mask of the lines that start and end like a JSON object of permitted length.

    If every line ends with `}` and the next starts with `{`, no JSON object spans lines.
    """
    if not chunk.data:
        return np.zeros(len(chunk), dtype=bool)
    data = np.frombuffer(chunk.data, np.uint8)
    starts = np.concatenate([[0], chunk.ends[:-1] + 1])
    sizes = chunk.ends - starts
    last = np.maximum(chunk.ends - 1, 0)
    last = np.maximum(last - ((data[last] == CR) & (sizes > 0)), 0)
    first = np.minimum(starts, len(data) - 1)
    plain = (data[first] == OPENING_BRACE) & (data[last] == CLOSING_BRACE)
    plain &= (sizes >= 2) & (sizes <= chunk.max_line_bytes)
    plain[0] &= not chunk.starts_mid_line
    return np.asarray(plain, dtype=bool)


def _true_ranges(plain: Mask) -> list[LineRange]:
    """Return the ranges of consecutive true values."""
    edges = np.flatnonzero(np.diff(plain, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _split_range(start: int, stop: int, faulty: int | None) -> list[LineRange]:
    """Split a range of lines around a faulty line or, if unknown, into equal parts."""
    if faulty is not None and start + faulty < stop:
        ranges = [(start, start + faulty), (start + faulty + 1, stop)]
        return [(first, last) for first, last in ranges if first < last]
    size = max(-(-(stop - start) // SPLIT_PARTS), SPLIT_PARTS)
    return (
        [(s, min(s + size, stop)) for s in range(start, stop, size)]
        if stop - start > SPLIT_PARTS
        else []
    )


def _parse_columns(
    data: bytes | memoryview, count: int, columns: ColumnSchema
) -> pa.RecordBatch | int | None:
    """Parse lines as columns; on failure return the index of the faulty line, None if unknown."""
    if columns.has_other_fields and not _is_safe_to_ignore(bytes(data)):
        return None
    on_unexpected = "ignore" if columns.has_other_fields else "error"
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pa.json.ParseOptions(
                explicit_schema=columns.arrow_schema, unexpected_field_behavior=on_unexpected
            ),
        )
        batch = table.combine_chunks().to_batches()[0]
        batch.validate(full=True)
    except pa.ArrowException as error:
        match = FAULTY_ROW.search(str(error))
        return int(match[1]) if match else None
    return batch if len(batch) == count else None


def _is_safe_to_ignore(data: bytes) -> bool:
    """Whether ignored fields contain nothing that Arrow accepts although it is invalid JSON."""
    return not _has_unusual_json(data) and _is_utf8(data)


def _has_unusual_json(data: bytes) -> bool:
    """Whether lines contain numbers that JSON does not permit, or very deep nesting."""
    if any(text in data and pattern.search(data) for text, pattern in NON_JSON_NUMBERS.items()):
        return True
    if data.count(b"[") + data.count(b"{") < MAX_BRACKETS:
        return False
    return any(
        len(line) > MAX_BRACKETS and line.count(b"[") + line.count(b"{") > MAX_BRACKETS
        for line in data.split(b"\n")
    )


def _is_utf8(data: bytes) -> bool:
    """Whether the lines are valid UTF-8."""
    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        return False
    return True
