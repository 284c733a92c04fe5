"""Questions about a collection: constant SQL with bound values, and the same as text to copy.

Values reach the engine as parameters only. The text is for people, who run it elsewhere: its values
are quoted literals.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool | list[str]
Row = dict[str, Any]

_PARAMETER = re.compile(r"\$([a-z_]+)")
_NAME = re.compile(r"[a-z_]+")
FOLD = "folded"
"""Macro that folds a text as `builder.text.keys.fold` does letters with case and accents."""
FOLD_SQL = r"""
CREATE OR REPLACE TEMP MACRO folded(written) AS trim(regexp_replace(
    replace(replace(replace(replace(replace(replace(
        strip_accents(lower(nfc_normalize(written))),
        'œ', 'oe'), 'æ', 'ae'), 'ß', 'ss'), 'ø', 'o'), 'ł', 'l'), 'đ', 'd'),
    '[^\p{L}\p{N}\p{M}]+', ' ', 'g'))
"""


@dataclass(frozen=True)
class Statement:
    """A question.

    Args:
        sql: A constant of this package, with parameters such as `$query`.
        values: A value for each parameter; more are ignored.
    """

    sql: str
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def bound(self) -> dict[str, Value]:
        """The values of its parameters."""
        return {name: self.values[name] for name in _PARAMETER.findall(self.sql)}

    def words(self) -> frozenset[str]:
        """Every name that it may read."""
        return frozenset(_NAME.findall(self.sql))

    def written(self) -> str:
        """The statement with its values as literals, to be copied."""
        return _PARAMETER.sub(lambda found: literal(self.values[found[1]]), self.sql).strip()

    def counted(self) -> "Statement":
        """How many rows it has."""
        return Statement(f"SELECT count(*) AS n FROM ({self.sql})", self.values)  # noqa: S608 - a constant

    def counting(self, order: str, size: int, skip: int) -> "Statement":
        """Like `ordered`, with the number of all rows in each as `all_rows`, in one pass.

        All rows are kept in memory, which suits results of up to about 100,000 rows.
        """
        inner = f"WITH found AS MATERIALIZED ({self.sql})\n"
        rows = "SELECT *, (SELECT count(*) FROM found) AS all_rows FROM found"
        return Statement(inner + rows, self.values).ordered(order, size, skip)

    def ordered(self, order: str, size: int, skip: int) -> "Statement":
        """A slice of its rows in an order, which is a constant of this package."""
        sql = f"{self.sql.rstrip()}\nORDER BY {order}\nLIMIT $size OFFSET $skip"
        return Statement(sql, {**self.values, "size": size, "skip": skip})


def literal(value: Value | None) -> str:
    """A value as SQL; text has its quotes doubled, as the standard has it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, float) and "e" not in repr(value):
        return f"{value!r}e0"  # without an exponent it would be a decimal
    return str(value)


def literal_rows(rows: Sequence[Row]) -> str:
    """Rows as an SQL statement without a table."""
    if not rows:
        return "SELECT NULL WHERE false"
    names = ", ".join(rows[0])
    lines = ",\n  ".join("(" + ", ".join(map(literal, row.values())) + ")" for row in rows)
    return f"SELECT * FROM (VALUES\n  {lines}\n) AS shown({names})"  # noqa: S608 - to copy
