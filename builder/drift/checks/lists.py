"""Do the query file and the judgements tell the same story?

A published series broke its export between two months: the overlap of query files fell to .13,
that of judged queries stayed at .49. Users do not change in one list only.
"""

import duckdb

from builder.drift.checks.outcome import Check, Outcome, percent, row, unknown
from builder.drift.statistics import jaccard, share

DISAGREEMENT = 0.1
"""Difference of two Jaccard coefficients that is no longer noise."""

MISSING = 0.02
"""Share of judged queries that may be missing from the query file."""

UNJUDGED = 0.2
"""Share of listed queries that may be without a judgement."""

FEWEST = 20

OVERLAPS = """
WITH
judged_from AS (SELECT DISTINCT query_id FROM qrels_from),
judged_to AS (SELECT DISTINCT query_id FROM qrels_to)
SELECT
    (SELECT count(*) FROM queries_from) AS listed_from,
    (SELECT count(*) FROM queries_to) AS listed_to,
    (SELECT count(*) FROM queries_from SEMI JOIN queries_to USING (query_id)) AS listed_common,
    (SELECT count(*) FROM judged_from) AS judged_from,
    (SELECT count(*) FROM judged_to) AS judged_to,
    (SELECT count(*) FROM judged_from SEMI JOIN judged_to USING (query_id)) AS judged_common
"""

MEMBERSHIP = """
WITH judged AS (SELECT DISTINCT query_id FROM qrels)
SELECT
    (SELECT count(*) FROM queries) AS listed,
    (SELECT count(*) FROM judged) AS judged,
    (SELECT count(*) FROM judged ANTI JOIN queries USING (query_id)) AS judged_only,
    (SELECT count(*) FROM queries ANTI JOIN judged USING (query_id)) AS listed_only
"""


def overlaps_agree(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the overlap of the listed queries with that of the judged queries."""
    numbers = row(connection, OVERLAPS)
    listed = jaccard(numbers["listed_common"], numbers["listed_from"], numbers["listed_to"])
    judged = jaccard(numbers["judged_common"], numbers["judged_from"], numbers["judged_to"])
    smallest = min(numbers[f"{kind}_{side}"] for kind in ("listed", "judged") for side in SIDES)
    if listed is None or judged is None or smallest < FEWEST:
        return unknown(f"fewer than {FEWEST} queries are listed or judged")
    numbers |= {"listed_jaccard": listed, "judged_jaccard": judged}
    says = f"listed queries overlap by {listed:.3f}, judged queries by {judged:.3f} (Jaccard)"
    if abs(listed - judged) < DISAGREEMENT:
        return Outcome(False, says, numbers, f"a difference of {DISAGREEMENT} of both")
    file = "query file" if listed < judged else "set of judged queries"
    return Outcome(True, f"{says}: the {file} changed by construction, not by use", numbers)


SIDES = ("from", "to")


def judged_are_listed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find judged queries without a line in the query file."""
    numbers = row(connection, MEMBERSHIP)
    missing = share(numbers["judged_only"], numbers["judged"])
    if missing is None:
        return unknown("no query is judged")
    says = f"{numbers['judged_only']:,} of {numbers['judged']:,} judged queries are not listed"
    sees = f"{percent(MISSING)} of judged queries missing"
    return Outcome(missing >= MISSING, f"{says} ({percent(missing)})", numbers, sees)


def listed_are_judged(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find listed queries without a judgement."""
    numbers = row(connection, MEMBERSHIP)
    without = share(numbers["listed_only"], numbers["listed"])
    if without is None:
        return unknown("no query is listed")
    says = f"{numbers['listed_only']:,} of {numbers['listed']:,} listed queries have no judgement"
    sees = f"{percent(UNJUDGED)} of listed queries without a judgement"
    return Outcome(without >= UNJUDGED, f"{says} ({percent(without)})", numbers, sees)


OF_SNAPSHOT = (
    Check("judged_are_listed", "Is every judged query in the query file?", judged_are_listed),
    Check("listed_are_judged", "Is every listed query judged?", listed_are_judged),
)
OF_PAIR = (
    Check(
        "overlaps_agree", "Do listed and judged queries overlap to the same extent?", overlaps_agree
    ),
)
