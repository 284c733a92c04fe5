"""The names that fields have in a log -> our own names.

In: a record of a log, and `[log.fields]`. Out: a record with `time`, `user`, `query`, `results` and
`clicks`. A name with dots leads into nested objects: `request.user.id`.
"""

from typing import Any

from builder.parameters import LogFields

OWN = ("time", "user", "query", "results", "clicks")
DEFAULT = LogFields()


def rename(record: dict[str, Any], fields: LogFields) -> dict[str, Any]:
    """A record under our own names; what is absent stays absent."""
    if fields == DEFAULT:
        return record
    found = {name: pick(record, getattr(fields, name)) for name in OWN}
    return {name: value for name, value in found.items() if value is not _ABSENT}


_ABSENT = object()


def pick(record: dict[str, Any], name: str) -> Any:
    """The value under a name, or under its parts one inside the other."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return _ABSENT
        value = value[part]
    return value
