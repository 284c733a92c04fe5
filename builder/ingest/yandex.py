"""The format of Yandex's relevance prediction challenge -> records.

Tab-separated actions of sessions: `SessionID TimePassed Q QueryID RegionID URL1 URL2 ...` and
`SessionID TimePassed C URLID`. A click belongs to the latest page of its session that shows the
URL. A session is a user; queries and URLs are numbers, the latter become addresses of a host that
cannot exist.
"""

import re
from collections.abc import Iterator
from typing import Any

from builder.ingest.lines import read_blocks
from builder.ingest.tabular import Offered
from builder.parameters import LogParameters
from builder.sources import Interval, Source

LINE = re.compile(rb"[^\t]{1,64}\t\d{1,12}\t[QC]\t")
ADDRESS = "https://yandex.invalid/{}"

Page = tuple[int, dict[str, Any]]


def read_actions(source: Source, interval: Interval, params: LogParameters) -> Iterator[Offered]:
    """Every page of a file, by the line of its query; actions that are none, with the reason."""
    start = interval.start
    if params.session_start is not None:
        start = int(params.session_start.timestamp())
    session: bytes | None = None
    pages: list[Page] = []
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            action = _action(line)
            if isinstance(action, str):
                yield number, action
                continue
            if action[0] != session:
                yield from pages
                session, pages = action[0], []
            if action[2] == b"Q":
                pages.append((number, _page(action, start)))
            elif not _click(pages, action):
                yield number, "click_not_shown"
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault
    yield from pages


def _action(line: bytes | None) -> list[bytes] | str:
    """The fields of an action, or why it is none."""
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    fields = line.split(b"\t")
    least = {b"Q": 5, b"C": 4}.get(fields[2] if len(fields) > 2 else b"", 0)
    if not LINE.match(line) or not least or len(fields) < least:
        return "bad_action"
    try:
        line.decode("ascii")
    except UnicodeDecodeError:
        return "not_ascii"
    return fields


def _page(action: list[bytes], start: int) -> dict[str, Any]:
    session, passed, _, query, _, *urls = (field.decode() for field in action)
    return {
        "time": start + int(passed),
        "user": session,
        "query": query,
        "results": [ADDRESS.format(url.strip()) for url in urls],
        "clicks": [],
    }


def _click(pages: list[Page], action: list[bytes]) -> bool:
    """Add a click to the latest page that shows its URL; whether there is one."""
    address = ADDRESS.format(action[3].decode().strip())
    for _, page in reversed(pages):
        if address in page["results"]:
            page["clicks"].append(page["results"].index(address) + 1)
            return True
    return False
