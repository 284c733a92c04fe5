"""Our own log format as it stands: lines in, result pages of raw text out.

`{"time", "user", "query": text, "results": [urls by rank], "clicks": [ranks in click order]}`; a
click may also be an object `{"rank" or "url", "time"}`. Only what click models read is checked
here: queries and URLs are not folded, times and intervals not looked at.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from builder.ingest.impression import parse_object, parse_time
from builder.ingest.lines import read_blocks
from builder.ingest.rejects import RejectError
from builder.sources import Source

LONGEST_LINE = 16 * 2**20
MOST_RESULTS = 2**16 - 1


class Page(NamedTuple):
    """A result page as logged: user, query, results in rank order, ranks in click order."""

    user: str | None
    query: str
    results: list[str]
    clicks: list[int]


def read_pages(source: Source) -> Iterator[tuple[int, Page | RejectError]]:
    """Every record of a log with its 1-based line: a page, or why it is none.

    Blank lines are no records. A file that cannot be read to its end gives one more record, with
    the fault as its reason.

    Raises:
        FormatError: the file cannot be opened.
    """
    for block in read_blocks(source, LONGEST_LINE):
        for number, line in enumerate(block.lines, block.first):
            if line is None or line.strip():
                yield number, _parsed(line)
        if block.fault is not None:
            yield block.first + len(block.lines), RejectError(block.fault)


def _parsed(line: bytes | None) -> Page | RejectError:
    if line is None:
        return RejectError("line_too_long")
    try:
        return parse_page(parse_object(line))
    except RejectError as reject:
        return reject


def parse_page(record: dict[str, Any]) -> Page:
    """The page that a decoded record describes.

    Raises:
        RejectError: it describes none; the message is the reason.
    """
    results = _results(record.get("results"))
    return Page(
        _user(record.get("user")),
        _query(record.get("query")),
        results,
        _clicks(record.get("clicks", []), results),
    )


def _user(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise RejectError("bad_user")


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise RejectError("bad_query")
    if not value:
        raise RejectError("empty_query")
    return value


def _results(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(url, str) and url for url in value):
        raise RejectError("bad_results")
    if not value:
        raise RejectError("no_results")
    if len(value) > MOST_RESULTS:
        raise RejectError("too_many_results")
    return value


def _clicks(value: object, results: list[str]) -> list[int]:
    """Clicked ranks: in the order of their times where all have one, else as logged."""
    if not isinstance(value, list):
        raise RejectError("bad_clicks")
    ranks = [_rank(click, results) for click in value]
    if any(not 1 <= rank <= len(results) for rank in ranks):
        raise RejectError("click_not_shown")
    if not all(isinstance(click, dict) and click.get("time") is not None for click in value):
        return ranks
    times = [_moment(click["time"]) for click in value]
    return [ranks[index] for index in sorted(range(len(ranks)), key=times.__getitem__)]


def _rank(click: object, results: list[str]) -> int:
    if isinstance(click, dict):
        if isinstance(url := click.get("url"), str) and "rank" not in click:
            return results.index(url) + 1 if url in results else 0
        click = click.get("rank")
    if not isinstance(click, int) or isinstance(click, bool):
        raise RejectError("bad_clicks")
    return click


def _moment(value: object) -> float:
    """A click's moment; fractions of a second count, since clicks may share a second."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else float(parse_time(value))  # type: ignore[arg-type]
