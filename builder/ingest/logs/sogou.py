"""Reads the Sogou click log (SogouQ, 2006 to 2012).

Each line is a click with the tab-separated fields `time user [query] rank order url`; rank and
order may also be separated by a space. The encoding is GB18030 or, in some copies, UTF-8. URLs have
no scheme. Only clicked results are logged, so an impression is built from the clicks of a user for
a query, with at most half an hour between consecutive clicks. Lines of different users may be
interleaved.

Times of day are relative to `log.session_start` or, by default, to the start of the snapshot; full
timestamps, as in later editions (`20111230000005`), are absolute.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from builder.ingest.lines import read_line_blocks
from builder.ingest.logs.encoding import UTF8, sample_non_ascii_lines
from builder.ingest.logs.records import NumberedRecord, Record
from builder.ingest.rejects import LINE_TOO_LONG, RejectError
from builder.ingest.timestamps import parse_time
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.text.text_bytes import is_utf8

ENCODING = "gb18030"
LINE = re.compile(
    r"([^\t]+)\t([^\t]*)\t(?:\[(.*)\]|([^\t]*))\t([0-9]{1,9})[ \t]([0-9]{1,9})\t([^\t]+)"
)
TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])")
DATE_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})")
MAX_GAP = 1800
"""Maximum time between consecutive clicks of an impression, in seconds."""
MAX_OPEN = 100_000
"""Maximum number of open impressions, to bound memory use; when it is reached, the oldest
impression is closed."""
MAX_CLICKS = 2**16
"""Maximum number of clicks per impression; further clicks start a new impression."""
CHECKED_PER_CLICK = 4
"""Number of oldest open impressions that are checked for completeness at each click. It exceeds 1
so that impressions are closed faster than they are opened."""


class Click(NamedTuple):
    """Click in the Sogou log: line number, Unix time, user, query, rank, click order and URL."""

    number: int
    time: int
    user: str
    query: str
    rank: int
    order: int
    url: str


def read_impressions(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield the impressions and rejected lines of a Sogou log, with their line numbers.

    The number of an impression is the line number of its first click.
    """
    start = interval.start
    if params.session_start is not None:
        start = int(params.session_start.timestamp())
    pending: dict[tuple[str, str], list[Click]] = {}
    for number, line in _read_lines(source, params):
        click = _parse_click(number, line, start, params)
        if isinstance(click, str):
            yield number, click
            continue
        key = (click.user or f"line {number}", click.query)
        for other in [*islice(pending, CHECKED_PER_CLICK), key]:
            if other in pending and _is_impression_complete(pending[other], click.time):
                yield _build_impression(pending.pop(other))
        if len(pending) >= MAX_OPEN:
            yield _build_impression(pending.pop(next(iter(pending))))
        clicks = pending[key] = pending.pop(key, [])  # moved to the end: the oldest come first
        clicks.append(click)
    yield from map(_build_impression, pending.values())


def _is_impression_complete(clicks: list[Click], now: int) -> bool:
    """Whether an impression is complete, so that a click at time `now` cannot belong to it.

    Args:
        clicks: Clicks of the impression.
        now: Unix time in seconds.
    """
    return abs(now - clicks[-1].time) > MAX_GAP or len(clicks) >= MAX_CLICKS


def _read_lines(source: Source, params: LogParameters) -> Iterator[tuple[int, bytes | str | None]]:
    """Yield each line of a log as its line number and its bytes.

    Instead of the bytes, yield None if the line is too long, and the reject reason if reading
    fails.
    """
    encoding = _detect_encoding(source) if params.encoding == "auto" else params.encoding
    for block in read_line_blocks(source, params.max_line_bytes, encoding):
        yield from enumerate(block.lines, block.first_line_number)
        if block.fault is not None:
            yield block.first_line_number + len(block.lines), block.fault


def _detect_encoding(source: Source) -> str:
    """Return `utf-8` if most of the first lines with non-ASCII bytes are UTF-8, else `gb18030`."""
    foreign = sample_non_ascii_lines(source)
    return UTF8 if sum(map(is_utf8, foreign)) * 2 > len(foreign) else ENCODING


def _parse_click(
    line_number: int, line: bytes | str | None, start: int, params: LogParameters
) -> Click | str:
    """Parse a line of the log; return the click, or the reason to reject the line.

    Args:
        line_number: Line number.
        line: The line as bytes; None if it is too long; the reject reason if reading failed.
        start: Unix time to which times of day are relative.
        params: Section `[log]` of the definition.
    """
    if line is None:
        return LINE_TOO_LONG
    if isinstance(line, str):
        return line
    if not line.strip():
        return "blank_line"
    try:
        found = LINE.fullmatch(line.decode().rstrip())
    except UnicodeDecodeError:
        return "not_utf8"
    if found is None:
        return "bad_action"
    time, user, bracketed, plain, rank, order, url = found.groups()
    try:
        seconds = _parse_time(time, start, params)
    except RejectError as reject:
        return str(reject)
    query = plain if bracketed is None else bracketed
    return Click(line_number, seconds, user, query, int(rank), int(order), url.strip())


def _parse_time(text: str, start: int, params: LogParameters) -> int:
    """Convert a time of day or a full timestamp to Unix time in seconds.

    Args:
        text: Time as logged.
        start: Unix time to which times of day are relative.
        params: Section `[log]` of the definition.

    Raises:
        RejectError: the text is neither a time of day nor a timestamp.
    """
    if (found := TIME_OF_DAY.fullmatch(text)) is not None:
        hours, minutes, seconds = map(int, found.groups())
        return start + 3600 * hours + 60 * minutes + seconds
    if (found := DATE_TIME.fullmatch(text)) is not None:
        text = "{}-{}-{}T{}:{}:{}".format(*found.groups())
    return parse_time(text, params)


def _build_impression(clicks: list[Click]) -> NumberedRecord:
    """Build an impression from its clicks; the results are the distinct clicked URLs."""
    ranks: dict[str, int] = {}
    for click in clicks:
        ranks.setdefault(click.url, click.rank)
    results = sorted(ranks, key=lambda url: (ranks[url], url))
    ordered = dict.fromkeys(click.url for click in sorted(clicks, key=lambda click: click.order))
    record: Record = {
        "time": clicks[0].time,
        "query": clicks[0].query,
        "results": results,
        "clicks": [results.index(url) + 1 for url in ordered],
    }
    if clicks[0].user:
        record["user"] = clicks[0].user
    return clicks[0].number, record
