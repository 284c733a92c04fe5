"""Reads timestamped posts from JSON lines (plain, gzip or zstd) or Parquet.

Records have the fields id, time, author and text; time is in Unix seconds or ISO 8601 (UTC unless
an offset is given). Characters that platforms escape for HTML, such as `&lt;`, are restored.
Malformed records are returned with their line number and a reject reason.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from builder.errors import FormatError
from builder.evaluation.textlines import numbered_lines
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.io.parquet import MAGIC, open_file
from builder.io.sources import Source

RECORDS_PER_BLOCK = 100_000
FIELDS = ("id", "time", "author", "text")
MALFORMED = ("not_json_object", "no_id", "bad_id", "no_author", "no_text", "html_text", "bad_time")
"""Reject reasons of malformed records."""
_ESCAPED = re.compile(r"&(?:amp|lt|gt|quot|apos|#39|#x27);", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Control characters such as tabs, which ids in label and prediction files cannot contain."""
_HTML = re.compile(r"\s*<p\b.*</p>\s*", re.IGNORECASE | re.DOTALL)
POST_SCHEMA = {
    "line": pl.UInt64,
    "id": pl.String,
    "time": pl.Int64,
    "author": pl.String,
    "text": pl.String,
}


@dataclass(slots=True)
class PostBlock:
    """Block of consecutive records of a file.

    Args:
        posts: Posts (`POST_SCHEMA`); `line` is the 1-based line or record number.
        malformed: Line number and reject reason of each malformed record.
    """

    posts: pl.DataFrame
    malformed: list[tuple[int, str]] = field(default_factory=list)


def read_posts(source: Source, records_per_block: int = RECORDS_PER_BLOCK) -> Iterator[PostBlock]:
    """Yield the posts and malformed records of a file in blocks.

    Raises:
        UsageError: the file cannot be read.
        FormatError: the file is neither UTF-8 text nor Parquet with the required columns.
    """
    read_records = _read_parquet if _is_parquet(source.path) else _read_json_lines
    records = read_records(source.path)
    while rows := list(islice(records, records_per_block)):
        yield _parse_records(rows)


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    for line, text in numbered_lines(path):
        if text and not text.isspace():
            yield line, _parse_json(text)


def _parse_json(line: str) -> Any:
    """Parse a line as JSON; return None if the line is not valid JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _read_parquet(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with open_file(path) as file:
            missing = [name for name in FIELDS if name not in file.schema_arrow.names]
            if missing:
                raise FormatError(
                    f"expected columns {', '.join(FIELDS)}; missing: {', '.join(missing)}", path
                )
            number = 0
            for batch in file.iter_batches(8192, columns=list(FIELDS)):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except pa.ArrowException as error:
        raise FormatError(
            f"expected a Parquet file, found a file that cannot be read ({error})", path
        ) from error


def _parse_records(numbered_records: Iterable[tuple[int, Any]]) -> PostBlock:
    posts: list[tuple[int, str, int, str, str]] = []
    malformed: list[tuple[int, str]] = []
    for line, record in numbered_records:
        post = _parse_post(record)
        if isinstance(post, str):
            malformed.append((line, post))
        else:
            posts.append((line, *post))
    return PostBlock(pl.DataFrame(posts, schema=POST_SCHEMA, orient="row"), malformed)


def _parse_post(record: Any) -> tuple[str, int, str, str] | str:
    """Return id, time, author and text of a record, or the reason why it is malformed."""
    if not isinstance(record, dict):
        return "not_json_object"
    post_id, author, text = (
        _field_to_string(record.get(name)) for name in ("id", "author", "text")
    )
    if not post_id:
        return "no_id"
    if _CONTROL.search(post_id):
        return "bad_id"
    if not author:
        return "no_author"
    if not text:
        return "no_text"
    if _HTML.fullmatch(text):
        return "html_text"
    text = _ESCAPED.sub(lambda match: html.unescape(match[0].lower()), text)
    time = parse_unix_seconds(record.get("time"))
    return "bad_time" if time is None else (post_id, time, author, text)


def _field_to_string(value: object) -> str | None:
    """Convert a string or integer to a string without NUL characters; None for other values."""
    if isinstance(value, str):
        return value.replace("\x00", "")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def parse_unix_seconds(timestamp: object) -> int | None:
    """Convert a time in Unix seconds or ISO 8601 to Unix seconds; None if it is invalid."""
    try:
        return parse_time(timestamp)
    except RejectError:
        return None
