"""Schemas of all tables, with columns, types, primary keys, sort orders and rules.

`TABLES` maps table names to their schemas.
"""

from schemas._base import (
    DOC_ID_PATTERN,
    QUERY_ID_PATTERN,
    RELEASE_ID_PATTERN,
    SNAPSHOT_PATTERN,
    TableSchema,
)
from schemas.alignment import (
    DocumentChanges,
    DocumentsMap,
    NearLeaks,
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
    ShownDocuments,
    Topics,
    Variants,
    Verdicts,
)
from schemas.documents import Coverage, HostCoverage
from schemas.drift import LostWords, PairDrift, WordCounts
from schemas.ingest import Fetches, Impressions, LogQueries, LogUrls, Pages
from schemas.intermediate import (
    GatheredDocuments,
    GradedPairs,
    GradedQueries,
    KeptCandidates,
    PageVerdicts,
    SplitQueries,
)
from schemas.raw import RawImpressions, RawPages
from schemas.release import (
    Irregularities,
    ReleasedDocuments,
    ReleasedQrels,
    ReleasedQueries,
    ReleaseIds,
)
from schemas.translation import SENTENCE_FLAGS, QueryCollisions, Sentences, Translations

TABLES: dict[str, type[TableSchema]] = {
    schema.table_name(): schema
    for schema in (
        RawImpressions,
        RawPages,
        Impressions,
        LogQueries,
        LogUrls,
        Fetches,
        Pages,
        Topics,
        Candidates,
        Verdicts,
        Variants,
        ShownDocuments,
        ClickEstimates,
        ClickDiagnostics,
        Coverage,
        HostCoverage,
        PairStatistics,
        Documents,
        JudgedQueries,
        Queries,
        Sentences,
        Translations,
        QueryCollisions,
        Qrels,
        GradeCuts,
        GradeSensitivity,
        PooledPairs,
        Judgements,
        Rejects,
        DocumentsMap,
        QueriesMap,
        WordCounts,
        LostWords,
        PairDrift,
        DocumentChanges,
        NearLeaks,
        QueryChanges,
        QrelChanges,
        ReleaseIds,
        Irregularities,
    )
}
"""Schemas of published and user-facing tables, by table name."""

INTERMEDIATE_TABLES: dict[str, type[TableSchema]] = {
    schema.table_name(): schema
    for schema in (
        GatheredDocuments,
        PageVerdicts,
        KeptCandidates,
        GradedPairs,
        GradedQueries,
        SplitQueries,
    )
}
"""Schemas of unpublished tables that are passed between stages, by table name."""
RELEASED: dict[str, type[TableSchema]] = {
    "documents": ReleasedDocuments,
    "queries": ReleasedQueries,
    "qrels": ReleasedQrels,
}
"""Schemas of tables that keep the original ids of an imported release, by table name."""

__all__ = [
    "DOC_ID_PATTERN",
    "GRADES",
    "INTERMEDIATE_TABLES",
    "QUERY_ID_PATTERN",
    "RELEASED",
    "RELEASE_ID_PATTERN",
    "SENTENCE_FLAGS",
    "SNAPSHOT_PATTERN",
    "SPLITS",
    "TABLES",
    "Candidates",
    "ClickDiagnostics",
    "ClickEstimates",
    "Coverage",
    "DocumentChanges",
    "Documents",
    "DocumentsMap",
    "Fetches",
    "GatheredDocuments",
    "GradeCuts",
    "GradeSensitivity",
    "GradedPairs",
    "GradedQueries",
    "HostCoverage",
    "Impressions",
    "Irregularities",
    "JudgedQueries",
    "Judgements",
    "KeptCandidates",
    "LogQueries",
    "LogUrls",
    "LostWords",
    "NearLeaks",
    "PageVerdicts",
    "Pages",
    "PairDrift",
    "PairStatistics",
    "PooledPairs",
    "QrelChanges",
    "Qrels",
    "Queries",
    "QueriesMap",
    "QueryChanges",
    "QueryCollisions",
    "RawImpressions",
    "RawPages",
    "Rejects",
    "ReleaseIds",
    "ReleasedDocuments",
    "ReleasedQrels",
    "ReleasedQueries",
    "Sentences",
    "ShownDocuments",
    "SplitQueries",
    "TableSchema",
    "Topics",
    "Translations",
    "Variants",
    "Verdicts",
    "WordCounts",
]
