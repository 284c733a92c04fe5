"""Converts raw query logs and crawls to tables, with a reason for every rejected record."""

from builder.ingest.crawls import ingest_crawl
from builder.ingest.logs import ingest_log

__all__ = ["ingest_crawl", "ingest_log"]
