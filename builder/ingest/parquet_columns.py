"""Columns of a Parquet log under our own names, in the types of `columns.examine`."""

import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.click_columns import ranks_of, ranks_of_flags, under_own_names
from builder.ingest.fields import OWN
from builder.ingest.lists import Rows, compacted, is_text, lengths, lists_of
from builder.ingest.nested import column_of, leads_to
from builder.ingest.parquet_bounds import is_list
from builder.parameters import LogParameters


def own_columns(batch: pa.RecordBatch, params: LogParameters) -> pa.RecordBatch | None:
    """The columns under our own names in the types of `examine`; None where one has another."""
    try:
        batch.validate(full=True)
        found = [_column(batch, getattr(params.fields, name)) for name in OWN]
        time, user, query, results, clicks = found
        columns = [_times(time), _texts(user), _texts(query)]
        columns += [_urls(results), _ranks(clicks, lengths(results), params)]
    except (pa.ArrowException, TypeError, KeyError):
        return None
    return pa.record_batch(columns, names=OWN)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The column that a name leads to; nulls without one.

    Raises:
        KeyError: there may be two.
    """
    names = batch.schema.names
    if name in names and _is_below(name, names):
        raise KeyError(name)
    return column_of(batch, name) if leads_to(batch.schema, name) else pa.nulls(batch.num_rows)


def _is_below(name: str, names: list[str]) -> bool:
    root, dot, _ = name.partition(".")
    return bool(dot) and root in names


def _times(times: pa.Array) -> pa.Array:
    """Times as a number, a moment or a text.

    Raises:
        TypeError: they are something else.
    """
    if pa.types.is_dictionary(times.type):
        times = times.dictionary_decode()
    kind = times.type
    if pa.types.is_integer(kind):
        return times.cast(pa.int64())
    if pa.types.is_floating(kind) or pa.types.is_timestamp(kind):
        return times
    return _texts(times, numbers=False)


def _texts(values: pa.Array, *, numbers: bool = True) -> pa.Array:
    """Values as texts.

    Raises:
        TypeError: they are no texts, and no integers where those may be.
    """
    if pa.types.is_dictionary(values.type):
        if is_text(values.type.value_type):
            known = values.dictionary.cast(pa.string())
            return compacted(pa.DictionaryArray.from_arrays(values.indices, known))
        values = values.dictionary_decode()
    kind = values.type
    if not (is_text(kind) or pa.types.is_null(kind) or (numbers and pa.types.is_integer(kind))):
        raise TypeError(kind)
    return values.cast(pa.string())


def _urls(results: pa.Array) -> pa.Array:
    """Results as lists of texts.

    Raises:
        TypeError: they are no such lists.
    """
    _item(results.type)
    return lists_of(lengths(results), _texts(pc.list_flatten(results)))


def _item(kind: pa.DataType) -> pa.DataType:
    """The type of the items of a list.

    Raises:
        TypeError: it is no list.
    """
    if is_list(kind):
        return kind.value_type
    raise TypeError(kind)


def _ranks(clicks: pa.Array, shown: Rows, params: LogParameters) -> pa.Array:
    """Clicks as lists of ranks; 0, which no result has, where one must be looked at.

    Raises:
        TypeError: they are no ranks.
    """
    if pa.types.is_null(clicks.type):
        return pa.nulls(len(clicks), pa.list_(pa.int64()))
    item = _item(clicks.type)
    if params.click_form == "ids":
        raise TypeError(item)
    if params.click_form == "flags":
        return ranks_of_flags(clicks, shown)
    clicks = under_own_names(clicks, params.fields.of_clicks)
    kind = clicks.type.value_type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return clicks.cast(pa.list_(pa.int64()))
    if not (pa.types.is_struct(kind) and pa.types.is_integer(kind.field("rank").type)):
        raise TypeError(kind)
    timed = kind.get_field_index("time") >= 0
    times = _times(pc.struct_field(pc.list_flatten(clicks), "time")) if timed else None
    return ranks_of(clicks, times, params)
