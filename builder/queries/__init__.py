"""Query selection: turns the queries of a log into the queries and splits of a collection.

Selects k-anonymous queries that match a topic, merges variants of the same query, and splits
queries into training and held-out sets.
"""

from builder.queries.aliases import query_aliases
from builder.queries.labels import merge_labels
from builder.queries.leakage import (
    LeakageReport,
    SnapshotQueries,
    check_leakage,
    find_leaks,
)
from builder.queries.monthly_counts import read_monthly_counts
from builder.queries.personal import detect_personal_data
from builder.queries.plugins import VerdictPlugin
from builder.queries.ranking import (
    FORMULA,
    STABILITIES,
    note_missing_months,
    rank_topics,
    rank_topics_from_file,
    to_topic_table,
    write_topics,
)
from builder.queries.rules import FunnelStep, funnel_steps
from builder.queries.selection import select_queries
from builder.queries.splits import split_judged_queries
from builder.queries.text_audit import TextAudit, audit_texts, audit_texts_in_file
from builder.queries.topic_audit import TopicAudit, audit_topics, audit_topics_in_files
from builder.queries.topics import (
    parse_topics,
    read_topics,
    require_same_topics,
    topic_differences,
)
from builder.queries.variants import find_variants
from builder.queries.verdicts import (
    collect_verdicts,
    excluded_keys,
    excluded_users,
    verdict_coverage,
)

__all__ = [
    "FORMULA",
    "STABILITIES",
    "FunnelStep",
    "LeakageReport",
    "SnapshotQueries",
    "TextAudit",
    "TopicAudit",
    "VerdictPlugin",
    "audit_texts",
    "audit_texts_in_file",
    "audit_topics",
    "audit_topics_in_files",
    "check_leakage",
    "collect_verdicts",
    "detect_personal_data",
    "excluded_keys",
    "excluded_users",
    "find_leaks",
    "find_variants",
    "funnel_steps",
    "merge_labels",
    "note_missing_months",
    "parse_topics",
    "query_aliases",
    "rank_topics",
    "rank_topics_from_file",
    "read_monthly_counts",
    "read_topics",
    "require_same_topics",
    "select_queries",
    "split_judged_queries",
    "to_topic_table",
    "topic_differences",
    "verdict_coverage",
    "write_topics",
]
