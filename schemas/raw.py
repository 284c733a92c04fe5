"""What organisers hand in: query logs and crawled pages, before anything was decided."""

from typing import ClassVar

import dataframely as dy

from schemas._base import Contract


class RawImpressions(Contract):
    """One result page shown once: a line of a raw query log."""

    order: ClassVar[tuple[str, ...]] = ("time", "user", "query")

    time = dy.Int64(description="When the page was shown, unix seconds (or ISO 8601 in JSON)")
    user = dy.String(nullable=True, description="Opaque user or session identifier")
    query = dy.String(min_length=1, description="The query as typed")
    results = dy.List(dy.String(), min_length=1, description="Result URLs in rank order")
    clicks = dy.List(dy.UInt16(min=1), description="1-based ranks in click order")


class RawPages(Contract):
    """One fetch of one page: a line of a raw crawl."""

    order: ClassVar[tuple[str, ...]] = ("url", "timestamp")

    url = dy.String(min_length=1, description="Address as fetched")
    timestamp = dy.Int64(description="When the page was fetched, unix seconds")
    title = dy.String(nullable=True, description="Title, where the crawl separates it")
    text = dy.String(description="Main text")
