"""Computes statistics of qrels: grades, evidence, label stability and lost relevant documents.

Reads the qrels of every snapshot and the change tables, as DuckDB views. Returns plain dictionaries
for `drift.json`. A *flip* is a query-document pair that is judged in both snapshots and whose grade
changes from 0 to 2 or from 2 to 0. The evidence of a pair judged in both snapshots is the smaller
of its examination counts in the two snapshots.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from builder.drift.statistics import jaccard, quantile_from_counts, share
from builder.statistics.agreement import cohen_kappa
from schemas import GRADES

EVIDENCE_BOUNDS = (0, 1, 3, 6, 11, 21, 51, 101)
"""Lower bounds of the bins of examination counts for which label stability is reported."""

GRADE_COUNTS = "SELECT index, grade, count(*) FROM all_qrels GROUP BY ALL ORDER BY ALL"

PER_QUERY = """
WITH queries AS (
    SELECT index, count(*) AS judged, count(*) FILTER (grade > 0) AS relevant
    FROM all_qrels GROUP BY index, query_id
)
SELECT index, judged, relevant, count(*) FROM queries GROUP BY ALL ORDER BY ALL
"""

EXAMINATIONS = "SELECT index, examinations, count(*) FROM all_qrels GROUP BY ALL ORDER BY ALL"

TRANSITIONS = """
SELECT f.index, t.index, f.grade, t.grade, count(*)
FROM all_qrels AS f JOIN all_qrels AS t
    ON f.query_id = t.query_id AND f.doc_id = t.doc_id AND f.index < t.index
GROUP BY ALL ORDER BY ALL
"""

COMMON_BY_EVIDENCE = """
SELECT least(examinations_from, examinations_to), grade_from, grade_to, count(*)
FROM qrel_changes WHERE grade_from IS NOT NULL AND grade_to IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""

FATE_OF_RELEVANT = """
SELECT
    coalesce(d.status, 'absent') AS document,
    count(*) AS relevant,
    count(grade_to) AS judged_again,
    count(*) FILTER (grade_to = grade_from) AS same_grade,
    count(*) FILTER (grade_to = 0) AS not_relevant_now
FROM qrel_changes LEFT JOIN document_changes AS d USING (doc_id)
WHERE grade_from > 0
GROUP BY document ORDER BY document
"""

STABILITY_BY_DOCUMENT = """
SELECT
    coalesce(d.status, 'absent') AS document,
    count(*) AS pairs,
    count(*) FILTER (grade_from = grade_to) AS same_grade,
    count(*) FILTER (abs(grade_from::TINYINT - grade_to::TINYINT) = 2) AS flipped
FROM qrel_changes LEFT JOIN document_changes AS d USING (doc_id)
WHERE grade_from IS NOT NULL AND grade_to IS NOT NULL
GROUP BY document ORDER BY document
"""

NUMBER_OF_PAIRS = "SELECT count(grade_from), count(grade_to) FROM qrel_changes"

TransitionCounts = list[list[int]]


def qrel_statistics_by_snapshot(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return statistics of the grades, judged queries and examination counts of each snapshot."""
    grades = connection.execute(GRADE_COUNTS).fetchall()
    queries = connection.execute(PER_QUERY).fetchall()
    shown = connection.execute(EXAMINATIONS).fetchall()
    rows = []
    for index, name in enumerate(snapshot_names):
        counts = [sum(n for p, g, n in grades if p == index and g == grade) for grade in GRADES]
        judged = [(j, n) for p, j, _, n in queries if p == index]
        relevant = [(r, n) for p, _, r, n in queries if p == index]
        rows.append(
            {
                "snapshot": name,
                "grades": counts,
                "grade_shares": [share(count, sum(counts)) for count in counts],
                "judged_per_query": summarize_counts(judged),
                "relevant_per_query": summarize_counts(relevant),
                "examinations": summarize_counts([(e, n) for p, e, n in shown if p == index]),
            }
        )
    return rows


def summarize_counts(value_counts: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """Return the mean and quantiles of integers, given as (value, frequency) pairs."""
    ordered = sorted(value_counts)
    total = sum(often for _, often in ordered)
    return {
        "n": total,
        "mean": share(sum(value * often for value, often in ordered), total),
        "min": ordered[0][0] if ordered else None,
        "p10": quantile_from_counts(ordered, 0.1),
        "median": quantile_from_counts(ordered, 0.5),
        "p90": quantile_from_counts(ordered, 0.9),
        "max": ordered[-1][0] if ordered else None,
    }


def grade_agreement_between_snapshots(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return for each pair of snapshots the agreement of their grades on pairs judged in both."""
    tables = {
        (a, b): _empty_transition_counts() for b in range(len(snapshot_names)) for a in range(b)
    }
    for first, second, before, after, pairs in connection.execute(TRANSITIONS).fetchall():
        tables[first, second][before][after] = pairs
    return [
        {"from": snapshot_names[a], "to": snapshot_names[b]} | label_agreement(table)
        for (a, b), table in sorted(tables.items())
    ]


def label_agreement(transitions: TransitionCounts) -> dict[str, Any]:
    """Return measures of how well two gradings of the same query-document pairs agree.

    Args:
        transitions: Number of pairs by earlier grade (row) and later grade (column).
    """
    total = sum(map(sum, transitions))
    kept = sum(transitions[grade][grade] for grade in GRADES)
    flipped = transitions[0][2] + transitions[2][0]
    return {
        "pairs_common": total,
        "transitions": transitions,
        "kept": kept,
        "kept_share": share(kept, total),
        "flipped": flipped,
        "flip_rate": share(flipped, total),
        "kappa": cohen_kappa(transitions),
        "kappa_quadratic": cohen_kappa(transitions, "quadratic"),
    }


def qrel_change_statistics(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the qrel statistics of one pair of snapshots.

    Needs the views `qrel_changes` and `document_changes`.
    """
    pairs_from, pairs_to = connection.execute(NUMBER_OF_PAIRS).fetchall()[0]
    by_evidence = connection.execute(COMMON_BY_EVIDENCE).fetchall()
    transitions = _empty_transition_counts()
    for _, before, after, pairs in by_evidence:
        transitions[before][after] += pairs
    common = sum(map(sum, transitions))
    return {
        "pairs_from": pairs_from,
        "pairs_to": pairs_to,
        "jaccard": jaccard(common, pairs_from, pairs_to),
        **label_agreement(transitions),
        "by_evidence": _grade_agreement_by_evidence(by_evidence),
        "by_document": _fetch_dicts(connection, STABILITY_BY_DOCUMENT),
        "relevant_before": _fetch_dicts(connection, FATE_OF_RELEVANT),
    }


def _grade_agreement_by_evidence(rows: Sequence[tuple[int, int, int, int]]) -> list[dict[str, Any]]:
    tables = [_empty_transition_counts() for _ in EVIDENCE_BOUNDS]
    for evidence, before, after, pairs in rows:
        tables[bisect_right(EVIDENCE_BOUNDS, evidence) - 1][before][after] += pairs
    borders = (*EVIDENCE_BOUNDS, None)
    return [
        {
            "examinations_from": border,
            "examinations_below": borders[number + 1],
            **{
                name: value
                for name, value in label_agreement(tables[number]).items()
                if name in ("pairs_common", "kept", "kept_share", "flipped", "flip_rate")
            },
        }
        for number, border in enumerate(EVIDENCE_BOUNDS)
    ]


def _empty_transition_counts() -> TransitionCounts:
    return [[0 for _ in GRADES] for _ in GRADES]


def _fetch_dicts(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    relation = connection.sql(sql)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
