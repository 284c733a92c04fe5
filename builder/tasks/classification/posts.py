"""Timestamped posts as they are handed in.

In: JSON lines (plain, gzip or zstd), one object `{"id", "time", "author", "text"}` a line, or
Parquet with these columns; time in unix seconds or ISO 8601 (UTC without an offset). Out: blocks of
posts, and every record that is none with its line and the reason.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.evaluation.textlines import numbered_lines
from builder.io.sources import Source

RECORDS_PER_BLOCK = 100_000
FIELDS = ("id", "time", "author", "text")
PARQUET_MAGIC = b"PAR1"
EARLIEST, LATEST = -(2**40), 2**40
POST_SCHEMA = {
    "line": pl.UInt64,
    "id": pl.String,
    "time": pl.Int64,
    "author": pl.String,
    "text": pl.String,
}


@dataclass(slots=True)
class Block:
    """Some records of one file.

    Args:
        posts: `POST_SCHEMA`; line is the 1-based line or record number.
        malformed: (line, reason) of records that are no posts.
    """

    posts: pl.DataFrame
    malformed: list[tuple[int, str]] = field(default_factory=list)


def read_posts(source: Source, records: int = RECORDS_PER_BLOCK) -> Iterator[Block]:
    """The records of a file, block by block.

    Raises:
        UsageError: the file cannot be read.
        FormatError: it is neither UTF-8 text nor Parquet with the columns of posts.
    """
    stream = _parquet(source.path) if _is_parquet(source.path) else _json_lines(source.path)
    while rows := list(islice(stream, records)):
        yield _block(rows)


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    for line, text in numbered_lines(path):
        if text and not text.isspace():
            yield line, _decoded(text)


def _decoded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _parquet(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            absent = [name for name in FIELDS if name not in file.schema_arrow.names]
            if absent:
                raise FormatError(f"expected columns {', '.join(FIELDS)}, missing: {absent}", path)
            number = 0
            for batch in file.iter_batches(8192, columns=list(FIELDS)):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except pa.ArrowException as error:
        raise FormatError(f"expected a Parquet file: {error}", path) from error


def _block(rows: Iterable[tuple[int, Any]]) -> Block:
    posts: list[tuple[int, str, int, str, str]] = []
    malformed: list[tuple[int, str]] = []
    for line, record in rows:
        found = _post(record)
        if isinstance(found, str):
            malformed.append((line, found))
        else:
            posts.append((line, *found))
    return Block(pl.DataFrame(posts, schema=POST_SCHEMA, orient="row"), malformed)


def _post(record: Any) -> tuple[str, int, str, str] | str:
    """The fields of a post, or the reason why a record is none."""
    if not isinstance(record, dict):
        return "not_json_object"
    identity, author, text = (_name(record.get(name)) for name in ("id", "author", "text"))
    if not identity:
        return "no_id"
    if not author:
        return "no_author"
    if not text:
        return "no_text"
    time = unix_seconds(record.get("time"))
    return "bad_time" if time is None else (identity, time, author, text)


def _name(value: object) -> str | None:
    if isinstance(value, str):
        return value.replace("\x00", "")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def unix_seconds(value: object) -> int | None:
    """Unix seconds of a number, an ISO 8601 text or a moment; null where it is none of them."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return math.floor(value) if EARLIEST < value < LATEST else None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return math.floor(aware.timestamp())
    except (ValueError, OverflowError):
        return None
