"""A crawl file -> numbered pages and rejects, whatever its format.

The format is told by the first bytes: Parquet, WARC, else JSON lines; see `page` for the shapes.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.impression import RejectError
from builder.ingest.lines import open_plain, read_blocks
from builder.ingest.page import Page, make_page, parse_page
from builder.ingest.warc import read_warc
from builder.parameters import CrawlParameters
from builder.sources import Interval, Source

PARQUET = b"PAR1"
WARC = b"WARC/"
TIMES = ("timestamp", "last_updated_at", "created_at")
TEXTS = ("text", "content")
ROWS = 256

Found = tuple[int, Page | str]
"""1-based number of a record, and its page or the reason why it is none."""


def read_pages(source: Source, interval: Interval, params: CrawlParameters) -> Iterator[Found]:
    """Every record of a crawl file.

    Raises:
        FormatError: the file cannot be opened, or is a Parquet file without the columns.
    """
    try:
        with open_plain(source) as file:
            head = file.read(len(WARC))
    except (OSError, EOFError, ValueError):
        head = b""
    if head.startswith(PARQUET):
        return _read_parquet(source, interval, params)
    if head == WARC:
        return read_warc(source, interval, params)
    return _read_lines(source, interval, params)


def _read_lines(source: Source, interval: Interval, params: CrawlParameters) -> Iterator[Found]:
    for block in read_blocks(source, params.max_record_bytes):
        for number, line in enumerate(block.lines, block.first):
            if line is None:
                yield number, "record_too_large"
                continue
            try:
                yield number, parse_page(line, interval, params)
            except RejectError as reject:
                yield number, str(reject)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _read_parquet(source: Source, interval: Interval, params: CrawlParameters) -> Iterator[Found]:
    try:
        with pq.ParquetFile(source.path) as file:
            names = _columns(file.schema_arrow.names, source)
            number = 0
            for batch in file.iter_batches(ROWS, columns=[n for n in names if n]):
                columns = [batch[n].to_pylist() if n else [""] * len(batch) for n in names]
                for url, time, title, text in zip(*columns, strict=True):
                    number += 1
                    try:
                        yield number, make_page(url, time, title, text, interval, params)
                    except RejectError as reject:
                        yield number, str(reject)
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None


def _columns(names: list[str], source: Source) -> tuple[str, str, str | None, str]:
    """The columns of address, time, title (None where absent) and text."""
    time = next((name for name in TIMES if name in names), None)
    text = next((name for name in TEXTS if name in names), None)
    if "url" not in names or time is None or text is None:
        raise FormatError(
            f"expected the columns url, timestamp (or last_updated_at), text (or content) and "
            f"perhaps title, found {', '.join(names)}",
            source.name,
        )
    return "url", time, "title" if "title" in names else None, text
