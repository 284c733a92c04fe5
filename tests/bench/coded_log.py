"""A large log in keys, as the stage `log` leaves it: `impressions` and the `candidates` of a part.

Written by the database engine, so that a hundred million impressions take minutes. Queries are
drawn with a density that falls as 1/rank; a page has ten of the query's fifteen documents in one of
four orders; users click with a probability that falls with the rank.
"""

from pathlib import Path

import duckdb

ROWS_PER_GROUP = 122_880
CHUNK = 5_000_000

IMPRESSIONS = """
SELECT i::UBIGINT AS impression, hash(i // 7 + 11)::UBIGINT AS "user", query, query AS surface,
       [hash(number * 16 + (d + turn) % 15) FOR d IN range(10)] AS results,
       CASE WHEN luck < 0.35 THEN []::USMALLINT[]
            WHEN luck < 0.85 THEN [(1 + floor(10 * second * second))::USMALLINT]
            ELSE list_sort(list_distinct([(1 + floor(10 * second * second))::USMALLINT,
                                          (1 + floor(10 * third))::USMALLINT])) END AS clicks
FROM (SELECT i, number, hash(number)::UBIGINT AS query, hash(i * 3 + 1) % 4 AS turn,
             (hash(i * 3 + 2) % 1000000) / 1e6 AS luck, (hash(i * 5 + 3) % 1000000) / 1e6 AS second,
             (hash(i * 7 + 4) % 1000000) / 1e6 AS third
      FROM (SELECT i, floor(pow($queries, (hash(i) % 1000000007) / 1e9))::BIGINT AS number
            FROM range($first, $last) r(i)))
"""


def write_impressions(folder: Path, impressions: int, queries: int) -> Path:
    """Write `impressions.parquet` in parts; returns the folder.

    Args:
        folder: Where to.
        impressions: Rows.
        queries: About how many distinct queries are drawn from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        for number, first in enumerate(range(0, impressions, CHUNK)):
            last = min(first + CHUNK, impressions)
            path = folder / f"part-{number:05d}.parquet"
            sql = IMPRESSIONS.replace("$queries", str(queries))
            sql = sql.replace("$first", str(first)).replace("$last", str(last))
            connection.execute(
                f"COPY ({sql}) TO '{path}' (FORMAT parquet, COMPRESSION zstd, "
                f"COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROWS_PER_GROUP})"
            )
    return folder
