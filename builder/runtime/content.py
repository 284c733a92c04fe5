"""Content hash of a table, independent of row order and of the engine that wrote the file."""

import duckdb

from builder.io.tables import Table
from builder.runtime.limits import ResourceLimits

_CONTENT = """
WITH encoded AS (SELECT md5(to_json(t)::VARCHAR) AS digest FROM content AS t)
SELECT count(*)::VARCHAR,
       coalesce(sum(('0x' || digest[1:8])::UBIGINT), 0)::VARCHAR,
       coalesce(sum(('0x' || digest[9:16])::UBIGINT), 0)::VARCHAR,
       coalesce(sum(('0x' || digest[17:24])::UBIGINT), 0)::VARCHAR,
       coalesce(sum(('0x' || digest[25:32])::UBIGINT), 0)::VARCHAR
FROM encoded
"""


def content_hash(table: Table, limits: ResourceLimits, pair: tuple[str, str] | None = None) -> str:
    """Return a hash of a table's rows that does not depend on their order.

    Args:
        table: Table to hash; columns that are not in its schema are ignored.
        limits: Memory and threads.
        pair: Names of two snapshots; if given, only the rows of a change table that compare these
            two snapshots are hashed.

    The MD5 digest of each row in JSON is split into four 32-bit words, and each word is summed over
    all rows, so that the hash also depends on the number of duplicates.

    Returns:
        The number of rows and the hash: `<rows>-<32 hexadecimal digits>`.
    """
    with limits.connect_to_duckdb() as connection:
        columns = map(duckdb.ColumnExpression, table.schema.dtypes())
        rows = table.relation(connection).select(*columns)
        if pair:
            for column, name in zip(("from_snapshot", "to_snapshot"), pair, strict=True):
                rows = rows.filter(
                    duckdb.ColumnExpression(column) == duckdb.ConstantExpression(name)
                )
        rows.create_view("content")
        row = connection.execute(_CONTENT).fetchall()[0]
    words = [int(word) % 2**32 for word in row[1:]]
    return f"{row[0]}-" + "".join(f"{word:08x}" for word in words)
