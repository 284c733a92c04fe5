"""Queries: topics, privacy, verdicts, selection, variants and splits.

In: a query log in keys, the forms in which queries were typed, and topics. Out: the queries that
may enter a collection, and on which side of the train / held-out line each of them is.
"""

from builder.queries.aliases import query_aliases
from builder.queries.labels import merge_labels
from builder.queries.leakage import (
    LeakageReport,
    SnapshotSides,
    check_leakage,
    find_leaks,
)
from builder.queries.personal import personal_data
from builder.queries.plugins import VerdictPlugin
from builder.queries.ranking import (
    FORMULA,
    STABILITIES,
    as_topics,
    rank_topic_file,
    rank_topics,
    read_counts,
    write_topics,
)
from builder.queries.rules import FunnelStep, funnel
from builder.queries.selection import select
from builder.queries.splits import split
from builder.queries.text_audit import TextAudit, audit_text_file, audit_texts
from builder.queries.topic_audit import TopicAudit, audit_topic_file, audit_topics
from builder.queries.topics import (
    parse_topics,
    read_topics,
    require_same_topics,
    topic_differences,
)
from builder.queries.variants import find_variants
from builder.queries.verdicts import collect_verdicts, coverage, left_out

__all__ = [
    "FORMULA",
    "STABILITIES",
    "FunnelStep",
    "LeakageReport",
    "SnapshotSides",
    "TextAudit",
    "TopicAudit",
    "VerdictPlugin",
    "as_topics",
    "audit_text_file",
    "audit_texts",
    "audit_topic_file",
    "audit_topics",
    "check_leakage",
    "collect_verdicts",
    "coverage",
    "find_leaks",
    "find_variants",
    "funnel",
    "left_out",
    "merge_labels",
    "parse_topics",
    "personal_data",
    "query_aliases",
    "rank_topic_file",
    "rank_topics",
    "read_counts",
    "read_topics",
    "require_same_topics",
    "select",
    "split",
    "topic_differences",
    "write_topics",
]
