"""Infers the Arrow schema of a JSON Lines log from a sample of its records.

Each field gets its most common type. Lines that do not match the schema are later parsed one by
one, so a wrongly inferred schema costs time but does not change the result.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from builder.ingest.fields import RECORD_FIELDS, get_nested_value
from builder.ingest.line_columns import ColumnSchema
from builder.parameters import LogFields, LogParameters

NUMBER, TEXT = pa.int64(), pa.string()
NAME_TYPES = {str: TEXT, int: NUMBER}
TIME_TYPES = {int: NUMBER, float: pa.float64(), str: TEXT}
CLICK_TIME_TYPES = {int: NUMBER, float: pa.float64()}
FLAG_TYPES = {bool: pa.bool_(), int: NUMBER}

ArrowTypes = dict[type, pa.DataType]


class JsonLogSchema(NamedTuple):
    """Schema of the lines of a JSON Lines log.

    Args:
        columns: Columns of the lines.
        has_result_objects: Whether results are given as objects instead of URLs or ids.
        has_click_objects: Whether clicks are given as objects instead of numbers.
    """

    columns: ColumnSchema
    has_result_objects: bool
    has_click_objects: bool


def infer_schema(records: Sequence[dict[str, Any]], params: LogParameters) -> JsonLogSchema | None:
    """Infer the schema of a log from sample records; None if lines must be parsed one by one."""
    fields = params.fields
    values = {
        name: [get_nested_value(record, getattr(fields, name)) for record in records]
        for name in RECORD_FIELDS
    }
    results, clicks = (_flatten(values[name]) for name in ("results", "clicks"))
    result = _infer_item_type(results, NAME_TYPES, _infer_result_type(results, fields), TEXT)
    click = _infer_item_type(clicks, {int: NUMBER}, _infer_click_type(clicks, fields), NUMBER)
    if params.click_form == "ids" or result is None or click is None:
        return None
    objects = pa.types.is_struct(result), pa.types.is_struct(click)
    if params.click_form == "flags" and any(objects):
        return None
    types = {
        "time": _most_common_type(values["time"], TIME_TYPES, NUMBER),
        "user": _most_common_type(values["user"], NAME_TYPES, TEXT),
        "query": _most_common_type(values["query"], NAME_TYPES, TEXT),
        "results": pa.list_(result),
        "clicks": pa.list_(click),
    }
    schema = _build_nested_schema({getattr(fields, name): kind for name, kind in types.items()})
    if schema is None:
        return None
    known = {*schema.names}
    has_other_fields = any(objects) or any(
        "." in name for name in (getattr(fields, n) for n in RECORD_FIELDS)
    )
    has_other_fields = has_other_fields or any(record.keys() - known for record in records)
    return JsonLogSchema(ColumnSchema(schema, has_other_fields), *objects)


def _flatten(lists: Iterable[Any]) -> list[Any]:
    """Concatenate all values that are lists; ignore values of other types."""
    return [item for items in lists if isinstance(items, list) for item in items]


def _most_common_type(
    values: Iterable[Any], arrow_types: ArrowTypes, default: pa.DataType
) -> pa.DataType:
    """Return the Arrow type for the most common supported Python type of the given values.

    If integers and floats are mixed, return the Arrow type for floats.

    Args:
        values: The values; those of unsupported types are ignored.
        arrow_types: Arrow type of each supported Python type.
        default: Arrow type if no value has a supported type.
    """
    counts = Counter(type(value) for value in values if type(value) in arrow_types)
    if not counts:
        return default
    if {int, float} <= counts.keys():
        return arrow_types[float]
    return arrow_types[counts.most_common(1)[0][0]]


def _infer_item_type(
    items: Sequence[Any],
    arrow_types: ArrowTypes,
    object_type: pa.DataType | None,
    default: pa.DataType,
) -> pa.DataType | None:
    """Return the Arrow type of the items of a list column; `object_type` if most are objects.

    Args:
        items: Items of all lists in the sample.
        arrow_types: Arrow types of items that are not objects, by Python type.
        object_type: Arrow type of objects; None if objects cannot be parsed in bulk.
        default: Arrow type if the sample has no usable item.
    """
    objects = sum(isinstance(item, dict) for item in items)
    return (
        object_type if objects * 2 > len(items) else _most_common_type(items, arrow_types, default)
    )


def _infer_result_type(results: Sequence[Any], fields: LogFields) -> pa.DataType | None:
    """Infer the struct type of results given as objects; None if a field name has a dot."""
    names, objects = fields.result_fields, [item for item in results if isinstance(item, dict)]
    types = {
        names["url"]: _most_common_type(
            (item.get(names["url"]) for item in objects), NAME_TYPES, TEXT
        ),
        names["rank"]: NUMBER,
        names["clicked"]: _most_common_type(
            (item.get(names["clicked"]) for item in objects), FLAG_TYPES, pa.bool_()
        ),
    }
    return _build_flat_struct_type(types)


def _infer_click_type(clicks: Sequence[Any], fields: LogFields) -> pa.DataType | None:
    """Infer the struct type of clicks given as objects.

    Return None if a click has no rank or a field name has a dot.
    """
    names, objects = fields.click_fields, [item for item in clicks if isinstance(item, dict)]
    if any(item.get(names["rank"]) is None for item in objects):
        return None
    time = _most_common_type(
        (item.get(names["time"]) for item in objects), CLICK_TIME_TYPES, NUMBER
    )
    return _build_flat_struct_type({names["rank"]: NUMBER, names["time"]: time})


def _build_flat_struct_type(field_types: dict[str, pa.DataType]) -> pa.DataType | None:
    """Return a struct type with the given fields; None if a field name contains a dot."""
    return None if "." in "".join(field_types) else pa.struct(list(field_types.items()))


def _build_nested_schema(field_types: dict[str, pa.DataType]) -> pa.Schema | None:
    """Return a schema in which dotted names such as `a.b` are nested structs.

    Return None if a name is repeated, or is a dotted prefix of another (`a` and `a.b`).
    """
    if len(field_types) < len(RECORD_FIELDS):
        return None
    tree: dict[str, Any] = {}
    for name, kind in field_types.items():
        *outer, last = name.split(".")
        branch = tree
        for part in outer:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                return None
        if last in branch:
            return None
        branch[last] = kind
    return pa.schema(_build_struct_type(tree))


def _build_struct_type(tree: dict[str, Any]) -> pa.StructType:
    """Convert nested dictionaries, with Arrow types as leaves, to a struct type."""
    return pa.struct(
        [
            pa.field(name, _build_struct_type(kind) if isinstance(kind, dict) else kind)
            for name, kind in tree.items()
        ]
    )
