"""The names that fields have in a log -> our own names.

In: a record of a log, and `[log.fields]`. Out: a record with `time`, `user`, `query`, `results` and
`clicks`, and within those `url`, `rank`, `clicked` and `time`. A name with dots leads into nested
objects: `request.user.id`.
"""

from collections.abc import Mapping
from typing import Any

from builder.parameters import LogFields

OWN = ("time", "user", "query", "results", "clicks")
DEFAULT = LogFields()


def rename(record: dict[str, Any], fields: LogFields) -> dict[str, Any]:
    """A record under our own names; what is absent or null is left out."""
    if fields is DEFAULT or fields == DEFAULT:
        return record
    found = {name: pick(record, getattr(fields, name)) for name in OWN}
    found["results"] = _inside(found["results"], fields.of_results)
    found["clicks"] = _inside(found["clicks"], fields.of_clicks)
    return {name: value for name, value in found.items() if value is not None}


def are_own(names: Mapping[str, str]) -> bool:
    """Whether what is in an object has our names in the log, too."""
    return all(own == name for own, name in names.items())


def _inside(items: Any, names: Mapping[str, str]) -> Any:
    """A list with its objects under our own names; anything else as it is."""
    if not isinstance(items, list) or are_own(names):
        return items
    return [
        {own: value for own, name in names.items() if (value := pick(item, name)) is not None}
        if isinstance(item, dict)
        else item
        for item in items
    ]


def name_of(value: object) -> str | None:
    """What names a document or a query: a text, or an id that is a number; None where neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def pick(record: dict[str, Any], name: str) -> Any:
    """The value under a name, or else under its parts one inside the other; None without one."""
    if record.get(name) is not None:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
