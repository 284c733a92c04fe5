"""Lines of a crawl -> raw pages and rejects, many at a time where lines are as they should be.

Lines that do not go into columns (see `line_columns`), and rows about which there is any doubt, go
to the parser of single lines in `page`. What comes out is what that would have made of all of them.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.crawls.page import AS_OURS, RAW, Names, names_of, parse_page
from builder.ingest.line_columns import Layout, parse_lines
from builder.ingest.lines import Chunk
from builder.ingest.lists import Mask, Rows
from builder.ingest.rejects import made_or_reason
from builder.ingest.times import unix_seconds
from builder.parameters import CrawlParameters

NONE: Rows = np.zeros(0, dtype=np.int64)
NAMES = {str: pa.string(), int: pa.int64()}
TIMES = {int: pa.int64(), float: pa.float64(), str: pa.string()}
SAMPLE_LINES = 64
"""Lines of a chunk from which the column types are inferred."""
TOO_LARGE, TRUNCATED = "record_too_large", "file_truncated"
UNFINISHED = ("not_json", "not_utf8")
"""What a line is that was cut within."""


def read_page_lines(
    chunk: Chunk, params: CrawlParameters = AS_OURS
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Every line of a chunk as a raw page (`page.RAW`, in order of line) or as a reject."""
    names = names_of(params.fields)
    layout = layout_of(chunk, names)
    columns, places = (None, NONE) if layout is None else parse_lines(chunk, layout)
    others = np.ones(len(chunk), dtype=bool)
    frames = []
    if columns is not None:
        pages, sure = _pages(columns, (chunk.first + places).astype(np.uint64), names, params)
        frames.append(pages)
        others[places[sure]] = False
    singly, rejects = _singly(chunk, np.flatnonzero(others), params)
    frames = [frame for frame in (*frames, singly) if frame.height]
    if chunk.fault is not None:
        rejects.append((chunk.first + len(chunk), chunk.fault))
    if len(frames) == 1:
        return frames[0], rejects
    return (pl.concat(frames).sort("line") if frames else pl.DataFrame(schema=RAW)), rejects


def layout_of(chunk: Chunk, names: Names) -> Layout | None:
    """The columns that the first lines show; None where a field has no one type, or names nest."""
    if "." in "".join(names.all) or len(set(names.all)) < len(names.all):
        return None
    types = dict.fromkeys((names.title, *names.texts), pa.string())
    kinds = {names.url: NAMES, **dict.fromkeys(names.times, TIMES)}
    seen: dict[str, set[type]] = {name: set() for name in kinds}
    others: set[str] = set()
    for record in first_records(chunk):
        others |= record.keys() - types.keys() - seen.keys()
        for name in kinds:
            if record.get(name) is not None:
                seen[name].add(type(record[name]))
    for name, known in kinds.items():
        kind = common_type(seen[name], known)
        if kind is None:
            return None
        types[name] = kind
    return Layout(pa.schema(types), bool(others))


def _pages(
    columns: pa.RecordBatch, numbers: np.ndarray, names: Names, params: CrawlParameters
) -> tuple[pl.DataFrame, Mask]:
    """The pages of the rows that are plainly right, and which rows they are."""
    seconds, dated = _first_time(columns, names, params)
    url, text = columns[names.url], _first_text(columns, names)
    sure: Mask = dated & _given(url) & _given(text)
    raw = pa.table(
        {
            "line": pa.array(numbers),
            "url": url.cast(pa.string()),
            "fetched_at": seconds,
            "title": columns[names.title].fill_null(""),
            "text": text,
        }
    )
    kept = raw if sure.all() else raw.filter(pa.array(sure))
    absent = [pl.lit(None, RAW[name]).alias(name) for name in list(RAW)[5:]]
    frame = pl.DataFrame(kept).with_columns(absent)
    return frame.select(pl.col(name).cast(kind) for name, kind in RAW.items()), sure


def _given(column: pa.Array) -> Mask:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _first_time(
    columns: pa.RecordBatch, names: Names, params: CrawlParameters
) -> tuple[pa.Array, Mask]:
    """Seconds of the first time that each row has, and where there is no doubt about it."""
    seconds = np.zeros(len(columns), dtype=np.int64)
    decided = np.zeros(len(columns), dtype=bool)
    sure = decided.copy()
    for name in names.times:
        here = _given(columns[name]) & ~decided
        if here.any():
            found = unix_seconds(columns[name], params)
            seconds[here] = found.fill_null(0).to_numpy()[here]
            sure[here] = _given(found)[here]
            decided |= here
    if params.undated == "start":
        sure |= ~decided
    return pa.array(seconds, mask=~decided), sure


def _first_text(columns: pa.RecordBatch, names: Names) -> pa.Array:
    """The first text of each row that is not empty, else the first that there is."""
    texts = [columns[name] for name in names.texts]
    first = texts[0]
    if len(texts) == 1 or (not first.null_count and pc.min(pc.binary_length(first)).as_py() != 0):
        return first
    full = [pc.if_else(pc.equal(pc.binary_length(text), 0), None, text) for text in texts]
    return pc.coalesce(*full, *texts)


def _singly(
    chunk: Chunk, places: Rows, params: CrawlParameters
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    rows: list[tuple[object, ...]] = []
    rejects = []
    for place in places.tolist():
        line, number = chunk.line(place), chunk.first + place
        page = TOO_LARGE if line is None else made_or_reason(partial(parse_page, line, params))
        if isinstance(page, str):
            is_end = chunk.is_open and place == len(chunk) - 1 and page in UNFINISHED
            rejects.append((number, TRUNCATED if is_end else page))
        else:
            rows.append((number, *page))
    return raw_frame(rows), rejects


def raw_frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Rows of numbers and pages as a frame."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in RAW)
    return pl.DataFrame(
        [
            pl.Series(name, column, dtype=dtype)
            for (name, dtype), column in zip(RAW.items(), columns, strict=True)
        ]
    )


def first_records(chunk: Chunk) -> Iterator[dict[str, Any]]:
    """The JSON objects among the first lines of a chunk."""
    first = bytes((chunk.data or b"")[: SAMPLE_LINES * 2048])
    for line in first.split(b"\n")[:SAMPLE_LINES]:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def common_type(seen: set[type], known: dict[type, pa.DataType]) -> pa.DataType | None:
    """The column type of values of these Python types; the first known type without any value."""
    if not seen:
        return next(iter(known.values()), None)
    if seen == {int, float}:
        seen = {float}
    return known.get(next(iter(seen))) if len(seen) == 1 else None
