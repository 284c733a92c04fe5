"""The logs of Yandex's challenges (relevance prediction 2011, personalised search 2014) to records.

2011, tab-separated: `SessionID TimePassed Q QueryID RegionID URL1 URL2 ...` and
`SessionID TimePassed C URLID`. A session is a user; a click belongs to the latest result page of
its session that shows the URL.

2014, tab-separated: `SessionID M Day UserID`, `SessionID TimePassed Q|T SERPID QueryID Terms
URLID1,DomainID1 ...` and `SessionID TimePassed C SERPID URLID`, terms separated by commas. Days
count from the start of the log; the unit of the time passed was never published and is taken for
seconds. The clicks of test queries (`T`) were withheld, so they are rejected.

Queries and URLs are numbers. A URL gets the address of `log.address`, or one on a host that cannot
exist.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import Numbered
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.parameters.raw import PLACE

QUERY_2011 = re.compile(r"[^\t]+\t\d{1,12}\tQ\t[^\t,]+\t[^\t,]*(\t[^\t,]+)*")
CLICK_2011 = re.compile(r"[^\t]+\t\d{1,12}\tC\t[^\t,]+")
SESSION_2014 = re.compile(r"\d{1,19}\tM\t\d{1,6}\t\d{1,19}")
QUERY_2014 = re.compile(
    r"\d{1,19}\t\d{1,12}\t[QT]\t\d{1,12}\t\d{1,19}\t[\d,]*(\t\d{1,19},\d{1,19})*"
)
CLICK_2014 = re.compile(r"\d{1,19}\t\d{1,12}\tC\t\d{1,12}\t\d{1,19}")
ACTIONS_2011 = (QUERY_2011, CLICK_2011)
ACTIONS_2014 = (SESSION_2014, QUERY_2014, CLICK_2014)
ADDRESS = "https://yandex.invalid/{id}"
DAY = 86_400

Action = list[str]
Page = tuple[int, dict[str, Any]]


def challenge_of(first: Sequence[bytes]) -> str | None:
    """The format that the first lines of a file are in: `yandex`, `yandex-2014` or neither."""
    lines = [line.decode("ascii", "replace").rstrip() for line in first]
    if any(SESSION_2014.fullmatch(line) for line in lines):
        return "yandex-2014"
    for name, actions in (("yandex", ACTIONS_2011), ("yandex-2014", ACTIONS_2014)):
        if any(action.fullmatch(lines[0]) for action in actions):
            return name
    return None


def read_2011(source: Source, interval: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every result page of a log of 2011, numbered by the line of its query."""
    start, address = _start(interval, params), params.address or ADDRESS
    session, pages = "", list[Page]()
    for number, action in _actions(source, params, ACTIONS_2011):
        if isinstance(action, str):
            yield number, action
            continue
        if action[0] != session:
            yield from pages
            session, pages = action[0], []
        if action[2] == "Q":
            shown = [address.replace(PLACE, url) for url in action[5:]]
            pages.append((number, _page(start + int(action[1]), session, action[3], shown)))
        elif not _click(pages, address.replace(PLACE, action[3])):
            yield number, "click_not_shown"
    yield from pages


def read_2014(source: Source, interval: Interval, params: LogParameters) -> Iterator[Numbered]:
    """Every result page of a log of 2014, numbered by the line of its query."""
    address = params.address or ADDRESS
    session = _Session("", "", 0)
    for number, action in _actions(source, params, ACTIONS_2014):
        if isinstance(action, str):
            yield number, action
        elif action[1] == "M":
            yield from session.pages.values()
            day = _start(interval, params) + DAY * int(action[2])
            session = _Session(action[0], action[3], day)
        elif action[0] != session.name:
            yield number, "no_session"
        elif (reason := session.add(number, action, address)) is not None:
            yield number, reason
    yield from session.pages.values()


class _Session:
    """A session of 2014.

    Args:
        name: Its number.
        user: Who searched.
        start: When it began, in unix seconds.

    Attributes:
        pages: Its result pages by their numbers.
    """

    def __init__(self, name: str, user: str, start: int) -> None:
        self.name, self._user, self._start = name, user, start
        self.pages: dict[str, Page] = {}

    def add(self, number: int, action: Action, address: str) -> str | None:
        """Add a query or a click; the reason if it cannot be added."""
        kind, page = action[2], self.pages.get(action[3])
        if kind == "C":
            is_shown = page and _click([page], address.replace(PLACE, action[4]))
            return None if is_shown else "click_not_shown"
        if kind == "T":
            return "clicks_withheld"
        if page is not None:
            return "bad_action"
        shown = [address.replace(PLACE, pair.partition(",")[0]) for pair in action[6:]]
        time = self._start + int(action[1])
        self.pages[action[3]] = (number, _page(time, self._user, action[4], shown))
        return None


def _start(interval: Interval, params: LogParameters) -> int:
    """The moment from which the log counts time, in unix seconds."""
    return interval.start if params.session_start is None else int(params.session_start.timestamp())


def _actions(
    source: Source, params: LogParameters, known: Sequence[re.Pattern[str]]
) -> Iterator[tuple[int, Action | str]]:
    """The fields of every line, or the reason why it is not an action."""
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            yield number, _fields(line, known)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _fields(line: bytes | None, known: Sequence[re.Pattern[str]]) -> Action | str:
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    if not line.isascii():
        return "not_ascii"
    text = line.decode().rstrip()
    return text.split("\t") if any(form.fullmatch(text) for form in known) else "bad_action"


def _page(time: int, user: str, query: str, results: list[str]) -> dict[str, Any]:
    return {"time": time, "user": user, "query": query, "results": results, "clicks": []}


def _click(pages: Sequence[Page], address: str) -> bool:
    """Add a click to the latest page that shows the URL; return whether there was such a page."""
    for _, page in reversed(pages):
        if address in page["results"]:
            page["clicks"].append(page["results"].index(address) + 1)
            return True
    return False
