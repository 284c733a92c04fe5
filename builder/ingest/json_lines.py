"""Lines of JSON -> impressions and rejects, many at a time where lines are as they should be.

Lines that do not go into columns (see `line_columns`) go with the rows that `columns.examine`
doubts to the parser of single lines in `impression`. What comes out is what that would have made of
all of them.
"""

import numpy as np
import pyarrow as pa

from builder.ingest.columns import Records, Rows, as_batch, examine
from builder.ingest.impression import Impression, parse_impression
from builder.ingest.json_layout import layout_of, own_columns
from builder.ingest.line_columns import parse_lines
from builder.ingest.lines import Chunk
from builder.ingest.rejects import RejectError
from builder.parameters import LogParameters
from builder.sources import Interval

NONE: Rows = np.zeros(0, dtype=np.int64)


def read_lines(chunk: Chunk, interval: Interval | None, params: LogParameters) -> Records:
    """Every line of a chunk as an impression or a reject."""
    columns, places = _columns_of(chunk, params)
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


def _columns_of(chunk: Chunk, params: LogParameters) -> tuple[pa.RecordBatch | None, Rows]:
    """The columns of the lines that can be parsed together, under our names, and their places."""
    layout = layout_of(chunk, params)
    parsed, places = (None, NONE) if layout is None else parse_lines(chunk, layout)
    columns = None if parsed is None else own_columns(parsed, params)
    return columns, NONE if columns is None else places


def _add_singly(
    records: Records, chunk: Chunk, places: Rows, interval: Interval | None, params: LogParameters
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
