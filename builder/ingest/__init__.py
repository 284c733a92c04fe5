"""Bytes to tables: query logs and crawls, with a reason for every record left out."""

from builder.ingest.crawls import ingest_crawl
from builder.ingest.logs import ingest_log

__all__ = ["ingest_crawl", "ingest_log"]
