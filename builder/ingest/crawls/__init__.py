"""Reads crawls of any supported format as pages, with a reason for every rejected record."""

from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.stage import ingest_crawl

__all__ = ["ingest_crawl", "read_pages"]
