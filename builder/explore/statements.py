"""SQL statements with bound parameters, and SQL text with literals for users to copy.

DuckDB receives values only as bound parameters. In the SQL text that users copy, values are quoted
literals.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool | list[str]
Row = dict[str, Any]

_PARAMETER = re.compile(r"\$([a-z_]+)")
_NAME = re.compile(r"[a-z_]+")
FOLD_MACRO = "folded"
"""Name of the SQL macro that removes case, accents and punctuation, as `fold` does."""
FOLD_MACRO_SQL = r"""
CREATE OR REPLACE TEMP MACRO folded(written) AS trim(regexp_replace(
    replace(replace(replace(replace(replace(replace(
        strip_accents(lower(nfc_normalize(written))),
        'œ', 'oe'), 'æ', 'ae'), 'ß', 'ss'), 'ø', 'o'), 'ł', 'l'), 'đ', 'd'),
    '[^\p{L}\p{N}\p{M}]+', ' ', 'g'))
"""


@dataclass(frozen=True)
class Statement:
    """SQL statement with named parameters.

    Args:
        sql: Constant SQL with parameters such as `$query`.
        values: Parameter values by name; values that the SQL does not use are ignored.
    """

    sql: str
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Value]:
        """Values of the parameters that the SQL uses, by parameter name."""
        return {name: self.values[name] for name in _PARAMETER.findall(self.sql)}

    def identifiers(self) -> frozenset[str]:
        """Return all lowercase words in the SQL, including the names of its tables and macros."""
        return frozenset(_NAME.findall(self.sql))

    def inline_parameters(self) -> str:
        """Return the SQL with its parameters replaced by literals."""
        return _PARAMETER.sub(lambda match: sql_literal(self.values[match[1]]), self.sql).strip()

    def to_count_statement(self) -> "Statement":
        """Return a statement that counts the rows returned by this statement."""
        return Statement(f"SELECT count(*) AS n FROM ({self.sql})", self.values)  # noqa: S608 - a constant

    def slice_rows_with_total(self, order: str, limit: int, offset: int) -> "Statement":
        """Return a statement that selects a slice of the ordered rows, with the total row count.

        The column `all_rows` holds the total count in every row. DuckDB materializes all rows,
        which is fast enough up to about 100,000 rows.

        Args:
            order: Constant SQL for ORDER BY.
            limit: Maximum number of rows.
            offset: Number of rows to skip.
        """
        inner = f"WITH found AS MATERIALIZED ({self.sql})\n"
        rows = "SELECT *, (SELECT count(*) FROM found) AS all_rows FROM found"
        return Statement(inner + rows, self.values).slice_rows(order, limit, offset)

    def slice_rows(self, order: str, limit: int, offset: int) -> "Statement":
        """Return a statement that selects a slice of the ordered rows.

        Args:
            order: Constant SQL for ORDER BY.
            limit: Maximum number of rows.
            offset: Number of rows to skip.
        """
        sql = f"{self.sql.rstrip()}\nORDER BY {order}\nLIMIT $limit OFFSET $offset"
        return Statement(sql, {**self.values, "limit": limit, "offset": offset})


def sql_literal(value: Value | None) -> str:
    """Convert a value to an SQL literal; single quotes in text are doubled."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list):
        return "[" + ", ".join(map(sql_literal, value)) + "]"
    if isinstance(value, float) and "e" not in repr(value):
        return f"{value!r}e0"  # without an exponent it would be a decimal
    return str(value)


def rows_to_values_sql(rows: Sequence[Row]) -> str:
    """Return a `SELECT * FROM (VALUES ...)` statement with the rows as literals."""
    if not rows:
        return "SELECT NULL WHERE false"
    names = ", ".join(rows[0])
    lines = ",\n  ".join("(" + ", ".join(map(sql_literal, row.values())) + ")" for row in rows)
    return f"SELECT * FROM (VALUES\n  {lines}\n) AS shown({names})"  # noqa: S608 - to copy
