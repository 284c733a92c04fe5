"""Checks that the grades of both snapshots were assigned by the same rule.

A grade is a step function of a score, and the thresholds of a snapshot can be bounded from its
qrels. Disjoint bounds prove that the rule changed: user behaviour cannot cause them. If a
collection has no scores, or scores whose rule cannot be recovered, a jump in the grade shares of
common pairs is compared with the grades of equal counts of clicks and examinations in both
snapshots: users change the counts, but only a change of the rule gives equal counts another grade.
With scores, other grades for equal counts prove nothing: a few clicks shift the fitted prior, and
then all pairs with the same counts cross a threshold together. If clicks are recorded for another
impression, or result lists in another order, the grades of common pairs do not agree; neither do
they if users click at random, or after a change of ranking.
"""

from typing import Any

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    cannot_tell,
    fetch_row,
    format_percentage_points,
    format_share,
)
from builder.drift.checks.scoring import check_priors
from builder.drift.judgements import label_agreement

EPSILON = 1e-9
GRADE_SHIFT = 0.1
"""Minimum total variation distance of grade shares on common pairs that counts as a jump."""

EXAMINED_ALWAYS, EXAMINED_SELDOM = 0.9, 0.8
"""Share of impressions in which the most examined document of a query counts as examined. From the
first value on, all impressions were counted; up to the second, those without a click were not."""

FEWEST_QUERIES = 20
FEWEST = 100
MIN_KAPPA = 0.3
"""Minimum quadratic kappa of the grades of pairs judged in both snapshots."""

COARSE = 0.1
"""Maximum width of the bounds of a threshold; wider bounds rest on too few scores."""

CUTS = """
WITH rows AS (SELECT grade, score FROM qrels_{side} WHERE source = 'click' AND score IS NOT NULL)
SELECT
    max(score) FILTER (grade < 1) AS below_1, min(score) FILTER (grade >= 1) AS from_1,
    max(score) FILTER (grade < 2) AS below_2, min(score) FILTER (grade >= 2) AS from_2
FROM rows
"""

EXAMINED = """
WITH queries AS (
    SELECT query_id, max(examinations / impressions) AS examined
    FROM qrels_{side} WHERE source = 'click' AND impressions >= 5 GROUP BY query_id
)
SELECT count(*) AS queries, median(examined) AS examined FROM queries
"""

SAME_EVIDENCE = """
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
"""Later judgements with the same counts as an earlier one, and those with another grade."""

COMMON_GRADES = """
SELECT f.grade, t.grade, count(*)
FROM qrels_from AS f JOIN qrels_to AS t USING (query_id, doc_id) GROUP BY ALL
"""


def check_grade_thresholds(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Derive bounds of each grade's minimum score from the qrels, and compare the snapshots."""
    before, after = (fetch_row(connection, CUTS.format(side=side)) for side in ("from", "to"))
    numbers: dict[str, Any] = {"from": before, "to": after}
    sentences, widths = [], []
    for grade in (1, 2):
        bounds = [(s[f"below_{grade}"], s[f"from_{grade}"]) for s in (before, after)]
        if any(None in pair or pair[0] > pair[1] + EPSILON for pair in bounds):
            continue
        widths += [above - below for below, above in bounds]
        if bounds[0][0] > bounds[1][1] + EPSILON or bounds[1][0] > bounds[0][1] + EPSILON:
            sentences.append(
                f"the threshold of grade {grade} was between {bounds[0][0]:.3f} and "
                f"{bounds[0][1]:.3f} and is now between {bounds[1][0]:.3f} and {bounds[1][1]:.3f}"
            )
    if not widths:
        return cannot_tell("there are no scores that determine the grades")
    if not sentences:
        says = "the grade thresholds may be the same"
        sees = f"a grade threshold that moved by {max(0.001, *widths):.3f}"
        return Outcome(False if max(widths) <= COARSE else None, says, numbers, sees)
    return Outcome(True, "; ".join(sentences) + ": the grade thresholds changed", numbers)


def check_examination_rule(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often the most examined document of a query counts as examined.

    The first result is at or above every click, so that it is examined in every impression,
    whatever users click, unless impressions without a click are excluded.
    """
    before, after = (fetch_row(connection, EXAMINED.format(side=side)) for side in ("from", "to"))
    numbers = {"from": before, "to": after}
    if min(before["queries"], after["queries"]) < FEWEST_QUERIES:
        return cannot_tell(
            f"fewer than {FEWEST_QUERIES} queries have judgements derived from clicks"
        )
    least, most = sorted((before["examined"], after["examined"]))
    says = (
        "the most examined document of a query was counted as examined in "
        f"{format_share(before['examined'])} of the query's impressions before and in "
        f"{format_share(after['examined'])} after (medians over queries)"
    )
    if most >= EXAMINED_ALWAYS and least <= EXAMINED_SELDOM:
        reason = "either examinations are counted differently or first results are not judged"
        return Outcome(None, f"{says}: {reason}", numbers)
    if least >= EXAMINED_ALWAYS:
        return Outcome(False, says, numbers, "impressions without a click not counted as examined")
    return Outcome(None, says, numbers, "nothing, unless a document is examined in all impressions")


def check_grade_shares(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the grade shares of pairs in both snapshots, then the grades of equal counts."""
    table = _count_common_grades(connection)
    total = sum(map(sum, table))
    if total < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} pairs are judged in both snapshots")
    rows = [sum(table[grade]) / total for grade in range(3)]
    columns = [sum(line[grade] for line in table) / total for grade in range(3)]
    distance = sum(abs(a - b) for a, b in zip(rows, columns, strict=True)) / 2
    numbers: dict[str, Any] = {"transitions": table, "total_variation": distance}
    says = (
        f"on {total} common pairs the shares of grades 0, 1 and 2 are "
        f"{_format_shares(rows)} before and {_format_shares(columns)} after"
    )
    if distance < GRADE_SHIFT:
        return Outcome(
            False,
            says,
            numbers,
            f"a shift of {format_percentage_points(GRADE_SHIFT)} on common pairs",
        )
    cuts = check_grade_thresholds(connection)
    if cuts.found is False or (cuts.found is None and cuts.numbers):
        priors = check_priors(connection)
        if priors.found is False:
            says = f"{says}; scores and grade thresholds follow the same rules"
            return Outcome(False, says, numbers, "any change of scores or grade thresholds")
        if priors.found is None:
            return Outcome(None, f"{says}; grade thresholds are the same", numbers, priors.sees)
    same = fetch_row(connection, SAME_EVIDENCE)
    numbers |= {"same_evidence": same}
    if same["judgements"] < FEWEST:
        return Outcome(None, f"{says}; too few judgements have equal click counts", numbers)
    share_regraded = same["regraded"] / same["judgements"]
    says += (
        f", and {format_share(share_regraded)} of {same['judgements']:,} later judgements have "
        "another grade than earlier ones with equal clicks and examinations"
    )
    found = share_regraded >= GRADE_SHIFT
    if found:
        return Outcome(True, f"{says}: the grading rule changed, not the users", numbers)
    return Outcome(
        False,
        says,
        numbers,
        f"a shift of {format_percentage_points(GRADE_SHIFT)} at equal evidence",
    )


def _count_common_grades(connection: duckdb.DuckDBPyConnection) -> list[list[int]]:
    """Count the pairs judged in both snapshots by earlier (row) and later grade (column)."""
    table = [[0, 0, 0] for _ in range(3)]
    for before, after, pairs in connection.execute(COMMON_GRADES).fetchall():
        table[before][after] = pairs
    return table


def check_recurring_grades(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Measure how far the grades of pairs judged in both snapshots agree."""
    agreement = label_agreement(_count_common_grades(connection))
    pairs, kappa = agreement["pairs_common"], agreement["kappa_quadratic"]
    if pairs < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} pairs are judged in both snapshots")
    if kappa is None:
        return cannot_tell("all pairs judged in both snapshots have the same grade")
    says = f"the grades of {pairs:,} common pairs agree with a quadratic kappa of {kappa:.2f}"
    numbers = {"pairs_common": pairs, "kappa_quadratic": kappa}
    if kappa >= MIN_KAPPA:
        return Outcome(False, says, numbers, "grades that agree no better than by chance")
    reason = "either users or rankings changed, or clicks are attached to other results"
    return Outcome(None, f"{says}: {reason}", numbers)


def _format_shares(values: list[float]) -> str:
    return " / ".join(format_share(value) for value in values)


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
