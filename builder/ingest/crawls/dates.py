"""Dates of a page: when it was published and last changed, as far as the page itself says so.

In: the document node of an HTML page. Out: unix seconds or None. Sources in order of trust: JSON-LD
(schema.org `datePublished`, `dateModified`), meta elements, then `<time>` elements. A date that
is no date, or lies before the web or after the fetch, is none.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import orjson
from resiliparse.parse.html import DocumentNode

EARLIEST = 631_152_000
"""1990-01-01: no page of the web is older."""
CLOCK_SKEW = 86_400
"""Seconds by which a date may lie after the fetch: time zones, clocks that run fast."""
MOST_NODES = 10_000
"""Values looked at in one JSON-LD block."""

PUBLISHED = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "dcterms.date",
    "dc.date",
    "publication_date",
    "publish-date",
    "date",
)
MODIFIED = (
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "revised",
)

DATED_META = ",".join(
    f'meta[{attribute}*="{word}" i]'
    for attribute, words in {
        "property": ("time", "date"),
        "name": ("date", "issued", "created", "modified", "revised"),
        "itemprop": ("date",),
        "http-equiv": ("modified",),
    }.items()
    for word in words
)
"""Meta elements that may hold a date: the engine sorts out the others."""
MARKS = {
    "published": ("datepublished", "pubdate", "published"),
    "modified": ("datemodified", "updated", "modified"),
}
"""What a label of a time element has in it, by kind of date."""
NAMING = ("property", "name", "itemprop", "http-equiv")


def page_dates(page: DocumentNode, fetched_at: int) -> tuple[int | None, int | None]:
    """When a page was published and last modified, by its own account."""
    linked = _linked_data(page)
    meta = _meta(page)
    times = list(_times(page))
    published = (*linked["datepublished"], *_values(meta, PUBLISHED), *_marked(times, "published"))
    modified = (*linked["datemodified"], *_values(meta, MODIFIED), *_marked(times, "modified"))
    return _first(published, fetched_at), _first(modified, fetched_at)


def parse_date(text: str, fetched_at: int) -> int | None:
    """Unix seconds of an ISO 8601 or RFC 5322 date; None where it is none, or not believable."""
    try:
        moment = _parse(text.strip())
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return seconds if EARLIEST <= seconds <= fetched_at + CLOCK_SKEW else None


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        if text[:4].isdigit():
            return datetime.fromisoformat(text[:10])
        return parsedate_to_datetime(text)


def _first(texts: Iterable[str], fetched_at: int) -> int | None:
    found = (parse_date(text, fetched_at) for text in texts)
    return next((seconds for seconds in found if seconds is not None), None)


def _values(meta: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    return (meta[name] for name in names if name in meta)


def _meta(page: DocumentNode) -> dict[str, str]:
    """The first content of each named meta element."""
    found: dict[str, str] = {}
    for element in page.query_selector_all(DATED_META):
        for attribute in NAMING:
            name = element.getattr(attribute)
            if name:
                found.setdefault(name.lower(), element.getattr("content") or "")
    return found


def _times(page: DocumentNode) -> Iterator[tuple[str, str]]:
    """How each time element is marked, and its `datetime`."""
    for element in page.query_selector_all("time[datetime]"):
        label = f"{element.getattr('itemprop') or ''} {element.getattr('class') or ''}".lower()
        pubdate = " pubdate" if element.hasattr("pubdate") else ""
        yield label + pubdate, element.getattr("datetime") or ""


def _marked(times: Iterable[tuple[str, str]], kind: str) -> Iterator[str]:
    """The times that are marked as a date of this kind; unmarked ones tell nothing."""
    return (time for label, time in times if any(mark in label for mark in MARKS[kind]))


def _linked_data(page: DocumentNode) -> dict[str, list[str]]:
    """Values of the two dates in the JSON-LD blocks of a page, in order of the page."""
    found: dict[str, list[str]] = {"datepublished": [], "datemodified": []}
    for element in page.query_selector_all('script[type="application/ld+json"]'):
        try:
            waiting = deque([orjson.loads(element.text or "")])
        except (orjson.JSONDecodeError, UnicodeError):
            continue
        for _ in range(MOST_NODES):
            if not waiting:
                break
            node = waiting.popleft()
            for name, value in _members(node):
                if name.lower() in found and isinstance(value, str):
                    found[name.lower()].append(value)
                elif isinstance(value, dict | list):
                    waiting.append(value)
    return found


def _members(node: object) -> Iterable[tuple[str, object]]:
    if isinstance(node, dict):
        return node.items()
    return (("", value) for value in node) if isinstance(node, list) else ()
