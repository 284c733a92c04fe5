"""Sogou's click log (SogouQ, 2006 to 2012) to records.

Tab-separated in GB18030, one click a line: `time user [query] rank order url`, where rank and order
of the click are separated by a space or a tab, and URLs have no scheme. The log has the clicked
results alone: an impression here is the clicks of one user on one query, each at most half an hour
after the one before. Lines of several users may be interleaved. A time of day counts
from `log.session_start`, or from the snapshot's start; editions with whole dates
(`20111230000005`) have their own.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import Numbered, Record
from builder.ingest.moments import parse_time
from builder.ingest.rejects import RejectError
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters

ENCODING = "gb18030"
LINE = re.compile(
    r"([^\t]+)\t([^\t]*)\t(?:\[(.*)\]|([^\t]*))\t([0-9]{1,9})[ \t]([0-9]{1,9})\t([^\t]+)"
)
OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])")
WHOLE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})")
GAP = 1800
"""Seconds after which a further click on the same query belongs to another impression."""
MAX_OPEN = 100_000
"""Impressions that may still get clicks; beyond it the oldest is complete, to bound memory."""
MAX_CLICKS = 2**16
"""Maximum clicks per impression; further clicks start a new impression."""
CHECKED = 4
"""Oldest open impressions to check per click: more than one, so that they close faster than they
open."""


class Click(NamedTuple):
    """One line of the log."""

    number: int
    time: int
    user: str
    query: str
    rank: int
    order: int
    url: str


def read_clicks(source: Source, interval: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every impression with a click, numbered by the line of its first click."""
    start = interval.start
    if params.session_start is not None:
        start = int(params.session_start.timestamp())
    pending: dict[tuple[str, str], list[Click]] = {}
    for number, line in _lines(source, params):
        click = _click(number, line, start, params)
        if isinstance(click, str):
            yield number, click
            continue
        key = (click.user or f"line {number}", click.query)
        for other in [*islice(pending, CHECKED), key]:
            if other in pending and _is_complete(pending[other], click.time):
                yield _impression(pending.pop(other))
        if len(pending) >= MAX_OPEN:
            yield _impression(pending.pop(next(iter(pending))))
        clicks = pending[key] = pending.pop(key, [])  # to the end: the oldest are the first
        clicks.append(click)
    yield from map(_impression, pending.values())


def _is_complete(clicks: list[Click], now: int) -> bool:
    return abs(now - clicks[-1].time) > GAP or len(clicks) >= MAX_CLICKS


def _lines(source: Source, params: LogParameters) -> Iterator[tuple[int, bytes | str | None]]:
    """Numbered lines of a file; if reading fails, the last item is the reason."""
    encoding = ENCODING if params.encoding == "auto" else params.encoding
    for block in read_blocks(source, params.max_line_bytes, encoding):
        yield from enumerate(block.lines, block.first)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _click(number: int, line: bytes | str | None, start: int, params: LogParameters) -> Click | str:
    if line is None:
        return "line_too_long"
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
        seconds = _time(time, start, params)
    except RejectError as reject:
        return str(reject)
    query = plain if bracketed is None else bracketed
    return Click(number, seconds, user, query, int(rank), int(order), url.strip())


def _time(text: str, start: int, params: LogParameters) -> int:
    """Unix seconds of a time of day or of a whole date.

    Raises:
        RejectError: the text is neither.
    """
    if (found := OF_DAY.fullmatch(text)) is not None:
        hours, minutes, seconds = map(int, found.groups())
        return start + 3600 * hours + 60 * minutes + seconds
    if (found := WHOLE.fullmatch(text)) is not None:
        text = "{}-{}-{}T{}:{}:{}".format(*found.groups())
    return parse_time(text, params)


def _impression(clicks: list[Click]) -> Numbered:
    """Build an impression from clicks: the distinct clicked results by rank."""
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
