"""Computes statistics of document changes for pairs of snapshots and for all snapshots.

Reads `document_changes` of each pair and `documents_map`, as views of a DuckDB connection. Returns
plain dictionaries for `drift.json`, whose keys are described in `docs/drift.md`.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl

from builder.drift import presence
from builder.drift.presence import Patterns
from builder.drift.statistics import quantile, share

HISTOGRAM_BINS = 20
HOSTS_LISTED = 15

CREATE_URL_VIEW = """
CREATE TEMP VIEW documents_map AS
SELECT doc_id, url_key FROM documents_from
UNION ALL
SELECT doc_id, url_key FROM documents_to ANTI JOIN documents_from USING (doc_id)
"""
"""SQL statement that creates the view `documents_map` from the documents of only two snapshots."""

PATTERNS = """
SELECT snapshots, count(*) AS ids FROM documents_map GROUP BY snapshots ORDER BY snapshots
"""

STATUSES = """
SELECT
    count(*) FILTER (status IN ('added', 'returned')) AS added,
    count(*) FILTER (status = 'removed') AS removed,
    count(*) FILTER (status = 'not_sampled') AS not_sampled,
    count(*) FILTER (status = 'not_shown') AS not_shown,
    count(*) FILTER (status = 'left_out') AS left_out,
    count(*) FILTER (status = 'updated') AS updated,
    count(*) FILTER (status = 'unchanged') AS unchanged,
    count(*) FILTER (status = 'returned') AS returned,
    count(*) FILTER (status IN ('added', 'returned') AND crawled) AS added_in_crawl_before,
    count(*) FILTER (status = 'removed' AND crawled IS NULL) AS removed_crawl_unknown,
    count(*) FILTER (status IN ('updated', 'unchanged') AND text_changed) AS text_changed,
    count(*) FILTER (status = 'unchanged' AND text_changed) AS text_changed_only,
    count(*) FILTER (status = 'removed' AND matched_by = 'loose') AS loose,
    count(*) FILTER (status = 'removed' AND matched_by = 'moved') AS moved
FROM document_changes
"""

UPDATED = """
SELECT dice, shingle_jaccard, band, tokens_from::BIGINT AS tokens_from,
       tokens_to::BIGINT AS tokens_to
FROM document_changes WHERE status = 'updated'
"""

MOST_REWRITTEN = """
WITH examples AS (
    SELECT * FROM document_changes
    WHERE status = 'updated' ORDER BY shingle_jaccard, tokens_to DESC, doc_id LIMIT 10
)
SELECT doc_id, d.title, d.url_key, dice, shingle_jaccard, tokens_from, tokens_to
FROM examples JOIN documents_to AS d USING (doc_id)
ORDER BY shingle_jaccard, tokens_to DESC, doc_id
"""

HOSTS = r"""
WITH by_host AS (
    SELECT
        regexp_extract(url_key, '^https?://([^/?]*)', 1) AS host,
        count(*) FILTER (status IN ('added', 'returned')) AS added,
        count(*) FILTER (status = 'removed') AS removed,
        count(*) FILTER (status IN ('not_sampled', 'not_shown', 'left_out')) AS not_kept,
        count(*) FILTER (status = 'updated') AS updated,
        count(*) FILTER (status = 'unchanged') AS unchanged
    FROM document_changes JOIN documents_map USING (doc_id)
    GROUP BY host
)
FROM by_host ORDER BY added + removed + not_kept DESC, updated DESC, host
"""


def count_presence_patterns(connection: duckdb.DuckDBPyConnection) -> Patterns:
    """Count documents by presence pattern, the set of snapshots that contain a document."""
    return {
        tuple(snapshot_names): n for snapshot_names, n in connection.execute(PATTERNS).fetchall()
    }


def document_presence_statistics(
    presence_patterns: Patterns, snapshot_names: Sequence[str]
) -> dict[str, Any]:
    """Return statistics of all snapshots: overlap, survival, core and returning documents.

    The core consists of the documents that are in every snapshot. Returning documents left the
    collection and reappear in a later snapshot.

    Args:
        presence_patterns: Number of documents per presence pattern; see `count_presence_patterns`.
        snapshot_names: Names of all snapshots in chronological order.
    """
    return {
        "ids": sum(presence_patterns.values()),
        "core": presence.count_core_ids(presence_patterns, snapshot_names),
        "returning": presence.count_returning_ids(presence_patterns, snapshot_names),
        "overlap": presence.overlap_matrices(presence_patterns, snapshot_names),
        "survival": presence.first_snapshot_survival(presence_patterns, snapshot_names),
        "intersections": presence.exclusive_intersections(presence_patterns),
    }


def document_change_statistics(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the document statistics of one pair of snapshots.

    Needs the views `document_changes`, `documents_to` and `documents_map`.
    """
    relation = connection.sql(STATUSES)
    counts: dict[str, Any] = dict(zip(relation.columns, relation.fetchall()[0], strict=True))
    examples: pl.DataFrame = connection.sql(MOST_REWRITTEN).pl()
    return {
        **counts,
        **summarize_document_updates(connection.sql(UPDATED).pl()),
        "hosts": host_statistics(connection),
        "most_rewritten": examples.to_dicts(),
    }


def summarize_document_updates(updated_documents: pl.DataFrame) -> dict[str, Any]:
    """Summarize how much the updated documents changed between two snapshots.

    Args:
        updated_documents: One row per updated document, with the columns `dice`,
            `shingle_jaccard`, `band`, `tokens_from` and `tokens_to`.
    """
    bands = dict(updated_documents["band"].value_counts().iter_rows())
    delta = (updated_documents["tokens_to"] - updated_documents["tokens_from"]).sort().to_list()
    return {
        "bands": {band: bands.get(band, 0) for band in ("cosmetic", "edited", "rewritten")},
        "dice": summarize_shares(updated_documents["dice"]),
        "shingle_jaccard": summarize_shares(updated_documents["shingle_jaccard"]),
        "length_delta": {
            "longer": sum(d > 0 for d in delta),
            "shorter": sum(d < 0 for d in delta),
            "tokens": sum(delta),
            "p10": quantile(delta, 0.1),
            "median": quantile(delta, 0.5),
            "p90": quantile(delta, 0.9),
        },
    }


def summarize_shares(shares: pl.Series) -> dict[str, Any]:
    """Return the quantiles and a histogram of shares in [0, 1]; the last bin includes 1."""
    bins = (shares * HISTOGRAM_BINS).floor().cast(pl.Int64).clip(0, HISTOGRAM_BINS - 1)
    counts = dict(bins.value_counts().iter_rows())
    ordered = shares.sort().to_list()
    return {
        "n": len(ordered),
        "p10": quantile(ordered, 0.1),
        "median": quantile(ordered, 0.5),
        "p90": quantile(ordered, 0.9),
        "histogram": [counts.get(number, 0) for number in range(HISTOGRAM_BINS)],
    }


def host_statistics(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Count added and removed hosts, and list the hosts with the most changed documents."""
    rows = connection.sql(HOSTS).pl()
    before = pl.col("removed") + pl.col("not_kept") + pl.col("updated") + pl.col("unchanged")
    after = pl.col("added") + pl.col("updated") + pl.col("unchanged")
    in_from, in_to = rows.filter(before > 0).height, rows.filter(after > 0).height
    in_both = rows.filter((before > 0) & (after > 0)).height
    return {
        "from": in_from,
        "to": in_to,
        "new": in_to - in_both,
        "gone": in_from - in_both,
        "kept_share": share(in_both, in_from),
        "most_changed": rows.head(HOSTS_LISTED).to_dicts(),
    }
