"""Schemas of the raw input: query logs and crawled pages."""

from typing import ClassVar

import dataframely as dy

from schemas._base import TableSchema


class RawImpressions(TableSchema):
    """Raw query log: one row per impression, that is, per result page shown to a user."""

    order: ClassVar[tuple[str, ...]] = ("time", "user", "query")

    time = dy.Int64(
        description="Time of the impression in Unix seconds; JSON Lines files may contain ISO 8601 "
        "times instead"
    )
    user = dy.String(nullable=True, description="Opaque user or session identifier")
    query = dy.String(min_length=1, description="Query as typed")
    results = dy.List(dy.String(), min_length=1, description="Result URLs in rank order")
    clicks = dy.List(
        dy.UInt16(min=1), description="Ranks of the clicked results, from 1, in click order"
    )


class RawPages(TableSchema):
    """Raw crawl: one row per fetch of a page."""

    order: ClassVar[tuple[str, ...]] = ("url", "timestamp")

    url = dy.String(min_length=1, description="URL as fetched")
    timestamp = dy.Int64(description="Time of the fetch in Unix seconds")
    title = dy.String(nullable=True, description="Title of the page; null if the page has no title")
    text = dy.String(description="Main text of the page")
