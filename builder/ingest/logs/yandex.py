"""The logs of Yandex's challenges (relevance prediction 2011, personalised search 2014) to records.

2011, tab-separated: `SessionID TimePassed Q QueryID RegionID URL1 URL2 ...` and
`SessionID TimePassed C URLID`. A session is a user; a click belongs to the latest result page of
its session that shows the URL.

2014, tab-separated: `SessionID M Day UserID`, `SessionID TimePassed Q|T SERPID QueryID Terms
URLID1,DomainID1 ...` and `SessionID TimePassed C SERPID URLID`, terms separated by commas. Days
count from the start of the log; the unit of the time passed was never published and is taken for
seconds.

Queries and URLs are numbers. A URL gets the address of `log.address`, or one on a host that cannot
exist.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import Numbered
from builder.parameters import LogParameters
from builder.parameters.raw import PLACE
from builder.sources import Interval, Source

ACTION_2011 = re.compile(rb"[^\t]{1,64}\t\d{1,12}\t[QC]\t")
SESSION_2014 = re.compile(rb"\d{1,19}\tM\t\d{1,4}\t\d{1,19}\s*$")
SERP_2014 = re.compile(rb"\d{1,19}\t\d{1,12}\t[QT]\t\d{1,9}\t\d{1,19}\t[\d,]*(\t\d{1,19},\d{1,19})")
ADDRESS = "https://yandex.invalid/{id}"
DAY = 86_400

Action = list[str]
Page = tuple[int, dict[str, Any]]


def challenge_of(first: Sequence[bytes]) -> str | None:
    """The format that the first lines of a file are in: `yandex`, `yandex-2014` or neither."""
    if any(SESSION_2014.match(line) or SERP_2014.match(line) for line in first):
        return "yandex-2014"
    return "yandex" if ACTION_2011.match(first[0]) else None


def read_2011(source: Source, interval: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every result page of a log of 2011, numbered by the line of its query."""
    start, address = _start(interval, params), params.address or ADDRESS
    session, pages = "", list[Page]()
    for number, action in _actions(source, params):
        kind = "" if isinstance(action, str) else _kind_2011(action)
        if isinstance(action, str) or not kind:
            yield number, action if isinstance(action, str) else "bad_action"
            continue
        if action[0] != session:
            yield from pages
            session, pages = action[0], []
        if kind == "Q":
            shown = [address.replace(PLACE, url) for url in action[5:]]
            pages.append((number, _page(start + int(action[1]), session, action[3], shown)))
        elif not _click(pages, address.replace(PLACE, action[3])):
            yield number, "click_not_shown"
    yield from pages


def read_2014(source: Source, interval: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every result page of a log of 2014, numbered by the line of its query."""
    start, address = _start(interval, params), params.address or ADDRESS
    session, user, begun, pages = "", "", start, dict[str, Page]()
    for number, action in _actions(source, params):
        kind = "" if isinstance(action, str) else _kind_2014(action)
        if isinstance(action, str) or not kind:
            yield number, action if isinstance(action, str) else "bad_action"
            continue
        if action[0] != session:
            yield from pages.values()
            session, user, begun, pages = action[0], action[0], start, {}
        if kind == "M":
            user, begun = action[3], start + DAY * int(action[2])
        elif kind in ("Q", "T"):
            shown = [address.replace(PLACE, pair.partition(",")[0]) for pair in action[6:]]
            page = _page(begun + int(action[1]), user, action[4], shown)
            if action[3] in pages:
                yield number, "bad_action"
            else:
                pages[action[3]] = (number, page)
        elif action[3] not in pages or not _click(
            [pages[action[3]]], address.replace(PLACE, action[4])
        ):
            yield number, "click_not_shown"
    yield from pages.values()


def _kind_2011(action: Action) -> str:
    """`Q` or `C`; empty where an action is malformed."""
    kind = action[2] if len(action) > 3 and action[1].isdecimal() else ""
    return kind if kind == "C" or (kind == "Q" and len(action) >= 5) else ""


def _kind_2014(action: Action) -> str:
    """`M`, `Q`, `T` or `C`; empty where an action is malformed."""
    if len(action) == 4 and action[1] == "M":
        return "M" if action[2].isdecimal() else ""
    kind = action[2] if len(action) > 4 and action[1].isdecimal() else ""
    return kind if kind == "C" or (kind in ("Q", "T") and len(action) >= 6) else ""


def _start(interval: Interval, params: LogParameters) -> int:
    """The moment from which the log counts time, in unix seconds."""
    return interval.start if params.session_start is None else int(params.session_start.timestamp())


def _actions(source: Source, params: LogParameters) -> Iterator[tuple[int, Action | str]]:
    """The fields of every line, or the reason why it has none."""
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            yield number, _fields(line)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _fields(line: bytes | None) -> Action | str:
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    return line.decode().strip().split("\t") if line.isascii() else "not_ascii"


def _page(time: int, user: str, query: str, results: list[str]) -> dict[str, Any]:
    return {"time": time, "user": user, "query": query, "results": results, "clicks": []}


def _click(pages: Sequence[Page], address: str) -> bool:
    """Add a click to the latest page that shows an address; whether there is one."""
    for _, page in reversed(pages):
        if address in page["results"]:
            page["clicks"].append(page["results"].index(address) + 1)
            return True
    return False
