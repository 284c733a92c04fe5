"""Sogou's click log (SogouQ, 2006 to 2012) to records.

Tab-separated in GB18030, one click a line: `time user [query] rank order url`, where rank and order
of the click are separated by a space or a tab, and URLs have no scheme. The log has the clicked
results alone: an impression here is the clicks of one user on one query that follow each other.
A time of day counts from `log.session_start`, or from the snapshot's start; editions with whole
dates (`20111230000005`) have their own.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import Numbered, Record
from builder.parameters import LogParameters
from builder.sources import Interval, Source

ENCODING = "gb18030"
LINE = re.compile(r"([^\t]+)\t([^\t]*)\t\[?(.*?)\]?\t(\d+)[ \t](\d+)\t([^\t]+)")
OF_DAY = re.compile(r"(\d\d):(\d\d):(\d\d)")
WHOLE = re.compile(r"\d{14}")


class Click(NamedTuple):
    """One line of the log."""

    number: int
    time: int | str
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
    encoding = ENCODING if params.encoding == "auto" else params.encoding
    pending: list[Click] = []
    for block in read_blocks(source, params.max_line_bytes, encoding):
        for number, line in enumerate(block.lines, block.first):
            click = _click(number, line, start)
            if isinstance(click, str):
                yield number, click
                continue
            if pending and (click.user, click.query) != (pending[0].user, pending[0].query):
                yield pending[0].number, _record(pending)
                pending = []
            pending.append(click)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault
    if pending:
        yield pending[0].number, _record(pending)


def _click(number: int, line: bytes | None, start: int) -> Click | str:
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    try:
        found = LINE.fullmatch(line.decode().strip())
    except UnicodeDecodeError:
        return "not_utf8"
    if found is None:
        return "bad_action"
    time, user, query, rank, order, url = found.groups()
    return Click(number, _time(time, start), user, query, int(rank), int(order), url.strip())


def _time(text: str, start: int) -> int | str:
    if (found := OF_DAY.fullmatch(text)) is not None:
        hours, minutes, seconds = map(int, found.groups())
        return start + int(timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds())
    if WHOLE.fullmatch(text):
        return f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[8:10]}:{text[10:12]}:{text[12:]}"
    return text


def _record(clicks: list[Click]) -> Record:
    """The impression of some clicks: the clicked results by rank, each once."""
    ranks: dict[str, int] = {}
    for click in clicks:
        ranks.setdefault(click.url, click.rank)
    results = sorted(ranks, key=lambda url: (ranks[url], url))
    ordered: dict[str, Any] = dict.fromkeys(
        click.url for click in sorted(clicks, key=lambda click: click.order)
    )
    return {
        "time": clicks[0].time,
        "user": clicks[0].user,
        "query": clicks[0].query,
        "results": results,
        "clicks": [results.index(url) + 1 for url in ordered],
    }
