"""Renames the fields of log records from the names in the log to standard names.

Input: a log record, and the section `[log.fields]`. Output: a record with `time`, `user`, `query`,
`results` and `clicks`. The objects in the lists `results` and `clicks` have `url`, `rank`,
`clicked` and `time`. A dotted name such as `request.user.id` is a path into nested objects.
"""

from collections.abc import Mapping
from typing import Any

from builder.parameters import LogFields

RECORD_FIELDS = ("time", "user", "query", "results", "clicks")
DEFAULT_FIELDS = LogFields()


def rename_fields(record: dict[str, Any], fields: LogFields) -> dict[str, Any]:
    """Rename the fields of a log record to standard names; drop missing and null fields.

    If all fields have their default names, return the record unchanged.
    """
    if fields is DEFAULT_FIELDS or fields == DEFAULT_FIELDS:
        return record
    renamed = {name: get_nested_value(record, getattr(fields, name)) for name in RECORD_FIELDS}
    renamed["results"] = _rename_item_fields(renamed["results"], fields.result_fields)
    renamed["clicks"] = _rename_item_fields(renamed["clicks"], fields.click_fields)
    return {name: value for name, value in renamed.items() if value is not None}


def are_default_names(log_names: Mapping[str, str]) -> bool:
    """Whether all fields of a log have their default names.

    Args:
        log_names: Name of each field in the log, by standard name.
    """
    return all(own == name for own, name in log_names.items())


def _rename_item_fields(items: Any, log_names: Mapping[str, str]) -> Any:
    """Rename the fields of all objects in a list; leave other items unchanged.

    Args:
        items: The list; a value of another type is returned unchanged.
        log_names: Name of each field in the log, by standard name.
    """
    if not isinstance(items, list) or are_default_names(log_names):
        return items
    return [
        {
            own: value
            for own, name in log_names.items()
            if (value := get_nested_value(item, name)) is not None
        }
        if isinstance(item, dict)
        else item
        for item in items
    ]


def parse_id(value: object) -> str | None:
    """Convert a string or integer id to a string; None for values of other types."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def get_nested_value(record: dict[str, Any], name: str) -> Any:
    """Return the value of the field with this name or dotted path; None if the field is missing."""
    if record.get(name) is not None:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
