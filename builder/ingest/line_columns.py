"""Lines of JSON -> columns, many at a time where lines are as they should be.

The lines of a chunk are parsed together. A line whose fields have other types than most, that is no
JSON, or that has something unusual in it, is found by parsing what is before and after it, and left
to a parser of single lines.
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

MOST_FAILURES = 500
"""Faults of a chunk that are looked for; lines after more of them are parsed one by one."""
PARTS = 16
"""Parts into which lines are divided where it is not told which of them is faulty."""
FAULTY_ROW = re.compile(r" in row (\d+)$")
UNUSUAL = {b"NaN": re.compile(rb"NaN\s*[,}\]]"), b"Inf": re.compile(rb"Inf(inity)?\s*[,}\]]")}
"""Numbers that Arrow reads and that are no JSON."""
DEEP = 1000
"""Brackets of a line beyond which its nesting may be deeper than a parser of JSON goes."""
CR, OPENING, CLOSING = b"\r{}"

Run = tuple[int, int]
"""Places of lines that follow each other: the first, and the one after the last."""


@dataclass(frozen=True)
class Layout:
    """The columns that lines have.

    Args:
        schema: Names and types as the file has them.
        has_others: Whether there are other fields beside them.
    """

    schema: pa.Schema
    has_others: bool


def parse_lines(chunk: Chunk, layout: Layout) -> tuple[pa.RecordBatch | None, Rows]:
    """The columns of the lines that can be parsed together, and their places; None without any."""
    parsed = _parsed(chunk, layout)
    if not parsed:
        return None, np.zeros(0, dtype=np.int64)
    table = pa.Table.from_batches([batch for _, batch in parsed]).combine_chunks()
    return table.to_batches()[0], np.concatenate([np.arange(*run) for run, _ in parsed])


def _parsed(chunk: Chunk, layout: Layout) -> list[tuple[Run, pa.RecordBatch]]:
    """Lines in runs as long as can be parsed together; those that cannot are left out."""
    found = []
    runs = deque(_runs(_plain_lines(chunk)))
    failures = 0
    while runs and failures < MOST_FAILURES:
        start, stop = runs.popleft()
        batch = _columns(chunk.lines(start, stop), stop - start, layout)
        if isinstance(batch, pa.RecordBatch):
            found.append(((start, stop), batch))
        else:
            failures += 1
            runs.extendleft(reversed(_around(start, stop, batch)))
    return found


def _plain_lines(chunk: Chunk) -> Mask:
    """Whether each line begins and ends as an object, and is short enough.

    Where `}` ends every line and `{` begins the next, no object of JSON goes over a line's end.
    """
    if not chunk.data:
        return np.zeros(len(chunk), dtype=bool)
    data = np.frombuffer(chunk.data, np.uint8)
    starts = np.concatenate([[0], chunk.ends[:-1] + 1])
    sizes = chunk.ends - starts
    last = np.maximum(chunk.ends - 1, 0)
    last = np.maximum(last - ((data[last] == CR) & (sizes > 0)), 0)
    first = np.minimum(starts, len(data) - 1)
    plain = (data[first] == OPENING) & (data[last] == CLOSING)
    plain &= (sizes >= 2) & (sizes <= chunk.longest)
    plain[0] &= not chunk.is_cut
    return np.asarray(plain, dtype=bool)


def _runs(plain: Mask) -> list[Run]:
    """Runs of true places."""
    edges = np.flatnonzero(np.diff(plain, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _around(start: int, stop: int, faulty: int | None) -> list[Run]:
    """What is left of a run without a faulty line; parts of it where none is told."""
    if faulty is not None and start + faulty < stop:
        runs = [(start, start + faulty), (start + faulty + 1, stop)]
        return [(first, last) for first, last in runs if first < last]
    size = max(-(-(stop - start) // PARTS), PARTS)
    return (
        [(s, min(s + size, stop)) for s in range(start, stop, size)] if stop - start > PARTS else []
    )


def _columns(data: bytes | memoryview, count: int, layout: Layout) -> pa.RecordBatch | int | None:
    """The fields of lines; the place of a faulty line, or None, where they are not in columns."""
    if layout.has_others and not _are_sound(bytes(data)):
        return None
    others = "ignore" if layout.has_others else "error"
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pa.json.ParseOptions(explicit_schema=layout.schema, unexpected_field_behavior=others),
        )
        batch = table.combine_chunks().to_batches()[0]
        batch.validate(full=True)
    except pa.ArrowException as error:
        told = FAULTY_ROW.search(str(error))
        return int(told[1]) if told else None
    return batch if len(batch) == count else None


def _are_sound(data: bytes) -> bool:
    """Whether there is nothing in a field not looked at that Arrow would let pass."""
    return not _is_unusual(data) and _is_text(data)


def _is_unusual(data: bytes) -> bool:
    """Whether there is a number that is none in JSON, or deep nesting, in a field not looked at."""
    if any(sign in data and UNUSUAL[sign].search(data) for sign in UNUSUAL):
        return True
    if data.count(b"[") + data.count(b"{") < DEEP:
        return False
    return any(
        len(line) > DEEP and line.count(b"[") + line.count(b"{") > DEEP
        for line in data.split(b"\n")
    )


def _is_text(data: bytes) -> bool:
    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        return False
    return True
