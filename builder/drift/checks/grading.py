"""Were grades given by another rule?

A grade is a step function of a score, and within a snapshot the steps can be bounded from the
qrels. Bounds that exclude each other prove another rule: no behaviour of users brings them about.
Where a collection gives no scores, or none whose rule can be read back, a jump of grade shares on
the same pairs is compared with the grades that equal counts of clicks and examinations get in both
snapshots: users change the counts, and only a rule changes what equal counts are graded. With
scores it proves nothing: a few clicks move a prior, and all pairs with the same counts pass a
threshold together.
"""

from typing import Any

import duckdb

from builder.drift.checks.outcome import Check, Outcome, percent, points, row, unknown
from builder.drift.checks.scoring import priors_stand
from builder.drift.judgements import label_agreement

EPSILON = 1e-9
GRADE_SHIFT = 0.1
"""Total variation distance of grade shares on common pairs that is a jump."""

EXAMINED_ALWAYS, EXAMINED_SELDOM = 0.9, 0.8
"""Shares of impressions at which the most examined document of a query counts as examined: from
the first on all impressions count, up to the second those without a click do not."""

FEWEST_QUERIES = 20
FEWEST = 100

COARSE = 0.1
"""Width of the bounds of a step from which scores are too few to tell."""

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
"""Later judgements whose counts occur among the earlier ones, and those graded otherwise."""

COMMON_GRADES = """
SELECT f.grade, t.grade, count(*)
FROM qrels_from AS f JOIN qrels_to AS t USING (query_id, doc_id) GROUP BY ALL
"""


def cuts_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Bound the score at which each grade begins, and compare."""
    before, after = (row(connection, CUTS.format(side=side)) for side in ("from", "to"))
    numbers: dict[str, Any] = {"from": before, "to": after}
    sentences, widths = [], []
    for grade in (1, 2):
        bounds = [(s[f"below_{grade}"], s[f"from_{grade}"]) for s in (before, after)]
        if any(None in pair or pair[0] > pair[1] + EPSILON for pair in bounds):
            continue
        widths += [above - below for below, above in bounds]
        if bounds[0][0] > bounds[1][1] + EPSILON or bounds[1][0] > bounds[0][1] + EPSILON:
            sentences.append(
                f"grade {grade} began between {bounds[0][0]:.3f} and {bounds[0][1]:.3f}, "
                f"now between {bounds[1][0]:.3f} and {bounds[1][1]:.3f}"
            )
    if not widths:
        return unknown("there are no scores of which grades are steps")
    if not sentences:
        says = "grades can have begun at the same scores"
        sees = f"a grade that begins {max(0.001, *widths):.3f} higher or lower"
        return Outcome(False if max(widths) <= COARSE else None, says, numbers, sees)
    return Outcome(True, "; ".join(sentences) + ": scores are cut elsewhere", numbers)


def examination_stands(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often the most examined document of a query counts as examined.

    The first result lies at or above every click, so that it is examined at every impression,
    whatever users do, unless impressions without a click are left out.
    """
    before, after = (row(connection, EXAMINED.format(side=side)) for side in ("from", "to"))
    numbers = {"from": before, "to": after}
    if min(before["queries"], after["queries"]) < FEWEST_QUERIES:
        return unknown(f"fewer than {FEWEST_QUERIES} queries have judgements by clicks")
    least, most = sorted((before["examined"], after["examined"]))
    says = (
        f"the most examined document of a query counts as examined at "
        f"{percent(before['examined'])} of its impressions before and "
        f"{percent(after['examined'])} after (medians)"
    )
    if most >= EXAMINED_ALWAYS and least <= EXAMINED_SELDOM:
        return Outcome(True, f"{says}: the rule of examination changed", numbers)
    if least >= EXAMINED_ALWAYS:
        return Outcome(False, says, numbers, "impressions without a click left out")
    return Outcome(None, says, numbers, "nothing where no document is always examined")


def grade_shares_follow_clicks(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare a jump of grade shares on common pairs with the grades of equal evidence."""
    table = [[0, 0, 0] for _ in range(3)]
    for before, after, pairs in connection.execute(COMMON_GRADES).fetchall():
        table[before][after] = pairs
    total = label_agreement(table)["pairs_common"]
    if total < FEWEST:
        return unknown(f"fewer than {FEWEST} common pairs")
    rows = [sum(table[grade]) / total for grade in range(3)]
    columns = [sum(line[grade] for line in table) / total for grade in range(3)]
    distance = sum(abs(a - b) for a, b in zip(rows, columns, strict=True)) / 2
    numbers: dict[str, Any] = {"transitions": table, "total_variation": distance}
    says = (
        f"on {total} common pairs the grades 0, 1, 2 have shares "
        f"{_shares(rows)} before and {_shares(columns)} after"
    )
    if distance < GRADE_SHIFT:
        return Outcome(False, says, numbers, f"{points(GRADE_SHIFT)} of grades on common pairs")
    cuts = cuts_stand(connection)
    if cuts.found is False or (cuts.found is None and cuts.numbers):
        priors = priors_stand(connection)
        if priors.found is False:
            says = f"{says}; scores are made and cut by the same rules"
            return Outcome(False, says, numbers, "any other rule of scores or cuts")
        if priors.found is None:
            return Outcome(None, f"{says}; scores are cut by the same rule", numbers, priors.sees)
    same = row(connection, SAME_EVIDENCE)
    numbers |= {"same_evidence": same}
    if same["judgements"] < FEWEST:
        return Outcome(None, f"{says}, and few judgements have clicks to compare them by", numbers)
    share_regraded = same["regraded"] / same["judgements"]
    says += (
        f", and {percent(share_regraded)} of {same['judgements']:,} later judgements got another "
        "grade than earlier ones with as many clicks and examinations"
    )
    found = share_regraded >= GRADE_SHIFT
    if found:
        return Outcome(True, f"{says}: grading changed, users did not", numbers)
    return Outcome(False, says, numbers, f"{points(GRADE_SHIFT)} of grades on equal evidence")


def _shares(values: list[float]) -> str:
    return " / ".join(percent(value) for value in values)


CHECKS = (
    Check("cuts_stand", "Do grades begin at the same scores?", cuts_stand),
    Check("examination_stands", "Is an impression examined by the same rule?", examination_stands),
    Check(
        "grade_shares_follow_clicks",
        "Do grade shares move only with clicks?",
        grade_shares_follow_clicks,
    ),
)
