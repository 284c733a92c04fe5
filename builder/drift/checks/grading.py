"""Checks that the grades of both snapshots were assigned by the same rule.

A grade is a step function of a score. The scores in the qrels of a snapshot narrow each threshold
of this function down to an interval. If the intervals of two snapshots are disjoint, the rule has
changed: user behavior cannot cause this. If there are no scores, or the rule cannot be recovered
from them, the grade shares of common pairs (query-document pairs judged in both snapshots) are
compared. If the shares differ, the grades of judgements with equal counts of clicks and
examinations are compared: users change the counts, but only another rule assigns other grades to
equal counts. This second comparison is skipped if scores and thresholds follow the same rules: a
few clicks shift the fitted prior, so that all pairs with equal counts can cross a threshold
together. The last check measures the agreement between the two snapshots' grades, which is low if
clicks are attached to the wrong results, but also if users click at random or the ranking changed.
"""

import math
from typing import Any

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    fetch_single_row,
    format_percentage_points,
    format_share,
    undecided_outcome,
)
from builder.drift.checks.scoring import check_priors
from builder.drift.judgements import label_agreement

ROUNDING_TOLERANCE = 1e-9
"""Maximum difference between two scores that is attributed to rounding."""

MIN_GRADE_SHIFT = 0.1
"""Minimum total variation distance between the snapshots' grade shares, or minimum share of
regraded judgements, that counts as a change."""

MIN_ALWAYS_EXAMINED, MAX_SELDOM_EXAMINED = 0.9, 0.8
"""Thresholds for the median share of impressions in which a query's most examined document is
counted as examined: at least the first if impressions without a click are counted, and at most the
second if they are not."""

MIN_QUERIES = 20
"""Minimum number of queries per snapshot for comparing examinations."""

MIN_PAIRS = 100
"""Minimum number of query-document pairs for comparing grades."""

MIN_KAPPA = 0.3
"""Minimum quadratic weighted kappa between the two snapshots' grades of common pairs."""

MAX_BOUND_WIDTH = 0.1
"""A threshold is considered unchanged only if its bounds differ by at most this much."""

THRESHOLD_BOUNDS = """
WITH rows AS (SELECT grade, score FROM qrels_{side} WHERE source = 'click' AND score IS NOT NULL)
SELECT
    max(score) FILTER (grade < 1) AS below_1, min(score) FILTER (grade >= 1) AS from_1,
    max(score) FILTER (grade < 2) AS below_2, min(score) FILTER (grade >= 2) AS from_2
FROM rows
"""

MOST_EXAMINED_DOCUMENTS = """
WITH queries AS (
    SELECT query_id, max(examinations / impressions) AS examined
    FROM qrels_{side} WHERE source = 'click' AND impressions >= 5 GROUP BY query_id
)
SELECT count(*) AS queries, median(examined) AS examined FROM queries
"""

GRADES_OF_EQUAL_COUNTS = """
WITH
cells_from AS (
    SELECT clicks, examinations, avg(grade) AS grade FROM qrels_from
    WHERE source = 'click' AND examinations > 0 GROUP BY ALL
),
cells_to AS (
    SELECT clicks, examinations, avg(grade) AS grade, count(*) AS judgements FROM qrels_to
    WHERE source = 'click' AND examinations > 0 GROUP BY ALL
)
SELECT
    coalesce(sum(judgements), 0)::BIGINT AS judgements,
    coalesce(sum(judgements) FILTER (abs(f.grade - t.grade) >= 0.5), 0)::BIGINT AS regraded
FROM cells_to AS t JOIN cells_from AS f USING (clicks, examinations)
"""
"""SQL query that counts the later judgements with the same clicks and examinations as an earlier
judgement, and among them those for which the mean grade of judgements with these counts differs by
at least 0.5 between the snapshots."""

COMMON_GRADES = """
SELECT f.grade, t.grade, count(*)
FROM qrels_from AS f JOIN qrels_to AS t USING (query_id, doc_id) GROUP BY ALL
"""


def check_grade_thresholds(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether both snapshots can have used the same grade thresholds.

    A threshold lies between the highest score below it and the lowest score above it. If these
    intervals are disjoint in the two snapshots, the threshold changed.
    """
    before, after = (
        fetch_single_row(connection, THRESHOLD_BOUNDS.format(side=side)) for side in ("from", "to")
    )
    numbers: dict[str, Any] = {"from": before, "to": after}
    sentences, widths = [], []
    for grade in (1, 2):
        bounds = [_threshold_bounds(side, grade) for side in (before, after)]
        if None in bounds or not {before[f"from_{grade}"], after[f"from_{grade}"]} - {None}:
            continue
        earlier, later = (pair for pair in bounds if pair is not None)
        if any(above < below - ROUNDING_TOLERANCE for below, above in (earlier, later)):
            which = " and ".join(
                name
                for name, (below, above) in (("earlier", earlier), ("later", later))
                if above < below - ROUNDING_TOLERANCE
            )
            reason = (
                "either they were assigned by another rule or the rule uses more than the score"
            )
            return undecided_outcome(
                f"the {which} grades do not increase with the scores: {reason}"
            )
        widths += [above - below for below, above in (earlier, later)]
        if earlier[0] > later[1] + ROUNDING_TOLERANCE or later[0] > earlier[1] + ROUNDING_TOLERANCE:
            sentences.append(
                f"the threshold of grade {grade} was {_describe_bounds(earlier)} and is now "
                f"{_describe_bounds(later)}"
            )
    if not widths or all(map(math.isinf, widths)):
        return undecided_outcome(
            "a snapshot has no scores, or no grade threshold has scores on both sides"
        )
    if sentences:
        return Outcome(True, "; ".join(sentences) + ": the grade thresholds changed", numbers)
    says = "the grade thresholds may be the same"
    if any(map(math.isinf, widths)):
        return Outcome(None, says, numbers, "needs judgements of every grade in both snapshots")
    sees = f"a change in a grade threshold by {max(0.001, *widths):.3f}"
    return Outcome(False if max(widths) <= MAX_BOUND_WIDTH else None, says, numbers, sees)


def _threshold_bounds(bounds: dict[str, Any], grade: int) -> tuple[float, float] | None:
    """Return the lower and upper bound of a grade threshold; None if there are no scores.

    A bound is infinite if there are no scores on its side of the threshold.

    Args:
        bounds: Row of `THRESHOLD_BOUNDS` for one snapshot.
        grade: Lowest grade above the threshold.
    """
    below, above = bounds[f"below_{grade}"], bounds[f"from_{grade}"]
    if below is None and above is None:
        return None
    return -math.inf if below is None else below, math.inf if above is None else above


def _describe_bounds(bounds: tuple[float, float]) -> str:
    below, above = bounds
    if math.isinf(above):
        return f"above {below:.3f}"
    return f"at most {above:.3f}" if math.isinf(below) else f"between {below:.3f} and {above:.3f}"


def check_examination_rule(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often the most examined document of a query is counted as examined.

    This document is usually the first result. Since every click is at or below the first rank, it
    counts as examined in every impression with a click. If one snapshot counts it as examined in
    nearly all impressions, and the other in far fewer, the other probably does not count
    examinations in impressions without a click.
    """
    before, after = (
        fetch_single_row(connection, MOST_EXAMINED_DOCUMENTS.format(side=side))
        for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["queries"], after["queries"]) < MIN_QUERIES:
        return undecided_outcome(
            f"fewer than {MIN_QUERIES} queries have judgements derived from clicks"
        )
    least, most = sorted((before["examined"], after["examined"]))
    says = (
        "for the median query, the most examined document was counted as examined in "
        f"{format_share(before['examined'])} of the impressions in the earlier snapshot and in "
        f"{format_share(after['examined'])} in the later one"
    )
    if most >= MIN_ALWAYS_EXAMINED and least <= MAX_SELDOM_EXAMINED:
        reason = "either examinations are counted differently or first results are not judged"
        return Outcome(None, f"{says}: {reason}", numbers)
    if least >= MIN_ALWAYS_EXAMINED:
        return Outcome(
            False, says, numbers, "examinations not counted in impressions without a click"
        )
    needed = f"needs documents examined in {format_share(MIN_ALWAYS_EXAMINED)} of impressions"
    return Outcome(None, says, numbers, needed)


def check_grade_shares(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the grade shares of pairs judged in both snapshots.

    If the shares differ, the grade thresholds and priors are compared too. Unless they decide the
    outcome, so are the grades of judgements with the same click and examination counts.
    """
    table = _count_common_grades(connection)
    total = sum(map(sum, table))
    if total < MIN_PAIRS:
        return undecided_outcome(f"fewer than {MIN_PAIRS} pairs are judged in both snapshots")
    rows = [sum(table[grade]) / total for grade in range(3)]
    columns = [sum(line[grade] for line in table) / total for grade in range(3)]
    distance = sum(abs(a - b) for a, b in zip(rows, columns, strict=True)) / 2
    numbers: dict[str, Any] = {"transitions": table, "total_variation": distance}
    says = (
        f"on {total} common pairs, the shares of grades 0, 1 and 2 are "
        f"{_format_shares(rows)} before and {_format_shares(columns)} after"
    )
    if distance < MIN_GRADE_SHIFT:
        return Outcome(
            False,
            says,
            numbers,
            "grade shares of common pairs that differ by "
            f"{format_percentage_points(MIN_GRADE_SHIFT)}",
        )
    cuts = check_grade_thresholds(connection)
    if cuts.is_construction is False or (cuts.is_construction is None and cuts.numbers):
        priors = check_priors(connection)
        if cuts.is_construction is None and priors.is_construction is False:
            says = f"{says}; grade thresholds may be the same"
            return Outcome(None, says, numbers, cuts.detectable)
        if priors.is_construction is False:
            says = f"{says}; scores and grade thresholds follow the same rules"
            return Outcome(False, says, numbers, "any change in scores or grade thresholds")
        if priors.is_construction is None:
            return Outcome(
                None, f"{says}; grade thresholds are the same", numbers, priors.detectable
            )
    same = fetch_single_row(connection, GRADES_OF_EQUAL_COUNTS)
    numbers |= {"same_evidence": same}
    if same["judgements"] < MIN_PAIRS:
        return Outcome(None, f"{says}; too few judgements have equal click counts", numbers)
    share_regraded = same["regraded"] / same["judgements"]
    says += (
        f", and {format_share(share_regraded)} of {same['judgements']:,} later judgements have "
        "a different grade from earlier ones with equal clicks and examinations"
    )
    found = share_regraded >= MIN_GRADE_SHIFT
    if found:
        return Outcome(True, f"{says}: the grading rule changed, not the users", numbers)
    return Outcome(
        False,
        says,
        numbers,
        f"different grades for {format_share(MIN_GRADE_SHIFT)} of judgements with equal counts",
    )


def _count_common_grades(connection: duckdb.DuckDBPyConnection) -> list[list[int]]:
    """Count the pairs judged in both snapshots by earlier grade (row) and later grade (column)."""
    table = [[0, 0, 0] for _ in range(3)]
    for before, after, pairs in connection.execute(COMMON_GRADES).fetchall():
        table[before][after] = pairs
    return table


def check_recurring_grades(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Measure the agreement between the grades of pairs that are judged in both snapshots."""
    agreement = label_agreement(_count_common_grades(connection))
    pairs, kappa = agreement["pairs_common"], agreement["kappa_quadratic"]
    if pairs < MIN_PAIRS:
        return undecided_outcome(f"fewer than {MIN_PAIRS} pairs are judged in both snapshots")
    if kappa is None:
        return undecided_outcome("all pairs judged in both snapshots have the same grade")
    says = (
        f"the grades of {pairs:,} common pairs agree with a quadratic weighted kappa of {kappa:.2f}"
    )
    numbers = {"pairs_common": pairs, "kappa_quadratic": kappa}
    if kappa >= MIN_KAPPA:
        return Outcome(False, says, numbers, "grades that agree no better than chance")
    reason = "either users or rankings changed, or clicks are attached to the wrong results"
    return Outcome(None, f"{says}: {reason}", numbers)


def _format_shares(shares: list[float]) -> str:
    return " / ".join(format_share(value) for value in shares)


CHECKS = (
    Check("cuts_stand", "Are the grade thresholds the same?", check_grade_thresholds),
    Check(
        "examination_stands", "Are examinations counted by the same rule?", check_examination_rule
    ),
    Check(
        "grade_shares_follow_clicks",
        "Do grade shares change only with clicks?",
        check_grade_shares,
    ),
    Check("grades_recur", "Do judged pairs keep their grades?", check_recurring_grades),
)
