"""The names that fields have in a log -> our own names.

In: a record of a log, and `[log.fields]`. Out: a record with `time`, `user`, `query`, `results` and
`clicks`. A name with dots leads into nested objects: `request.user.id`.
"""

from typing import Any

from builder.parameters import LogFields

OWN = ("time", "user", "query", "results", "clicks")
DEFAULT = LogFields()


def rename(record: dict[str, Any], fields: LogFields) -> dict[str, Any]:
    """A record under our own names; what is absent or null is left out."""
    if fields is DEFAULT or fields == DEFAULT:
        return record
    found = {name: pick(record, getattr(fields, name)) for name in OWN}
    return {name: value for name, value in found.items() if value is not None}


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
