"""Computes statistics of queries: overlap, lengths, topics and frequencies.

Reads queries and qrels of every snapshot as DuckDB views. Returns plain dictionaries for
`drift.json`. A *listed* query is in the query file, a *judged* query in the qrels. Both kinds
are reported, because they have changed differently in published collections.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb

from builder.documents.words import JOINERS, WORD_DUCKDB
from builder.drift import presence
from builder.drift.presence import Patterns
from builder.drift.statistics import jensen_shannon_divergence, share
from builder.statistics.rankings import spearman_correlation

JUDGED_PATTERNS = """
WITH judged AS (
    SELECT DISTINCT query_id, index FROM all_qrels
),
presence AS (
    SELECT query_id, list(index ORDER BY index) AS indexes FROM judged GROUP BY query_id
)
SELECT indexes, count(*) AS ids FROM presence GROUP BY indexes ORDER BY indexes
"""

LISTED_PATTERNS = """
SELECT snapshots, count(*) AS ids FROM queries_map GROUP BY snapshots ORDER BY snapshots
"""

LISTED_AND_JUDGED = """
WITH judged AS (SELECT DISTINCT index, query_id FROM all_qrels)
SELECT
    index,
    count(q.query_id) AS listed,
    count(j.query_id) AS judged,
    count(*) FILTER (q.query_id IS NOT NULL AND j.query_id IS NULL) AS listed_only,
    count(*) FILTER (q.query_id IS NULL) AS judged_only
FROM all_queries AS q FULL JOIN judged AS j USING (index, query_id)
GROUP BY index ORDER BY index
"""

LENGTHS = """
SELECT
    index,
    len(regexp_extract_all(regexp_replace(text, $joiners, '', 'g'), $word)) AS words,
    count(*) AS queries,
    sum(impressions)::BIGINT AS impressions
FROM all_queries GROUP BY ALL ORDER BY ALL
"""

TOPICS = """
WITH named AS (SELECT index, unnest(topics) AS topic, impressions FROM all_queries)
SELECT topic, index, count(*) AS queries, sum(impressions)::BIGINT AS impressions
FROM named GROUP BY topic, index ORDER BY topic, index
"""

FREQUENCIES = """
SELECT impressions_from::BIGINT, impressions_to::BIGINT
FROM query_changes WHERE status = 'kept' ORDER BY query_id
"""

MOVERS = """
WITH
texts AS (
    SELECT query_id, text FROM queries_from
    UNION ALL SELECT query_id, text FROM queries_to ANTI JOIN queries_from USING (query_id)
),
movers AS (
    SELECT
        status,
        query_id,
        text,
        coalesce(impressions_from, 0)::BIGINT AS impressions_from,
        coalesce(impressions_to, 0)::BIGINT AS impressions_to,
        CASE WHEN impressions_to > impressions_from THEN 'risen'
             WHEN impressions_to < impressions_from THEN 'fallen' ELSE status END AS movement
    FROM query_changes JOIN texts USING (query_id)
)
SELECT movement, query_id, text, impressions_from, impressions_to FROM movers
WHERE movement <> 'kept' AND impressions_from + impressions_to > 0
QUALIFY row_number() OVER (
    PARTITION BY movement ORDER BY abs(impressions_to - impressions_from) DESC, query_id
) <= 10
ORDER BY movement, abs(impressions_to - impressions_from) DESC, query_id
"""

STATUSES = """
SELECT
    count(*) FILTER (status = 'new') AS new,
    count(*) FILTER (status = 'gone') AS gone,
    count(*) FILTER (status = 'kept') AS kept,
    coalesce(sum(impressions_from), 0)::BIGINT AS impressions_from,
    coalesce(sum(impressions_to), 0)::BIGINT AS impressions_to,
    coalesce(sum(impressions_from) FILTER (status = 'kept'), 0)::BIGINT AS impressions_kept_from,
    coalesce(sum(impressions_to) FILTER (status = 'kept'), 0)::BIGINT AS impressions_kept_to
FROM query_changes
"""


def query_statistics(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> dict[str, Any]:
    """Return the overlap, lengths and topics of the queries of all snapshots.

    Overlap is computed for the listed queries (in the query files) and for the judged queries (in
    the qrels). Needs the views `all_queries`, `all_qrels` and `queries_map`.
    """
    listed = {
        tuple(snapshots): ids for snapshots, ids in connection.execute(LISTED_PATTERNS).fetchall()
    }
    judged = {
        tuple(snapshot_names[index] for index in indexes): ids
        for indexes, ids in connection.execute(JUDGED_PATTERNS).fetchall()
    }
    return {
        "listed": overlap_statistics(listed, snapshot_names),
        "judged": overlap_statistics(judged, snapshot_names),
        "lengths": _length_statistics(connection, snapshot_names),
        "topics": topic_statistics(connection, snapshot_names),
    }


def overlap_statistics(
    presence_patterns: Patterns, snapshot_names: Sequence[str]
) -> dict[str, Any]:
    """Return the core size, overlap matrices and exclusive intersections of sets of queries."""
    return {
        "ids": sum(presence_patterns.values()),
        "core": presence.count_core_ids(presence_patterns, snapshot_names),
        "overlap": presence.overlap_matrices(presence_patterns, snapshot_names),
        "intersections": presence.exclusive_intersections(presence_patterns),
    }


def count_listed_and_judged_queries(
    connection: duckdb.DuckDBPyConnection,
) -> dict[int, dict[str, int]]:
    """Count the queries of each snapshot that are listed, judged, only listed or only judged."""
    relation = connection.sql(LISTED_AND_JUDGED)
    return {
        row[0]: dict(zip(relation.columns[1:], row[1:], strict=True)) for row in relation.fetchall()
    }


def query_change_statistics(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return statistics of query changes between two snapshots.

    Needs the views `query_changes`, `queries_from` and `queries_to`.
    """
    relation = connection.sql(STATUSES)
    counts: dict[str, Any] = dict(zip(relation.columns, relation.fetchall()[0], strict=True))
    frequencies = connection.execute(FREQUENCIES).fetchall()
    movers: dict[str, list[dict[str, Any]]] = {
        movement: [] for movement in ("risen", "fallen", "new", "gone")
    }
    for row in connection.sql(MOVERS).pl().to_dicts():
        movers[row.pop("movement")].append(row)
    return counts | {"frequency_spearman": spearman_correlation(frequencies), "movers": movers}


def _length_statistics(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> list[dict[str, Any]]:
    rows = connection.execute(LENGTHS, {"word": WORD_DUCKDB, "joiners": JOINERS}).fetchall()
    result = []
    for index, name in enumerate(snapshot_names):
        counts = [(words, queries, shown) for p, words, queries, shown in rows if p == index]
        queries = sum(n for _, n, _ in counts)
        shown = sum(n for _, _, n in counts)
        result.append(
            {
                "snapshot": name,
                "queries_by_words": {str(words): n for words, n, _ in counts},
                "mean_words": share(sum(words * n for words, n, _ in counts), queries),
                "mean_words_shown": share(sum(words * n for words, _, n in counts), shown),
            }
        )
    return result


def topic_statistics(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> dict[str, Any]:
    """Return the numbers of queries and impressions by topic and snapshot, and their divergence.

    A query with several topics counts for each of them. `js_bits` is the Jensen-Shannon divergence
    of the queries per topic between consecutive snapshots, in bits; `js_bits_impressions` is the
    divergence of the impressions per topic.
    """
    table: dict[str, dict[str, list[int]]] = {}
    for topic, index, queries, impressions in connection.execute(TOPICS).fetchall():
        row = table.setdefault(
            topic, {"queries": [0] * len(snapshot_names), "impressions": [0] * len(snapshot_names)}
        )
        row["queries"][index], row["impressions"][index] = queries, impressions
    ordered = sorted(table.items(), key=lambda item: (-sum(item[1]["queries"]), item[0]))
    return {
        "snapshots": list(snapshot_names),
        "mix": [{"topic": topic} | row for topic, row in ordered],
        "js_bits": _topic_divergences(table, "queries", len(snapshot_names)),
        "js_bits_impressions": _topic_divergences(table, "impressions", len(snapshot_names)),
    }


def _topic_divergences(
    topic_counts: dict[str, dict[str, list[int]]], field: str, n_snapshots: int
) -> list[float | None]:
    """Return the Jensen-Shannon divergence of the topic mix between consecutive snapshots, in bits.

    Args:
        topic_counts: Number of queries and of impressions in each snapshot, by topic.
        field: `queries` or `impressions`.
        n_snapshots: Number of snapshots.
    """
    return [
        jensen_shannon_divergence(
            Counter((row[field][index], row[field][index + 1]) for row in topic_counts.values())
        )
        for index in range(n_snapshots - 1)
    ]
