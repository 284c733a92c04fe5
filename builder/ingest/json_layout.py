"""Which columns the fields of JSON lines are, and how they come under our own names.

In: the first lines of a chunk, and `[log.fields]`. Out: a schema in which they can be parsed
together; and from columns so parsed the columns that `columns.examine` looks at.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.click_columns import ranks_of, ranks_of_flags, under_own_names
from builder.ingest.fields import OWN, pick
from builder.ingest.line_columns import Layout
from builder.ingest.lines import Chunk
from builder.ingest.lists import Mask, lengths, lists_of, parents
from builder.ingest.nested import inner
from builder.parameters import LogFields, LogParameters

INSIDE = {"results": "url", "clicks": "click_time"}
"""The lists, and the field of their objects whose type differs between logs."""
NAMES = {str: pa.string(), int: pa.int64()}
RESULT = {"rank": pa.int64(), "clicked": pa.bool_()}
"""What a result that is an object has beside its URL; where `clicked` is a number, lines are read
one by one."""
TIMES = {int: pa.int64(), float: pa.float64(), str: pa.string()}
LOOKED_AT = 64
"""Lines of a chunk that show its types."""


def layout_of(chunk: Chunk, params: LogParameters) -> Layout | None:
    """The columns that the first lines show; None where they are not those of columns."""
    fields = params.fields
    seen: dict[str, set[type]] = {name: set() for name in (*OWN, *INSIDE.values())}
    others: set[str] = set()
    for record in first_records(chunk):
        others |= record.keys() - {getattr(fields, name).partition(".")[0] for name in OWN}
        for name in OWN:
            value = pick(record, getattr(fields, name))
            items = value if name in INSIDE and isinstance(value, list) else [value]
            seen[name] |= {type(item) for item in items if item is not None}
            if name in INSIDE:
                inside = INSIDE[name]
                seen[inside] |= _types_in(items, getattr(fields, inside))
    time, moment = (common_type(seen[name], TIMES) for name in ("time", "click_time"))
    user, query, url = (common_type(seen[name], NAMES) for name in ("user", "query", "url"))
    of_click = {"rank": pa.int64(), "time": moment or pa.null()}
    objects = pa.struct({fields.of_clicks[own]: kind for own, kind in of_click.items()})
    click = common_type(seen["clicks"], _clicks(params, objects))
    of_result = {**RESULT, "url": url or pa.null()}
    shown = pa.struct({fields.of_results[own]: kind for own, kind in of_result.items()})
    result = common_type(seen["results"], {**NAMES, dict: shown})
    if None in (time, moment, user, query, url, click, result):
        return None
    types = (time, user, query, pa.list_(result), pa.list_(click))
    schema = nested_schema(dict(zip(OWN, types, strict=True)), fields)
    has_others = (
        bool(others)
        or click == objects
        or result not in NAMES.values()
        or schema is None
        or "." in "".join(schema.names)
    )
    return None if schema is None else Layout(schema, has_others)


def _clicks(params: LogParameters, objects: pa.StructType) -> dict[type, pa.DataType]:
    """The types of clicks that are looked at in columns."""
    if params.click_form == "flags":
        return {int: pa.int64(), bool: pa.bool_()}
    return {int: pa.int64(), dict: objects} if params.click_form == "ranks" else {}


def _types_in(items: list[Any], name: str) -> set[type]:
    """The types that a field has in those items that are objects."""
    values = [pick(item, name) for item in items if isinstance(item, dict)]
    return {type(value) for value in values if value is not None}


def first_records(chunk: Chunk) -> Iterator[dict[str, Any]]:
    """The first lines of a chunk that are objects."""
    first = bytes((chunk.data or b"")[: LOOKED_AT * 2048])
    for line in first.split(b"\n")[:LOOKED_AT]:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def common_type(seen: set[type], known: dict[type, pa.DataType]) -> pa.DataType | None:
    """The type of a column of such values; the first known one where there are none."""
    if not seen:
        return next(iter(known.values()), None)
    if seen == {int, float}:
        seen = {float}
    return known.get(next(iter(seen))) if len(seen) == 1 else None


def nested_schema(types: dict[str, pa.DataType], fields: LogFields) -> pa.Schema | None:
    """Columns under the names that the log has; None where one would be two things at once."""
    tree: dict[str, Any] = {}
    for name, kind in types.items():
        path = getattr(fields, name)
        for parts in {(path,), tuple(path.split("."))}:
            branch = tree
            for part in parts[:-1]:
                branch = branch.setdefault(part, {})
                if not isinstance(branch, dict):
                    return None
            if parts[-1] in branch:
                return None
            branch[parts[-1]] = kind
    return pa.schema(_struct(tree))


def _struct(tree: dict[str, Any]) -> pa.StructType:
    return pa.struct(
        [pa.field(n, _struct(k) if isinstance(k, dict) else k) for n, k in tree.items()]
    )


def own_columns(batch: pa.RecordBatch, params: LogParameters) -> pa.RecordBatch | None:
    """The columns under our own names; None where a name leads to two columns with values."""
    columns = []
    for name in OWN:
        path = getattr(params.fields, name)
        root, *parts = path.split(".")
        direct, nested = batch[path], inner(batch[root], parts)
        is_direct = direct.null_count < len(direct)
        if "." in path and is_direct and nested.null_count < len(nested):
            return None
        columns.append(direct if is_direct else nested)
    time, user, query, results, clicks = columns
    told = clicks.is_valid().to_numpy(zero_copy_only=False)
    results = under_own_names(results, params.fields.of_results)
    clicks = under_own_names(clicks, params.fields.of_clicks)
    if params.click_form == "flags":
        clicks = ranks_of_flags(clicks, lengths(results))
    elif pa.types.is_struct(clicks.type.value_type):
        clicks = ranks_of(clicks, pc.struct_field(pc.list_flatten(clicks), "time"), params)
    if pa.types.is_struct(results.type.value_type):
        results, clicks = _of_objects(results, clicks, told)
    if pa.types.is_integer(results.type.value_type):
        results = lists_of(lengths(results), pc.list_flatten(results).cast(pa.string()))
    user, query = user.cast(pa.string()), query.cast(pa.string())
    return pa.record_batch([time, user, query, results, clicks], names=OWN)


def _of_objects(results: pa.Array, clicks: pa.Array, told: Mask) -> tuple[pa.Array, pa.Array]:
    """Addresses of results that are objects, and clicks, which they tell where no others are told.

    An address is null, so that its row is looked at, unless the ranks are 1, 2, 3 and so on or none
    has one.
    """
    sizes, items = lengths(results), pc.list_flatten(results)
    rows = parents(results)
    places = np.arange(len(items)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    ranks = pc.struct_field(items, "rank")
    ranked = ranks.is_valid().to_numpy(zero_copy_only=False)
    have = np.bincount(rows[ranked], minlength=len(results))
    odd = (have[rows] != 0) & (ranks.fill_null(0).to_numpy() != places)
    urls = pc.if_else(pa.array(~odd), pc.struct_field(items, "url"), None)
    clicked = pc.struct_field(items, "clicked").fill_null(False).to_numpy(zero_copy_only=False)
    if told.all() or not clicked.any():
        return lists_of(sizes, urls), clicks
    own = clicked & ~told[rows]
    given = pc.list_flatten(clicks).fill_null(0).to_numpy()
    counts = np.where(told, lengths(clicks), np.bincount(rows[own], minlength=len(results)))
    is_given = np.repeat(told, counts)
    found = np.empty(len(is_given), dtype=np.int64)
    found[is_given], found[~is_given] = given, places[own]
    return lists_of(sizes, urls), lists_of(counts, pa.array(found))
