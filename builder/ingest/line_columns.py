"""Parses many lines of a JSON Lines file at once into columns.

The lines must have the expected fields and types.

All lines of a chunk are parsed together. A line with other types, invalid JSON or unusual values
makes parsing fail; the lines before and after it are then parsed separately, and the faulty line is
left to a parser that processes single lines.
"""

import re
from collections import deque
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json

from builder.ingest.lines import LineChunk
from builder.ingest.lists import Mask, Rows

MAX_FAILURES = 500
"""Maximum number of failed attempts per chunk; after that, the remaining lines are left to the
parser for single lines."""
SPLIT_PARTS = 16
"""Number of parts into which a range of lines is split if the faulty line is unknown."""
FAULTY_ROW = re.compile(r" in row (\d+)$")
NON_JSON_NUMBERS = {
    b"NaN": re.compile(rb"NaN\s*[,}\]]"),
    b"Inf": re.compile(rb"Inf(inity)?\s*[,}\]]"),
}
"""Patterns of numbers that Arrow accepts although they are invalid JSON, by the text with which the
number starts; the text is searched first, since this is faster."""
MAX_BRACKETS = 1000
"""Number of opening brackets above which a line may be nested too deeply for the JSON reader."""
CR, OPENING_BRACE, CLOSING_BRACE = b"\r{}"

LineRange = tuple[int, int]
"""Range of lines: index of the first line, and index of the line after the last line."""


@dataclass(frozen=True)
class ColumnSchema:
    """Expected fields of the lines of a JSON Lines file.

    Args:
        arrow_schema: Names and types of the fields to read.
        has_other_fields: Whether the lines also have other fields, which are ignored.
    """

    arrow_schema: pa.Schema
    has_other_fields: bool


def parse_lines(
    chunk: LineChunk, column_schema: ColumnSchema
) -> tuple[pa.RecordBatch | None, Rows]:
    """Parse the lines that have the expected fields and types into columns.

    Args:
        chunk: Lines of a JSON Lines file.
        column_schema: Expected fields.

    Returns:
        The columns (None if no line could be parsed), and the index of each parsed line in the
        chunk.
    """
    parsed = _parse_valid_lines(chunk, column_schema)
    if not parsed:
        return None, np.zeros(0, dtype=np.int64)
    table = pa.Table.from_batches([batch for _, batch in parsed]).combine_chunks()
    return table.to_batches()[0], np.concatenate([np.arange(*lines) for lines, _ in parsed])


def _parse_valid_lines(
    chunk: LineChunk, column_schema: ColumnSchema
) -> list[tuple[LineRange, pa.RecordBatch]]:
    """Parse the longest possible ranges of valid lines; return each range with its columns."""
    parsed = []
    ranges = deque(_true_ranges(_object_line_mask(chunk)))
    failures = 0
    while ranges and failures < MAX_FAILURES:
        start, stop = ranges.popleft()
        batch = _parse_lines_in_one_call(
            chunk.slice_lines(start, stop), stop - start, column_schema
        )
        if isinstance(batch, pa.RecordBatch):
            parsed.append(((start, stop), batch))
        else:
            failures += 1
            ranges.extendleft(reversed(_split_range(start, stop, batch)))
    return parsed


def _object_line_mask(chunk: LineChunk) -> Mask:
    """Return a Boolean mask of the lines that start with `{`, end with `}` and are not too long.

    If every line of a range starts and ends like this, no JSON object spans several lines.
    """
    if not chunk.data:
        return np.zeros(len(chunk), dtype=bool)
    data = np.frombuffer(chunk.data, np.uint8)
    starts = np.concatenate([[0], chunk.line_ends[:-1] + 1])
    sizes = chunk.line_ends - starts
    last = np.maximum(chunk.line_ends - 1, 0)
    last = np.maximum(last - ((data[last] == CR) & (sizes > 0)), 0)
    first = np.minimum(starts, len(data) - 1)
    plain = (data[first] == OPENING_BRACE) & (data[last] == CLOSING_BRACE)
    plain &= (sizes >= 2) & (sizes <= chunk.max_line_bytes)
    plain[0] &= not chunk.starts_mid_line
    return np.asarray(plain, dtype=bool)


def _true_ranges(mask: Mask) -> list[LineRange]:
    """Return the index ranges of consecutive true values in a mask."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _split_range(start: int, stop: int, faulty_line: int | None) -> list[LineRange]:
    """Split the range of lines `[start, stop)` into smaller ranges after parsing has failed.

    If the faulty line is known, return the ranges before and after this line; otherwise, return
    parts of equal size, or nothing if the range is short.

    Args:
        start: Index of the first line.
        stop: Index of the line after the last line.
        faulty_line: Index of the faulty line relative to `start`; None if it is unknown.
    """
    if faulty_line is not None and start + faulty_line < stop:
        ranges = [(start, start + faulty_line), (start + faulty_line + 1, stop)]
        return [(first, last) for first, last in ranges if first < last]
    size = max(-(-(stop - start) // SPLIT_PARTS), SPLIT_PARTS)
    return (
        [(s, min(s + size, stop)) for s in range(start, stop, size)]
        if stop - start > SPLIT_PARTS
        else []
    )


def _parse_lines_in_one_call(
    data: bytes | memoryview, line_count: int, column_schema: ColumnSchema
) -> pa.RecordBatch | int | None:
    """Parse a range of lines into columns in one call of the JSON reader.

    Args:
        data: The lines, separated by LF.
        line_count: Number of lines.
        column_schema: Expected fields.

    Returns:
        The columns; if parsing failed, the index of the faulty line, or None if it is unknown.
    """
    if column_schema.has_other_fields and not _has_valid_ignored_fields(bytes(data)):
        return None
    on_unexpected = "ignore" if column_schema.has_other_fields else "error"
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pa.json.ParseOptions(
                explicit_schema=column_schema.arrow_schema, unexpected_field_behavior=on_unexpected
            ),
        )
        batch = table.combine_chunks().to_batches()[0]
        batch.validate(full=True)
    except pa.ArrowException as error:
        match = FAULTY_ROW.search(str(error))
        return int(match[1]) if match else None
    return batch if len(batch) == line_count else None


def _has_valid_ignored_fields(data: bytes) -> bool:
    """Whether the ignored fields, which Arrow does not fully check, are valid JSON in UTF-8."""
    return not _needs_line_by_line_parser(data) and _is_utf8(data)


def _needs_line_by_line_parser(data: bytes) -> bool:
    """Return whether the lines must be parsed one at a time, not in one call of the JSON reader.

    This is the case if any line may contain a number that is not valid JSON, or may be nested too
    deeply for the reader.
    """
    if any(text in data and pattern.search(data) for text, pattern in NON_JSON_NUMBERS.items()):
        return True
    if data.count(b"[") + data.count(b"{") < MAX_BRACKETS:
        return False
    return any(
        len(line) > MAX_BRACKETS and line.count(b"[") + line.count(b"{") > MAX_BRACKETS
        for line in data.split(b"\n")
    )


def _is_utf8(data: bytes) -> bool:
    """Whether the data are valid UTF-8."""
    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        return False
    return True
