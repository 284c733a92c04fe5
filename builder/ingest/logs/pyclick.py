"""The example files of PyClick (`oneQueryTrain`, `trainSample`) to records.

Result pages between semicolons, on one line or many: `query<TAB>id,id,... : id , id`, the results
in rank order and then the clicked ones in click order. There are no users and no times. PyClick
ignores a click on a result that was not shown; here its page is rejected, as in every format.
"""

from collections.abc import Iterator

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import Numbered, Record
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters


def read_pages(source: Source, _: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every result page, by its number in the file."""
    yield from enumerate(_read(source, params), 1)


def _read(source: Source, params: LogParameters) -> Iterator[Record | str]:
    for block in read_blocks(source, params.max_line_bytes):
        for line in block.lines:
            yield from _pages(line)
        if block.fault is not None:
            yield block.fault


def _pages(line: bytes | None) -> Iterator[Record | str]:
    """The pages of a line, or the reason why one is not read; nothing between two semicolons."""
    if line is None:
        yield "line_too_long"
        return
    try:
        texts = line.decode().split(";")
    except UnicodeDecodeError:
        yield "not_utf8"
        return
    yield from (_page(text) for text in texts if text.strip())


def _page(text: str) -> Record | str:
    query, tab, rest = text.strip().partition("\t")
    shown, colon, clicked = rest.partition(":")
    if not tab or not colon or "\t" in rest or ":" in clicked:
        return "bad_action"
    results = _ids(shown)
    ranks = [results.index(click) + 1 if click in results else 0 for click in _ids(clicked)]
    return {"query": query, "results": results, "clicks": ranks}


def _ids(text: str) -> list[str]:
    """Ids between commas; an empty one among others is kept, so that its page is rejected."""
    return [part.strip() for part in text.split(",")] if text.strip() else []
