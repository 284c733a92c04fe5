"""Reads the logs of the Yandex challenges of 2011 and 2014.

Fields are separated by tabs. Lines of 2011 are `SessionID TimePassed Q QueryID RegionID URL1 URL2
...` or `SessionID TimePassed C URLID`. The session is used as the user. A click is attributed to
the latest result page of its session that shows the URL.

Lines of 2014 are `SessionID M Day UserID`, `SessionID TimePassed Q|T SERPID QueryID Terms
URLID1,DomainID1 ...` or `SessionID TimePassed C SERPID URLID`, with comma-separated terms. Days are
counted from the start of the log. The unit of TimePassed is undocumented; seconds are assumed. Test
queries (`T`) are rejected because their clicks were withheld.

Queries and URLs are numeric ids. URLs are built from the template `log.address`; by default, they
have the host yandex.invalid, which does not exist.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from builder.ingest.lines import read_line_blocks
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


def detect_yandex_format(first_lines: Sequence[bytes]) -> str | None:
    """Return `yandex` or `yandex-2014`, whichever format the first lines match; otherwise None."""
    lines = [line.decode("ascii", "replace").rstrip() for line in first_lines]
    if any(SESSION_2014.fullmatch(line) for line in lines):
        return "yandex-2014"
    for name, actions in (("yandex", ACTIONS_2011), ("yandex-2014", ACTIONS_2014)):
        if any(action.fullmatch(lines[0]) for action in actions):
            return name
    return None


def read_2011_log(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield the result pages and rejected lines of a 2011 log, with their line numbers.

    The number of a result page is the line number of its query.
    """
    start, address = _start_time_of_log(interval, params), params.address or URL_TEMPLATE
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
            pages.append(
                (number, _build_result_page(start + int(action[1]), session, action[3], shown))
            )
        elif not _add_click_to_latest_page(pages, address.replace(ID_PLACEHOLDER, action[3])):
            yield number, "click_not_shown"
    yield from pages


def read_2014_log(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[NumberedRecord]:
    """Yield the result pages and rejected lines of a 2014 log, with their line numbers.

    The number of a result page is the line number of its query.
    """
    address = params.address or URL_TEMPLATE
    session = _Session("", "", 0)
    for number, action in _read_actions(source, params, ACTIONS_2014):
        if isinstance(action, str):
            yield number, action
        elif action[1] == "M":
            yield from session.pages.values()
            day = _start_time_of_log(interval, params) + DAY * int(action[2])
            session = _Session(action[0], action[3], day)
        elif action[0] != session.session_id:
            yield number, "no_session"
        elif (reason := session.add_action(number, action, address)) is not None:
            yield number, reason
    yield from session.pages.values()


class _Session:
    """Session of a user in a 2014 log.

    Args:
        session_id: Session id.
        user_id: User id.
        day_start: Unix time at which the day of the session starts.

    Attributes:
        pages: Result pages of the session by SERP id, with line numbers.
    """

    def __init__(self, session_id: str, user_id: str, day_start: int) -> None:
        self.session_id, self._user_id, self._day_start = session_id, user_id, day_start
        self.pages: dict[str, Page] = {}

    def add_action(self, line_number: int, action: Action, url_template: str) -> str | None:
        """Add a query or click to the session; return the reject reason if the action is invalid.

        Args:
            line_number: Line number of the query or click.
            action: Fields of the line.
            url_template: URL template for document ids.
        """
        kind, page = action[2], self.pages.get(action[3])
        if kind == "C":
            is_shown = page and _add_click_to_latest_page(
                [page], url_template.replace(ID_PLACEHOLDER, action[4])
            )
            return None if is_shown else "click_not_shown"
        if kind == "T":
            return "clicks_withheld"
        if page is not None:
            return "bad_action"
        shown = [
            url_template.replace(ID_PLACEHOLDER, pair.partition(",")[0]) for pair in action[6:]
        ]
        time = self._day_start + int(action[1])
        self.pages[action[3]] = (
            line_number,
            _build_result_page(time, self._user_id, action[4], shown),
        )
        return None


def _start_time_of_log(interval: Interval, params: LogParameters) -> int:
    """Return `log.session_start` or, if not set, the start of the interval, in Unix seconds."""
    return interval.start if params.session_start is None else int(params.session_start.timestamp())


def _read_actions(
    source: Source, params: LogParameters, patterns: Sequence[re.Pattern[str]]
) -> Iterator[tuple[int, Action | str]]:
    """For each line of a Yandex log, yield its number and its fields or reject reason."""
    for block in read_line_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first_line_number):
            yield number, _split_action_line(line, patterns)
        if block.fault is not None:
            yield block.first_line_number + len(block.lines), block.fault


def _split_action_line(line: bytes | None, patterns: Sequence[re.Pattern[str]]) -> Action | str:
    """Split a line into fields; return the reject reason if it is invalid or matches no pattern."""
    if line is None:
        return LINE_TOO_LONG
    if not line.strip():
        return "blank_line"
    if not line.isascii():
        return "not_ascii"
    text = line.decode().rstrip()
    return text.split("\t") if any(form.fullmatch(text) for form in patterns) else "bad_action"


def _build_result_page(time: int, user: str, query: str, results: list[str]) -> dict[str, Any]:
    """Build the log record of a result page that has no clicks yet."""
    return {"time": time, "user": user, "query": query, "results": results, "clicks": []}


def _add_click_to_latest_page(pages: Sequence[Page], url: str) -> bool:
    """Add a click to the latest result page that shows the URL; return False if no page does."""
    for _, page in reversed(pages):
        if url in page["results"]:
            page["clicks"].append(page["results"].index(url) + 1)
            return True
    return False
