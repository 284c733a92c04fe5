"""Reads pages from crawls of every supported format; rejects invalid records with a reason."""

from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.stage import ingest_crawl

__all__ = ["ingest_crawl", "read_pages"]
