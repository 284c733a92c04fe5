"""One row a result -> one record an impression.

Rows of one impression follow each other: the same time, user and query, with ranks that rise where
there is a column of ranks. Rows that are faulty are reported by themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from builder.ingest.fields import DEFAULT, pick
from builder.ingest.impression import parse_object
from builder.ingest.lines import read_blocks
from builder.ingest.rejects import RejectError
from builder.ingest.tabular import Offered
from builder.parameters import LogFields, LogParameters
from builder.sources import Source

CLICKED = {"1", "true", "yes", "t", "y"}
LONGEST = 2**16
"""Rows of one impression; more of them begin another."""


def is_long(names: Iterable[str], fields: LogFields = DEFAULT) -> bool:
    """Whether columns of these names are one row a result."""
    return fields.results not in names and fields.url in names


def objects(source: Source, params: LogParameters) -> Iterator[Offered]:
    """Every line of a file of JSON lines as a row, with the fields that have a name."""
    names = dict.fromkeys(params.fields.model_dump().values())
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            try:
                yield number, _fields(line, names)
            except RejectError as reject:
                yield number, str(reject)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _fields(line: bytes | None, names: Iterable[str]) -> dict[str, Any]:
    if line is None:
        raise RejectError("line_too_long")
    record = parse_object(line.removesuffix(b"\r"))
    found = {name: pick(record, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def has_long_objects(source: Source, params: LogParameters) -> bool:
    """Whether the first object of a file of JSON lines is a result, not an impression."""
    for _, row in objects(source, params):
        if not isinstance(row, str):
            return is_long(row, params.fields)
    return False


def join_rows(rows: Iterable[Offered], fields: LogFields) -> Iterator[Offered]:
    """Records with `results` and `clicks`, each by the number of its first row."""
    first, page, key, last = 0, None, None, 0.0
    for number, row in rows:
        if isinstance(row, str):
            yield number, row
            continue
        rank = _rank(row.get(fields.rank), last + 1)
        if rank is None:
            yield number, "bad_rank"
            continue
        found = (row.get(fields.time), row.get(fields.user), row.get(fields.query))
        if page is None or found != key or rank <= last or len(page[fields.results]) >= LONGEST:
            if page is not None:
                yield first, page
            page = {k: v for k, v in row.items() if k not in {fields.url, fields.rank}}
            page |= {fields.results: [], fields.clicks: []}
            first, key = number, found
        page[fields.results].append(row.get(fields.url))
        if _is_clicked(row.get(fields.clicked)):
            page[fields.clicks].append(len(page[fields.results]))
        last = rank
    if page is not None:
        yield first, page


def _rank(value: Any, following: float) -> float | None:
    """The rank of a row; the next one where there is none."""
    if value is None or value == "":
        return following
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_clicked(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in CLICKED
    return bool(value)
