"""One record of a crawl -> its raw fields, or the reason why it is no page.

Two shapes, one JSON object a line: `{"url", "timestamp", "title", "text"}` and, as Qwant delivers
them, `{"url", "content", "created_at", "last_updated_at"}`; others by `[crawl.fields]`. Times are
unix seconds or ISO 8601, or what the parameters say.
What is checked here needs one record alone; texts and addresses are checked by the block.
"""

from typing import Any, NamedTuple

import polars as pl

from builder.ingest.fields import name_of, pick
from builder.ingest.json_object import parse_object
from builder.ingest.moments import parse_time
from builder.ingest.rejects import RejectError
from builder.parameters import CrawlParameters, PageFields

AS_OURS = CrawlParameters()
TIMES = ("timestamp", "last_updated_at", "created_at")
TEXTS = ("text", "content")
"""Fields that say the same; the first that has a value counts."""

RAW = {
    "line": pl.UInt64(),
    "url": pl.String(),
    "fetched_at": pl.Int64(),
    "title": pl.String(),
    "text": pl.String(),
    "language_hint": pl.String(),
    "published_at": pl.Int64(),
    "modified_at": pl.Int64(),
    "is_part": pl.Boolean(),
}


class RawPage(NamedTuple):
    """A fetched page as the crawl has it; times in unix seconds.

    `fetched_at`: None where the crawl says no time, and the parameters let that be.
    `is_part`: the archive says that it holds the beginning alone.
    """

    url: str
    fetched_at: int | None
    title: str
    text: str
    language_hint: str | None = None
    published_at: int | None = None
    modified_at: int | None = None
    is_part: bool | None = None


class Names(NamedTuple):
    """What the fields of a page are called; of several the first that has a value counts."""

    url: str
    times: tuple[str, ...]
    title: str
    texts: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every name."""
        return (self.url, *self.times, self.title, *self.texts)


def names_of(fields: PageFields) -> Names:
    """The names that a definition gives, with those that it leaves open."""
    times, texts = _several(fields.time, TIMES), _several(fields.text, TEXTS)
    return Names(fields.url, times, fields.title, texts)


def _several(given: str | tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return default
    return (given,) if isinstance(given, str) else given


def parse_page(line: bytes, params: CrawlParameters = AS_OURS) -> RawPage:
    """Parse one line.

    Raises:
        RejectError: the line has not the fields of a page; the message is the reason.
    """
    return page_of(parse_object(line), names_of(params.fields), params)


def page_of(record: dict[str, Any], names: Names, params: CrawlParameters = AS_OURS) -> RawPage:
    """The page of a record.

    Raises:
        RejectError: a field is missing or of the wrong type; the message is the reason.
    """
    time, text = _first(record, *names.times), _first_text(record, *names.texts)
    return check_page(pick(record, names.url), time, pick(record, names.title), text, params)


def check_page(
    url: object, time: object, title: object, text: object, params: CrawlParameters = AS_OURS
) -> RawPage:
    """A page from its raw fields.

    Raises:
        RejectError: a field is missing or of the wrong type.
    """
    name = name_of(url)
    if name is None:
        raise RejectError("bad_url")
    is_undated = time is None and params.undated == "start"
    fetched_at = None if is_undated else parse_time(time, params)
    title = "" if title is None else title
    if not isinstance(title, str) or not isinstance(text, str):
        raise RejectError("bad_text")
    return RawPage(name, fetched_at, title, text)


def _first_text(record: dict[str, Any], *names: str) -> object:
    """The first of these keys with a value that is not empty, else the first with a value."""
    full = (value for name in names if (value := pick(record, name)) not in (None, ""))
    return next(full, _first(record, *names))


def _first(record: dict[str, Any], *names: str) -> object:
    """The first of these keys that has a value."""
    for name in names:
        value = pick(record, name)
        if value is not None:
            return value
    return None
