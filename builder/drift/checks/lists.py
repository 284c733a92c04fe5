"""Checks that the query file and the judgements contain the same queries.

In one published series the export changed between two months: the overlap of the query files fell
to 0.13, while that of the judged queries stayed at 0.49. A change in user behaviour would have
affected both.
"""

import duckdb

from builder.drift.checks.outcome import Check, Outcome, cannot_tell, fetch_row, format_share
from builder.drift.statistics import jaccard, share

DISAGREEMENT = 0.1
"""Minimum difference of two Jaccard coefficients that is not noise."""

MISSING = 0.02
"""Maximum share of judged queries missing from the query file."""

UNJUDGED = 0.2
"""Maximum share of listed queries without a judgement."""

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


def check_query_overlaps(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the overlap of listed queries with the overlap of judged queries."""
    numbers = fetch_row(connection, OVERLAPS)
    listed = jaccard(numbers["listed_common"], numbers["listed_from"], numbers["listed_to"])
    judged = jaccard(numbers["judged_common"], numbers["judged_from"], numbers["judged_to"])
    smallest = min(numbers[f"{kind}_{side}"] for kind in ("listed", "judged") for side in SIDES)
    if listed is None or judged is None or smallest < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} queries are listed or judged in a snapshot")
    numbers |= {"listed_jaccard": listed, "judged_jaccard": judged}
    says = f"the overlap of listed queries is {listed:.3f}, of judged queries {judged:.3f}"
    if abs(listed - judged) < DISAGREEMENT:
        return Outcome(False, says, numbers, f"overlaps that differ by {DISAGREEMENT}")
    file = "query file" if listed < judged else "set of judged queries"
    return Outcome(True, f"{says}: the {file} was built differently, users did not change", numbers)


SIDES = ("from", "to")


def check_judged_queries_listed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count judged queries that are missing from the query file of their snapshot."""
    numbers = fetch_row(connection, MEMBERSHIP)
    missing = share(numbers["judged_only"], numbers["judged"])
    if missing is None:
        return cannot_tell("no query is judged")
    counts = f"{numbers['judged_only']:,} of {numbers['judged']:,}"
    says = f"{counts} judged queries are missing from the query file"
    sees = f"{format_share(MISSING)} of judged queries missing from the query file"
    return Outcome(missing >= MISSING, f"{says} ({format_share(missing)})", numbers, sees)


def check_listed_queries_judged(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count queries that have no judgement although the query file of the snapshot lists them."""
    numbers = fetch_row(connection, MEMBERSHIP)
    without = share(numbers["listed_only"], numbers["listed"])
    if without is None:
        return cannot_tell("no query is listed")
    says = f"{numbers['listed_only']:,} of {numbers['listed']:,} listed queries have no judgement"
    sees = f"{format_share(UNJUDGED)} of listed queries without a judgement"
    return Outcome(without >= UNJUDGED, f"{says} ({format_share(without)})", numbers, sees)


SNAPSHOT_CHECKS = (
    Check(
        "judged_are_listed", "Is every judged query in the query file?", check_judged_queries_listed
    ),
    Check("listed_are_judged", "Is every listed query judged?", check_listed_queries_judged),
)
PAIR_CHECKS = (
    Check(
        "overlaps_agree",
        "Do listed and judged queries overlap to the same extent?",
        check_query_overlaps,
    ),
)
