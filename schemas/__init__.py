"""The contract of every table, described here and nowhere else.

`TABLES` maps the name under which a table is stored and printed to its contract.
"""

from schemas._base import DOC_ID_PATTERN, QUERY_ID_PATTERN, SNAPSHOT_PATTERN, Contract
from schemas.alignment import (
    DocumentChanges,
    DocumentsMap,
    QrelChanges,
    QueriesMap,
    QueryChanges,
)
from schemas.clicks import (
    ClickDiagnostics,
    GradeCuts,
    GradeSensitivity,
    Judgements,
    PairStatistics,
    PooledPairs,
)
from schemas.collection import (
    GRADES,
    SPLITS,
    Candidates,
    ClickEstimates,
    Documents,
    JudgedQueries,
    Qrels,
    Queries,
    Rejects,
    Topics,
    Variants,
)
from schemas.ingest import Impressions, LogQueries, LogUrls, Pages
from schemas.raw import RawImpressions, RawPages

TABLES: dict[str, type[Contract]] = {
    "raw_impressions": RawImpressions,
    "raw_pages": RawPages,
    "impressions": Impressions,
    "log_queries": LogQueries,
    "log_urls": LogUrls,
    "pages": Pages,
    "topics": Topics,
    "candidates": Candidates,
    "variants": Variants,
    "click_estimates": ClickEstimates,
    "click_diagnostics": ClickDiagnostics,
    "pair_statistics": PairStatistics,
    "documents": Documents,
    "judged_queries": JudgedQueries,
    "queries": Queries,
    "qrels": Qrels,
    "grade_cuts": GradeCuts,
    "grade_sensitivity": GradeSensitivity,
    "pooled_pairs": PooledPairs,
    "judgements": Judgements,
    "rejects": Rejects,
    "documents_map": DocumentsMap,
    "queries_map": QueriesMap,
    "document_changes": DocumentChanges,
    "query_changes": QueryChanges,
    "qrel_changes": QrelChanges,
}

__all__ = [
    "DOC_ID_PATTERN",
    "GRADES",
    "QUERY_ID_PATTERN",
    "SNAPSHOT_PATTERN",
    "SPLITS",
    "TABLES",
    "Candidates",
    "ClickDiagnostics",
    "ClickEstimates",
    "Contract",
    "DocumentChanges",
    "Documents",
    "DocumentsMap",
    "GradeCuts",
    "GradeSensitivity",
    "Impressions",
    "JudgedQueries",
    "Judgements",
    "LogQueries",
    "LogUrls",
    "Pages",
    "PairStatistics",
    "PooledPairs",
    "QrelChanges",
    "Qrels",
    "Queries",
    "QueriesMap",
    "QueryChanges",
    "RawImpressions",
    "RawPages",
    "Rejects",
    "Topics",
    "Variants",
]
