"""Descriptions of table schemas, as printed by `longeval schema` and in the manual."""

import re
from typing import Any

import dataframely as dy

from schemas._base import TableSchema

_BOUNDS = {"min": ">= {}", "max": "<= {}", "min_length": "length >= {}"}
_ALTERNATIVES = re.compile(r"\^\(([\w|]+)\)\$")


def describe_schema(schema: type[TableSchema]) -> dict[str, Any]:
    """Return a JSON-serializable description of a table schema.

    Returns:
        `{"description", "columns": [{"name", "type", "nullable", "key", "rules", "description"}],
        "rules": [{"name", "description"}], "order": [...]}`, where `order` lists the sort columns.
    """
    key = set(schema.primary_key())
    return {
        "description": " ".join((schema.__doc__ or "").split()),
        "columns": [
            {
                "name": name,
                "type": str(column.dtype),
                "nullable": column.nullable,
                "key": name in key,
                "rules": _column_constraints(column, name in key),
                "description": column.description or "",
            }
            for name, column in schema.columns().items()
        ],
        "rules": [
            {"name": name, "description": " ".join((rule.validation_fn.__doc__ or "").split())}
            for name, rule in vars(schema).items()
            if hasattr(rule, "validation_fn")
        ],
        "order": list(schema.sort_columns()),
    }


def _column_constraints(column: dy.Column, is_key: bool) -> str:
    """Return the constraints of a column, such as `key, >= 1`."""
    parts = ["key"] if is_key else []
    for name, text in _BOUNDS.items():
        bound = getattr(column, name, None)
        if bound is not None:
            parts.append(text.format(bound))
    pattern = getattr(column, "regex", None)
    if pattern is not None:
        values = _ALTERNATIVES.fullmatch(pattern)
        parts.append(f"one of {values[1].replace('|', ', ')}" if values else f"matches {pattern}")
    return ", ".join(parts)
