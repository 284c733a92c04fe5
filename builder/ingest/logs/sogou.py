"""Reads the Sogou click log (SogouQ, 2006 to 2012).

Each line is a click in GB18030, tab-separated: `time user [query] rank order url`, with a space or
tab between rank and order, and URLs without a scheme. Only clicked results are logged, so an
impression consists of the clicks of a user on a query, each at most half an hour after the
previous one. Lines of different users may be interleaved. Times of day are relative to
`log.session_start` or, by default, to the start of the snapshot; editions with full timestamps
(`20111230000005`) need neither.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import NumberedRecord, Record
from builder.ingest.rejects import LINE_TOO_LONG, RejectError
from builder.ingest.timestamps import parse_time
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters

ENCODING = "gb18030"
LINE = re.compile(
    r"([^\t]+)\t([^\t]*)\t(?:\[(.*)\]|([^\t]*))\t([0-9]{1,9})[ \t]([0-9]{1,9})\t([^\t]+)"
)
TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])")
DATE_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})")
MAX_GAP = 1800
"""Maximum time between two clicks of the same impression, in seconds."""
MAX_OPEN = 100_000
"""Maximum number of open impressions, to bound memory; the oldest is closed to open another."""
MAX_CLICKS = 2**16
"""Maximum number of clicks per impression; further clicks start another impression."""
CHECKED_PER_CLICK = 4
"""Number of oldest open impressions to check per click; above 1 so that impressions close faster
than they open."""


class Click(NamedTuple):
    """Click in one line of the Sogou log."""

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
    """Yield impressions, numbered by the line of the first click, and rejected lines."""
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
            if other in pending and _is_complete(pending[other], click.time):
                yield _build_impression(pending.pop(other))
        if len(pending) >= MAX_OPEN:
            yield _build_impression(pending.pop(next(iter(pending))))
        clicks = pending[key] = pending.pop(key, [])  # moved to the end: the oldest come first
        clicks.append(click)
    yield from map(_build_impression, pending.values())


def _is_complete(clicks: list[Click], now: int) -> bool:
    """Whether no further click from time `now` on can belong to the impression of these clicks."""
    return abs(now - clicks[-1].time) > MAX_GAP or len(clicks) >= MAX_CLICKS


def _read_lines(source: Source, params: LogParameters) -> Iterator[tuple[int, bytes | str | None]]:
    """Yield the numbered lines of a file; if reading fails, the last item is the reason."""
    encoding = ENCODING if params.encoding == "auto" else params.encoding
    for block in read_blocks(source, params.max_line_bytes, encoding):
        yield from enumerate(block.lines, block.first)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _parse_click(
    number: int, line: bytes | str | None, start: int, params: LogParameters
) -> Click | str:
    """Parse a line and return the click, or the reason to reject it."""
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
    return Click(number, seconds, user, query, int(rank), int(order), url.strip())


def _parse_time(text: str, start: int, params: LogParameters) -> int:
    """Convert a time of day or a full timestamp to Unix time in seconds.

    Raises:
        RejectError: the text is neither.
    """
    if (found := TIME_OF_DAY.fullmatch(text)) is not None:
        hours, minutes, seconds = map(int, found.groups())
        return start + 3600 * hours + 60 * minutes + seconds
    if (found := DATE_TIME.fullmatch(text)) is not None:
        text = "{}-{}-{}T{}:{}:{}".format(*found.groups())
    return parse_time(text, params)


def _build_impression(clicks: list[Click]) -> NumberedRecord:
    """Return the impression of some clicks; the results are the distinct clicked URLs."""
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
