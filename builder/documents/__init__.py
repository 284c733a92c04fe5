"""Selects the documents of a snapshot, fingerprints their texts, and measures crawl coverage.

Crawl coverage is the share of the documents shown to users that the crawl contains.
"""

from builder.documents.coverage import measure_coverage
from builder.documents.shown import collect_shown_documents
from builder.documents.stage import build_documents
from builder.documents.verdicts import collect_page_verdicts

__all__ = [
    "build_documents",
    "collect_page_verdicts",
    "collect_shown_documents",
    "measure_coverage",
]
