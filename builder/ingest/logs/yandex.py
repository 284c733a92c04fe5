"""Reads the logs of the Yandex challenges of 2011 and 2014.

2011, tab-separated: `SessionID TimePassed Q QueryID RegionID URL1 URL2 ...` and
`SessionID TimePassed C URLID`. The session is used as the user. A click is attributed to the latest
result page of its session that shows the URL.

2014, tab-separated: `SessionID M Day UserID`, `SessionID TimePassed Q|T SERPID QueryID Terms
URLID1,DomainID1 ...` and `SessionID TimePassed C SERPID URLID`, with comma-separated terms. Days
are counted from the start of the log. The unit of TimePassed is undocumented; seconds are assumed.
Test queries (`T`) are rejected because their clicks were withheld.

Queries and URLs are numeric ids. URLs are built from `log.address` or, by default, on the
unresolvable host yandex.invalid.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from builder.ingest.lines import read_blocks
from builder.ingest.logs.records import NumberedRecord
from builder.ingest.rejects import LINE_TOO_LONG
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.parameters.raw import ID_PLACEHOLDER

QUERY_2011 = re.compile(r"[^\t]+\t\d{1,12}\tQ\t[^\t,]+\t[^\t,]*(\t[^\t,]+)*")
CLICK_2011 = re.compile(r"[^\t]+\t\d{1,12}\tC\t[^\t,]+")
SESSION_2014 = re.compile(r"\d{1,19}\tM\t\d{1,6}\t\d{1,19}")
QUERY_2014 = re.compile(
    r"\d{1,19}\t\d{1,12}\t[QT]\t\d{1,12}\t\d{1,19}\t[\d,]*(\t\d{1,19},\d{1,19})*"
)
CLICK_2014 = re.compile(r"\d{1,19}\t\d{1,12}\tC\t\d{1,12}\t\d{1,19}")
ACTIONS_2011 = (QUERY_2011, CLICK_2011)
ACTIONS_2014 = (SESSION_2014, QUERY_2014, CLICK_2014)
URL_TEMPLATE = "https://yandex.invalid/{id}"
DAY = 86_400

Action = list[str]
Page = tuple[int, dict[str, Any]]


def detect_challenge(first: Sequence[bytes]) -> str | None:
    """Detect `yandex` or `yandex-2014` from the first lines of a file; None if neither matches."""
    lines = [line.decode("ascii", "replace").rstrip() for line in first]
    if any(SESSION_2014.fullmatch(line) for line in lines):
        return "yandex-2014"
    for name, actions in (("yandex", ACTIONS_2011), ("yandex-2014", ACTIONS_2014)):
        if any(action.fullmatch(lines[0]) for action in actions):
            return name
    return None


def read_2011(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield the result pages of a 2011 log, numbered by the line of the query."""
    start, address = _log_start(interval, params), params.address or URL_TEMPLATE
    session, pages = "", list[Page]()
    for number, action in _read_actions(source, params, ACTIONS_2011):
        if isinstance(action, str):
            yield number, action
            continue
        if action[0] != session:
            yield from pages
            session, pages = action[0], []
        if action[2] == "Q":
            shown = [address.replace(ID_PLACEHOLDER, url) for url in action[5:]]
            pages.append((number, _result_page(start + int(action[1]), session, action[3], shown)))
        elif not _record_click(pages, address.replace(ID_PLACEHOLDER, action[3])):
            yield number, "click_not_shown"
    yield from pages


def read_2014(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield the result pages of a 2014 log, numbered by the line of the query."""
    address = params.address or URL_TEMPLATE
    session = _Session("", "", 0)
    for number, action in _read_actions(source, params, ACTIONS_2014):
        if isinstance(action, str):
            yield number, action
        elif action[1] == "M":
            yield from session.pages.values()
            day = _log_start(interval, params) + DAY * int(action[2])
            session = _Session(action[0], action[3], day)
        elif action[0] != session.name:
            yield number, "no_session"
        elif (reason := session.add(number, action, address)) is not None:
            yield number, reason
    yield from session.pages.values()


class _Session:
    """Session of a user in a log of 2014.

    Args:
        name: Session id.
        user: User id.
        start: Unix time of its day.

    Attributes:
        pages: Result pages by SERP id.
    """

    def __init__(self, name: str, user: str, start: int) -> None:
        self.name, self._user, self._start = name, user, start
        self.pages: dict[str, Page] = {}

    def add(self, number: int, action: Action, address: str) -> str | None:
        """Add a query or a click to the session; return the reject reason if it is invalid."""
        kind, page = action[2], self.pages.get(action[3])
        if kind == "C":
            is_shown = page and _record_click([page], address.replace(ID_PLACEHOLDER, action[4]))
            return None if is_shown else "click_not_shown"
        if kind == "T":
            return "clicks_withheld"
        if page is not None:
            return "bad_action"
        shown = [address.replace(ID_PLACEHOLDER, pair.partition(",")[0]) for pair in action[6:]]
        time = self._start + int(action[1])
        self.pages[action[3]] = (number, _result_page(time, self._user, action[4], shown))
        return None


def _log_start(interval: Interval, params: LogParameters) -> int:
    """Return the time at which the log starts, in Unix seconds."""
    return interval.start if params.session_start is None else int(params.session_start.timestamp())


def _read_actions(
    source: Source, params: LogParameters, patterns: Sequence[re.Pattern[str]]
) -> Iterator[tuple[int, Action | str]]:
    """Yield the fields of each numbered line, or the reason to reject the line."""
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            yield number, _split_action(line, patterns)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _split_action(line: bytes | None, patterns: Sequence[re.Pattern[str]]) -> Action | str:
    """Split a line into fields if it matches a pattern; otherwise return a reject reason."""
    if line is None:
        return LINE_TOO_LONG
    if not line.strip():
        return "blank_line"
    if not line.isascii():
        return "not_ascii"
    text = line.decode().rstrip()
    return text.split("\t") if any(form.fullmatch(text) for form in patterns) else "bad_action"


def _result_page(time: int, user: str, query: str, results: list[str]) -> dict[str, Any]:
    """Return the record of a result page without clicks."""
    return {"time": time, "user": user, "query": query, "results": results, "clicks": []}


def _record_click(pages: Sequence[Page], address: str) -> bool:
    """Add a click to the latest result page that shows the URL; return whether one does."""
    for _, page in reversed(pages):
        if address in page["results"]:
            page["clicks"].append(page["results"].index(address) + 1)
            return True
    return False
