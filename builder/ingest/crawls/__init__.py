"""Crawls of any supported format to pages, with a reason for every record rejected."""

from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.stage import ingest_crawl

__all__ = ["ingest_crawl", "read_pages"]
