"""Columns of Parquet that names lead to: `user`, or `request.user`, which lies within a struct.

In: the schema of a file and names of a definition. Out: columns under those very names, so that
what reads rows and columns need not know how deep they lay.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc


def leads_to(schema: pa.Schema, name: str) -> bool:
    """Whether a name is that of a column, or leads into columns of structs."""
    return name in schema.names or _is_inside(schema, name)


def named(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Those of some names that lead to a column, each once."""
    return [name for name in dict.fromkeys(names) if leads_to(schema, name)]


def _is_inside(schema: pa.Schema, name: str) -> bool:
    root, *parts = name.split(".")
    if not parts or root not in schema.names:
        return False
    kind = schema.field(root).type
    for part in parts:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return False
        kind = kind.field(part).type
    return True


def selected(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """The columns that names lead to, under those names; where there are both, that of the name."""
    found = {name: column_of(batch, name) for name in named(batch.schema, names)}
    return pa.record_batch(found) if found else batch.select([])


def column_of(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The column that a name leads to.

    Raises:
        KeyError: there is none.
    """
    if name in batch.schema.names:
        return batch[name]
    if not _is_inside(batch.schema, name):
        raise KeyError(name)
    root, *parts = name.split(".")
    return inner(batch[root], parts)


def inner(structs: pa.Array, parts: Sequence[str]) -> pa.Array:
    """The fields to which names lead, one within the other; the structs themselves without any."""
    return reduce(pc.struct_field, parts, structs)
