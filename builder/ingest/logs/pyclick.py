"""Reads logs in the format of PyClick's example files (`oneQueryTrain`, `trainSample`).

Result pages have the form `query<TAB>id,id,... : id , id`: results in rank order, then clicked
results in click order. Pages are separated by semicolons or line breaks. There are no users or
times. PyClick ignores clicks on results that were not shown; this reader rejects such pages.
"""

from collections.abc import Iterator

from builder.ingest.lines import read_line_blocks
from builder.ingest.logs.records import NumberedRecord, Record
from builder.ingest.rejects import LINE_TOO_LONG
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters


def read_result_pages(
    source: Source, _: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield each result page of a PyClick file as a record or reject reason, numbered from 1."""
    yield from enumerate(_read_unnumbered_pages(source, params), 1)


def _read_unnumbered_pages(source: Source, params: LogParameters) -> Iterator[Record | str]:
    """Yield the record of each result page of a PyClick file, or its reject reason."""
    for block in read_line_blocks(source, params.max_line_bytes):
        for line in block.lines:
            yield from _parse_line(line)
        if block.fault is not None:
            yield block.fault


def _parse_line(line: bytes | None) -> Iterator[Record | str]:
    """Yield the record of each result page in a line, or its reject reason."""
    if line is None:
        yield LINE_TOO_LONG
        return
    try:
        texts = line.decode().split(";")
    except UnicodeDecodeError:
        yield "not_utf8"
        return
    yield from (_parse_result_page(text) for text in texts if text.strip())


def _parse_result_page(text: str) -> Record | str:
    """Parse a result page; return its record, or the reject reason if the page is malformed."""
    query, tab, rest = text.strip().partition("\t")
    shown, colon, clicked = rest.partition(":")
    if not tab or not colon or "\t" in rest or ":" in clicked:
        return "bad_action"
    results = _split_ids(shown)
    ranks = [results.index(click) + 1 if click in results else 0 for click in _split_ids(clicked)]
    return {"query": query, "results": results, "clicks": ranks}


def _split_ids(text: str) -> list[str]:
    """Split comma-separated ids; empty ids are kept, so that the impression is rejected later."""
    return [part.strip() for part in text.split(",")] if text.strip() else []
