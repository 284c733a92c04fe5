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
from builder.drift.judgements import agreement
from builder.drift.statistics import share

EPSILON = 1e-9
GRADE_SHIFT = 0.1
"""Total variation distance of grade shares on common pairs that is a jump."""

BEHAVIOUR_SHIFT = 0.1
"""Relative change of the click rate on common pairs below which behaviour is unchanged."""

EXAMINED_SHIFT = 0.1
"""Change of examinations per impression on common pairs that clicks must explain."""

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

COMMON = """
WITH
changed AS (
    SELECT query_id FROM qrels_from ANTI JOIN qrels_to USING (query_id, doc_id)
    UNION SELECT query_id FROM qrels_to ANTI JOIN qrels_from USING (query_id, doc_id)
),
same_from AS (FROM qrels_from ANTI JOIN changed USING (query_id)),
same_to AS (FROM qrels_to ANTI JOIN changed USING (query_id))
SELECT
    count(*) AS pairs,
    sum(f.impressions)::BIGINT AS impressions_from, sum(t.impressions)::BIGINT AS impressions_to,
    sum(f.examinations)::BIGINT AS examinations_from,
    sum(t.examinations)::BIGINT AS examinations_to,
    sum(f.clicks)::BIGINT AS clicks_from, sum(t.clicks)::BIGINT AS clicks_to
FROM same_from AS f JOIN same_to AS t USING (query_id, doc_id)
WHERE f.source = 'click' AND t.source = 'click'
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
    """Compare examinations with clicks per impression, for queries with the same documents.

    A page that leaves a result list moves those below it up, where more users see them.
    """
    numbers = row(connection, COMMON)
    if numbers["pairs"] < FEWEST or not (numbers["impressions_from"] and numbers["clicks_from"]):
        return unknown(f"fewer than {FEWEST} pairs of queries with the same documents")
    rates = {
        what: (
            share(numbers[f"{what}_from"], numbers["impressions_from"]) or 0.0,
            share(numbers[f"{what}_to"], numbers["impressions_to"]) or 0.0,
        )
        for what in ("examinations", "clicks")
    }
    says = (
        f"on {numbers['pairs']:,} pairs of queries with the same documents, "
        f"{percent(rates['examinations'][0])} of impressions counted as examined before and "
        f"{percent(rates['examinations'][1])} after, while {percent(rates['clicks'][0])} and "
        f"{percent(rates['clicks'][1])} were clicked"
    )
    moved = abs(rates["examinations"][0] - rates["examinations"][1]) >= EXAMINED_SHIFT
    found = moved and _alike(*rates["clicks"])
    if moved and not found:
        return Outcome(None, says, numbers, "nothing where clicks change as well")
    sees = f"{points(EXAMINED_SHIFT)} more or fewer impressions examined"
    verdict = ": the rule of examination changed" if found else ""
    return Outcome(found, says + verdict, numbers, sees)


def grade_shares_follow_clicks(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare a jump of grade shares on common pairs with the grades of equal evidence."""
    table = [[0, 0, 0] for _ in range(3)]
    for before, after, pairs in connection.execute(COMMON_GRADES).fetchall():
        table[before][after] = pairs
    total = agreement(table)["pairs_common"]
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


def _alike(before: float, after: float) -> bool:
    return abs(after - before) <= BEHAVIOUR_SHIFT * before


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
