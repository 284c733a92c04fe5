"""Lines of JSON -> impressions and rejects, many at a time where lines are as they should be.

The lines of a chunk are parsed together into columns. A line whose fields have other types than
most, that is no JSON, or that has something unusual in it, is found by parsing what is before and
after it, and goes with the rows that `columns.examine` doubts to the parser of single lines in
`impression`. What comes out is what that would have made of all of them.
"""

import re
from collections import deque

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json

from builder.ingest.columns import Mask, Records, Rows, as_batch, examine
from builder.ingest.impression import Impression, RejectError, parse_impression
from builder.ingest.json_layout import Layout, layout_of, own_columns
from builder.ingest.lines import Chunk
from builder.parameters import LogFields, LogParameters
from builder.sources import Interval

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
NONE: Rows = np.zeros(0, dtype=np.int64)

Run = tuple[int, int]
"""Places of lines that follow each other: the first, and the one after the last."""


def read_lines(chunk: Chunk, interval: Interval, params: LogParameters) -> Records:
    """Every line of a chunk as an impression or a reject."""
    columns, places = _columns_of(chunk, params.fields)
    records, unsure = Records(), places[:0]
    if columns is not None:
        numbers = (chunk.first + places).astype(np.uint64)
        records, unsure = examine(columns, numbers, interval, params)
    others = np.ones(len(chunk), dtype=bool)
    others[places] = False
    others[places[unsure]] = True
    _add_singly(records, chunk, np.flatnonzero(others), interval, params)
    if chunk.fault is not None:
        records.rejects.append((chunk.first + len(chunk), chunk.fault))
    return records


def _columns_of(chunk: Chunk, fields: LogFields) -> tuple[pa.RecordBatch | None, Rows]:
    """The columns of the lines that can be parsed together, under our names, and their places."""
    layout = layout_of(chunk, fields)
    parsed = [] if layout is None else _parsed(chunk, layout)
    if not parsed:
        return None, NONE
    table = pa.Table.from_batches([batch for _, batch in parsed]).combine_chunks()
    columns = own_columns(table.to_batches()[0], fields)
    places = np.concatenate([np.arange(*run) for run, _ in parsed])
    return columns, NONE if columns is None else places


def _add_singly(
    records: Records, chunk: Chunk, places: Rows, interval: Interval, params: LogParameters
) -> None:
    impressions: list[tuple[int, Impression]] = []
    for place in places.tolist():
        line, number = chunk.line(place), chunk.first + place
        try:
            if line is None:
                raise RejectError("line_too_long")
            impressions.append((number, parse_impression(line, interval, params)))
        except RejectError as reject:
            records.rejects.append((number, str(reject)))
    if impressions:
        records.impressions.append(as_batch(impressions))


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


def _columns(data: bytes, count: int, layout: Layout) -> pa.RecordBatch | int | None:
    """The fields of lines; the place of a faulty line, or None, where they are not in columns."""
    if layout.has_others and (_is_unusual(data) or not _is_text(data)):
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
