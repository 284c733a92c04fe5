"""The Arrow schema under which most lines of a JSON log can be parsed together.

In: the first records of a chunk, and `[log]`. Out: a schema by majority. Lines of other types are
parsed one by one, so that a wrong guess costs time and nothing else.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from builder.ingest.fields import OWN, pick
from builder.ingest.line_columns import Layout
from builder.parameters import LogFields, LogParameters

NUMBER, TEXT = pa.int64(), pa.string()
NAMES = {str: TEXT, int: NUMBER}
TIMES = {int: NUMBER, float: pa.float64(), str: TEXT}
CLICK_TIMES = {int: NUMBER, float: pa.float64()}
FLAGS = {bool: pa.bool_(), int: NUMBER}

Types = dict[type, pa.DataType]


class LogLayout(NamedTuple):
    """How the lines of a log are parsed.

    Args:
        columns: Schema of the lines.
        has_result_objects: Whether results are objects instead of URLs or ids.
        has_click_objects: Whether clicks are objects instead of numbers.
    """

    columns: Layout
    has_result_objects: bool
    has_click_objects: bool


def layout_of(records: Sequence[dict[str, Any]], params: LogParameters) -> LogLayout | None:
    """The layout of most records; None if it cannot be read as columns."""
    fields = params.fields
    values = {name: [pick(record, getattr(fields, name)) for record in records] for name in OWN}
    results, clicks = (_items(values[name]) for name in ("results", "clicks"))
    result = _item_type(results, NAMES, _result_type(results, fields), TEXT)
    click = _item_type(clicks, {int: NUMBER}, _click_type(clicks, fields), NUMBER)
    if params.click_form == "ids" or result is None or click is None:
        return None
    objects = pa.types.is_struct(result), pa.types.is_struct(click)
    if params.click_form == "flags" and any(objects):
        return None
    types = {
        "time": _common(values["time"], TIMES, NUMBER),
        "user": _common(values["user"], NAMES, TEXT),
        "query": _common(values["query"], NAMES, TEXT),
        "results": pa.list_(result),
        "clicks": pa.list_(click),
    }
    schema = _schema({getattr(fields, name): kind for name, kind in types.items()})
    if schema is None:
        return None
    known = {*schema.names}
    has_others = any(objects) or any("." in name for name in (getattr(fields, n) for n in OWN))
    has_others = has_others or any(record.keys() - known for record in records)
    return LogLayout(Layout(schema, has_others), *objects)


def _items(lists: Iterable[Any]) -> list[Any]:
    return [item for items in lists if isinstance(items, list) for item in items]


def _common(values: Iterable[Any], known: Types, default: pa.DataType) -> pa.DataType:
    """The column type of most values."""
    counts = Counter(type(value) for value in values if type(value) in known)
    if not counts:
        return default
    if {int, float} <= counts.keys():
        return known[float]
    return known[counts.most_common(1)[0][0]]


def _item_type(
    items: Sequence[Any], known: Types, of_objects: pa.DataType | None, default: pa.DataType
) -> pa.DataType | None:
    """The type of most items of a column of lists: a scalar, or an object; None: no such type."""
    objects = sum(isinstance(item, dict) for item in items)
    return of_objects if objects * 2 > len(items) else _common(items, known, default)


def _result_type(results: Sequence[Any], fields: LogFields) -> pa.DataType | None:
    names, objects = fields.of_results, [item for item in results if isinstance(item, dict)]
    types = {
        names["url"]: _common((item.get(names["url"]) for item in objects), NAMES, TEXT),
        names["rank"]: NUMBER,
        names["clicked"]: _common(
            (item.get(names["clicked"]) for item in objects), FLAGS, pa.bool_()
        ),
    }
    return _flat_struct(types)


def _click_type(clicks: Sequence[Any], fields: LogFields) -> pa.DataType | None:
    names, objects = fields.of_clicks, [item for item in clicks if isinstance(item, dict)]
    if any(item.get(names["rank"]) is None for item in objects):
        return None
    time = _common((item.get(names["time"]) for item in objects), CLICK_TIMES, NUMBER)
    return _flat_struct({names["rank"]: NUMBER, names["time"]: time})


def _flat_struct(types: dict[str, pa.DataType]) -> pa.DataType | None:
    return None if "." in "".join(types) else pa.struct(list(types.items()))


def _schema(types: dict[str, pa.DataType]) -> pa.Schema | None:
    """Schema of nested structs for dotted column names; None if a name is ambiguous."""
    if len(types) < len(OWN):
        return None
    tree: dict[str, Any] = {}
    for name, kind in types.items():
        *outer, last = name.split(".")
        branch = tree
        for part in outer:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                return None
        if last in branch:
            return None
        branch[last] = kind
    return pa.schema(_struct(tree))


def _struct(tree: dict[str, Any]) -> pa.StructType:
    return pa.struct(
        [
            pa.field(name, _struct(kind) if isinstance(kind, dict) else kind)
            for name, kind in tree.items()
        ]
    )
