"""Checks that the query file and the judgements contain the same queries.

In one published series, the export changed between two months: the Jaccard coefficient of the two
query files fell to 0.13, while the coefficient of the two sets of judged queries stayed at 0.49. A
change in user behavior would have reduced both coefficients.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)
from builder.drift.statistics import jaccard, share

MIN_OVERLAP_DIFFERENCE = 0.1
"""Minimum difference between the overlaps of listed and of judged queries to conclude that one of
the two sets was built differently."""

MAX_MISSING_SHARE = 0.02
"""Maximum tolerated share of judged queries that are missing from the query file, and of queries in
the query file without a judgement."""

MIN_UNJUDGED_SHARE = 0.2
"""Minimum share of queries in the query file without a judgement to conclude that judgements are
missing."""

MIN_QUERIES = 20
"""Minimum number of listed queries, and of judged queries, in each snapshot for a comparison."""

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

MEMBERSHIP_COUNTS = """
WITH judged AS (SELECT DISTINCT query_id FROM qrels)
SELECT
    (SELECT count(*) FROM queries) AS listed,
    (SELECT count(*) FROM judged) AS judged,
    (SELECT count(*) FROM judged ANTI JOIN queries USING (query_id)) AS judged_only,
    (SELECT count(*) FROM queries ANTI JOIN judged USING (query_id)) AS listed_only
"""


def check_query_overlaps(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the overlap of the two query files with the overlap of the judged queries."""
    numbers = fetch_single_row(connection, OVERLAPS)
    listed = jaccard(numbers["listed_common"], numbers["listed_from"], numbers["listed_to"])
    judged = jaccard(numbers["judged_common"], numbers["judged_from"], numbers["judged_to"])
    smallest = min(numbers[f"{kind}_{side}"] for kind in ("listed", "judged") for side in SIDES)
    if listed is None or judged is None or smallest < MIN_QUERIES:
        return undecided_outcome(
            f"a snapshot has fewer than {MIN_QUERIES} listed or judged queries"
        )
    numbers |= {"listed_jaccard": listed, "judged_jaccard": judged}
    says = (
        f"the overlap (Jaccard coefficient) is {listed:.3f} for listed queries and {judged:.3f} "
        "for judged queries"
    )
    if abs(listed - judged) < MIN_OVERLAP_DIFFERENCE:
        return Outcome(False, says, numbers, f"overlaps that differ by {MIN_OVERLAP_DIFFERENCE}")
    file = "query file" if listed < judged else "set of judged queries"
    verdict = f"the {file} was built differently; a change in users would affect both"
    return Outcome(True, f"{says}: {verdict}", numbers)


SIDES = ("from", "to")


def check_judged_queries_are_listed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the judged queries of a snapshot that are missing from its query file."""
    numbers = fetch_single_row(connection, MEMBERSHIP_COUNTS)
    missing = share(numbers["judged_only"], numbers["judged"])
    if missing is None:
        return undecided_outcome("no query is judged")
    counts = f"{numbers['judged_only']:,} of {numbers['judged']:,}"
    says = f"{counts} judged queries are missing from the query file"
    sees = f"{format_share(MAX_MISSING_SHARE)} of judged queries missing from the query file"
    return Outcome(missing >= MAX_MISSING_SHARE, f"{says} ({format_share(missing)})", numbers, sees)


def check_listed_queries_are_judged(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the queries in the query file of a snapshot that have no judgement."""
    numbers = fetch_single_row(connection, MEMBERSHIP_COUNTS)
    without = share(numbers["listed_only"], numbers["listed"])
    if without is None:
        return undecided_outcome("no query is listed")
    says = f"{numbers['listed_only']:,} of {numbers['listed']:,} listed queries have no judgement"
    says = f"{says} ({format_share(without)})"
    if MAX_MISSING_SHARE <= without < MIN_UNJUDGED_SHARE:
        reason = "either judgements are missing or these queries were never judged"
        return Outcome(None, f"{says}: {reason}", numbers)
    sees = f"{format_share(MAX_MISSING_SHARE)} of listed queries without a judgement"
    return Outcome(without >= MIN_UNJUDGED_SHARE, says, numbers, sees)


SNAPSHOT_CHECKS = (
    Check(
        "judged_are_listed",
        "Is every judged query in the query file?",
        check_judged_queries_are_listed,
    ),
    Check("listed_are_judged", "Is every listed query judged?", check_listed_queries_are_judged),
)
PAIR_CHECKS = (
    Check(
        "overlaps_agree",
        "Do listed and judged queries overlap to the same extent?",
        check_query_overlaps,
    ),
)
