"""Did pages vanish from one crawl alone?

In: the view `documents_map`, with the snapshots whose crawl has each page. A page that the crawls
before and after a snapshot have was there in between; a crawl that lacks many such pages, or all
pages of a host, is partial. The first and the last snapshot have one neighbour, so that nothing can
be said about them here.
"""

from collections.abc import Iterator, Sequence

import duckdb

from builder.drift.checks.outcome import Outcome, percent, row, unknown

FEWEST = 30
MISSING = 0.05
"""Share of the pages of both neighbours that a whole crawl may lack."""

FEWEST_PAGES = 3
"""Pages of a host that both neighbours must have."""

HOSTS_LOST = 2

CRAWLED = r"""
WITH
pages AS (
    SELECT
        regexp_extract(url_key, '^https?://([^/?]*)', 1) AS host,
        list_contains(crawled, getvariable('between')) AS present
    FROM documents_map
    WHERE list_contains(crawled, getvariable('before'))
      AND list_contains(crawled, getvariable('after'))
),
hosts AS (
    SELECT host, count(*) AS pages, count(*) FILTER (present) AS present FROM pages GROUP BY host
)
SELECT
    (SELECT count(*) FROM documents_map WHERE crawled IS NOT NULL) AS known,
    (SELECT count(*) FROM pages) AS pages,
    (SELECT count(*) FROM pages WHERE NOT present) AS missing,
    (SELECT count(*) FROM hosts WHERE pages >= {pages:d}) AS hosts,
    (SELECT count(*) FROM hosts WHERE pages >= {pages:d} AND present = 0) AS hosts_missing
"""


def pages_stay(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> Iterator[tuple[str, Outcome]]:
    """For each inner snapshot whether its crawl has the pages that both neighbours have."""
    for before, between, after in zip(names, names[1:], names[2:], strict=False):
        for name, value in (("before", before), ("between", between), ("after", after)):
            connection.execute(f"SET VARIABLE {name} = ?", [value])
        yield between, _pages_stay(connection)


def _pages_stay(connection: duckdb.DuckDBPyConnection) -> Outcome:
    numbers = row(connection, CRAWLED.format(pages=FEWEST_PAGES))
    if not numbers.pop("known"):
        return unknown("the crawls of the snapshots are not known")
    if numbers["pages"] < FEWEST:
        return unknown(f"fewer than {FEWEST} pages are in the crawls of both neighbours")
    part = numbers["missing"] / numbers["pages"]
    says = (
        f"the crawl lacks {numbers['missing']:,} of {numbers['pages']:,} pages that the crawls "
        f"before and after it have ({percent(part)}), and all pages of "
        f"{numbers['hosts_missing']:,} of {numbers['hosts']:,} hosts"
    )
    found = part >= MISSING or numbers["hosts_missing"] >= max(HOSTS_LOST, 0.1 * numbers["hosts"])
    sees = f"{percent(MISSING)} of pages missing from this crawl alone"
    return Outcome(found, f"{says}: it is partial" if found else says, numbers, sees)
