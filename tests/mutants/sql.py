"""Mutation of SQL in string literals: one comparison, connective, join or function at a time.

Most rules of the stages are SQL in a named constant, which operators on Python leave alone. An
operator here is one of cosmic-ray's; a literal is SQL where it has an upper-case keyword.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from cosmic_ray.operators.operator import Example, Operator

KEYWORDS = re.compile(r"\b(SELECT|FROM|WHERE|CASE|WHEN|JOIN|GROUP BY|ORDER BY|QUALIFY)\b")
CHANGES = {
    " <= ": " < ",
    " < ": " <= ",
    " >= ": " > ",
    " > ": " >= ",
    " = ": " <> ",
    " <> ": " = ",
    " + ": " - ",
    " - ": " + ",
    " * ": " + ",
    " / ": " * ",
    " AND ": " OR ",
    " OR ": " AND ",
    " IS NULL": " IS NOT NULL",
    " IS NOT NULL": " IS NULL",
    "DISTINCT ": "",
    "UNION ALL": "UNION",
    "LEFT JOIN": "JOIN",
    "ANTI JOIN": "SEMI JOIN",
    "SEMI JOIN": "ANTI JOIN",
    " DESC": "",
    "min(": "max(",
    "max(": "min(",
    "sum(": "max(",
    "count(DISTINCT ": "count(",
    "row_number()": "rank()",
    "NOT ": "",
}
"""What stands for each construct in a mutant."""
CONSTRUCT = re.compile("|".join(re.escape(text) for text in sorted(CHANGES, key=len, reverse=True)))


class SqlReplacer(Operator):  # type: ignore[misc] - the class has no types
    """Replace one construct of an SQL literal, also of an f-string."""

    kinds: ClassVar = {"string", "fstring_string"}

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Start and end, as line and column, of each construct that can be replaced."""
        for found in self._constructs(node):
            yield _position(node, found.start()), _position(node, found.end())

    def mutate(self, node: Any, index: int) -> Any:
        """A copy of the literal whose construct of this index is replaced."""
        found = list(self._constructs(node))[index]
        mutant = copy.copy(node)
        new = CHANGES[found.group()]
        mutant.value = node.value[: found.start()] + new + node.value[found.end() :]
        return mutant

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Literals and their mutants."""
        return (
            Example("x = 'SELECT a FROM t WHERE a < 1'", "x = 'SELECT a FROM t WHERE a <= 1'"),
            Example('x = f"SELECT min({a}) FROM t"', 'x = f"SELECT max({a}) FROM t"'),
        )

    def _constructs(self, node: Any) -> Iterator[re.Match[str]]:
        is_statement = node.parent is not None and node.parent.type == "simple_stmt"
        if node.type in self.kinds and not is_statement and KEYWORDS.search(node.value):
            yield from CONSTRUCT.finditer(node.value)


def _position(node: Any, offset: int) -> tuple[int, int]:
    """Line and column of a character of a literal."""
    before = node.value[:offset].split("\n")
    line, column = node.start_pos
    return line + len(before) - 1, len(before[-1]) + (column if len(before) == 1 else 0)
