"""Tables that ingestion writes: keys are 64-bit prefixes of md5, never an engine's hash."""

import dataframely as dy

from schemas._base import Contract


class Impressions(Contract):
    """One result page shown once, in keys. No query text, no time, no user identifier."""

    impression = dy.UInt64(primary_key=True, description="Running number in log order")
    user = dy.UInt64(
        nullable=True, description="Pseudonym: keyed hash that only the raw log's holder can redo"
    )
    query = dy.UInt64(description="Query key: first 64 bits of md5(folded text)")
    surface = dy.UInt64(description="Surface key: first 64 bits of md5(text as typed)")
    results = dy.List(dy.UInt64(), min_length=1, description="Document keys in rank order")
    clicks = dy.List(dy.UInt16(min=1), description="1-based ranks in click order")


class LogQueries(Contract):
    """Every form in which a query was typed."""

    surface = dy.UInt64(primary_key=True, description="Surface key")
    query = dy.UInt64(description="Query key of the folded text")
    text = dy.String(min_length=1, description="The query as typed, whitespace trimmed")
    folded = dy.String(min_length=1, description="Folded text: the identity of the query")


class LogUrls(Contract):
    """Every document shown in the log."""

    doc = dy.UInt64(primary_key=True, description="Document key: first 64 bits of md5(URL key)")
    url_key = dy.String(min_length=1, description="Canonical URL")
    url = dy.String(min_length=1, description="Smallest raw URL with this key")


class Fetches(Contract):
    """Texts of the pages of a crawl, in the order read: superseded fetches too."""

    number = dy.UInt64(primary_key=True, description="Running number in the order read")
    title = dy.String(description="Title; empty where the crawl has none")
    text = dy.String(min_length=1, description="Main text: NFC, no control characters")


class Pages(Contract):
    """One page per URL key: the last fetch within the snapshot's interval, in the order read."""

    doc = dy.UInt64(primary_key=True, description="Document key: first 64 bits of md5(URL key)")
    number = dy.UInt64(description="Number of the fetch, which has the texts")
    url = dy.String(min_length=1, description="Address as fetched")
    url_key = dy.String(min_length=1, description="Canonical URL: the identity of the document")
    fetched_at = dy.Int64(description="Unix seconds of the fetch")
    truncated = dy.Bool(
        nullable=True, description="Cut at `crawl.max_text_chars`, or by who fetched the page"
    )
    language_hint = dy.String(nullable=True, description="Language that the page declares")
    published_at = dy.Int64(nullable=True, description="Unix seconds, as the page says")
    modified_at = dy.Int64(nullable=True, description="Unix seconds, as the page or server says")
