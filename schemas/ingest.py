"""Schemas of the tables written by the stages that read query logs and crawls."""

import dataframely as dy

from schemas._base import TableSchema, language_hint_column, modified_at_column, published_at_column


class Impressions(TableSchema):
    """Impressions of a log, without times. Keys replace query texts, URLs and user ids."""

    impression = dy.UInt64(
        primary_key=True, description="Sequence number of the impression, in chronological order"
    )
    user = dy.UInt64(
        nullable=True,
        description="Pseudonym of the user: a keyed hash that cannot be computed without the raw "
        "log; null if the log has no user",
    )
    query = dy.UInt64(description="Query key: first 64 bits of md5(folded text)")
    surface = dy.UInt64(description="Key of the text as typed: first 64 bits of its MD5")
    results = dy.List(dy.UInt64(), min_length=1, description="Document keys in rank order")
    clicks = dy.List(
        dy.UInt16(min=1), description="Ranks of the clicked results, from 1, in click order"
    )


class LogQueries(TableSchema):
    """Query texts of a log, as users typed them: one row per distinct text."""

    surface = dy.UInt64(
        primary_key=True, description="Key of the text as typed: first 64 bits of its MD5"
    )
    query = dy.UInt64(description="Query key: first 64 bits of md5(folded text)")
    text = dy.String(min_length=1, description="Query as typed, without surrounding whitespace")
    folded = dy.String(min_length=1, description="Folded text, which identifies the query")


class LogUrls(TableSchema):
    """Documents shown in a log: one row per canonical URL."""

    doc = dy.UInt64(
        primary_key=True, description="Document key: first 64 bits of md5(canonical URL)"
    )
    url_key = dy.String(min_length=1, description="Canonical URL")
    url = dy.String(
        min_length=1, description="Alphabetically first URL of the log that has this canonical form"
    )


class Fetches(TableSchema):
    """Titles and texts of all fetches of a crawl, including fetches that a later fetch replaces."""

    number = dy.UInt64(primary_key=True, description="Sequence number of the fetch, in input order")
    title = dy.String(description="Title of the page; empty if the page has no title")
    text = dy.String(
        min_length=1, description="Main text in Unicode NFC, without control characters"
    )


class Pages(TableSchema):
    """Last fetch of every canonical URL of a crawl within the time interval of the snapshot."""

    doc = dy.UInt64(
        primary_key=True, description="Document key: first 64 bits of md5(canonical URL)"
    )
    number = dy.UInt64(description="Sequence number of the fetch in the table `fetches`")
    url = dy.String(min_length=1, description="URL as fetched")
    url_key = dy.String(min_length=1, description="Canonical URL, which identifies the document")
    fetched_at = dy.Int64(description="Time of the fetch in Unix seconds")
    truncated = dy.Bool(
        nullable=True,
        description="Whether the text was cut, at `crawl.max_text_chars` or by the crawler",
    )
    language_hint = language_hint_column()
    published_at = published_at_column()
    modified_at = modified_at_column()
