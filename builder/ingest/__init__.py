"""Converts raw query logs and crawls to tables; every rejected record is listed with a reason."""

from builder.ingest.crawls import ingest_crawl
from builder.ingest.logs import ingest_log

__all__ = ["ingest_crawl", "ingest_log"]
