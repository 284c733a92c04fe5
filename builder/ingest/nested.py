"""Resolves dotted names such as `request.user` to fields of Parquet struct columns.

Input: a schema or record batch, and field names from the definition. Output: columns with exactly
these names.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc


def has_column(schema: pa.Schema, name: str) -> bool:
    """Whether a name is a column name, or a dotted path to a field of a struct column."""
    return name in schema.names or _has_struct_field(schema, name)


def existing_column_names(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Return the names that a schema has as a column or struct field, without duplicates."""
    return [name for name in dict.fromkeys(names) if has_column(schema, name)]


def _has_struct_field(schema: pa.Schema, name: str) -> bool:
    """Whether a dotted name is a path to a field of a struct column."""
    root, *parts = name.split(".")
    if not parts or root not in schema.names:
        return False
    kind = schema.field(root).type
    for part in parts:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return False
        kind = kind.field(part).type
    return True


def select_columns(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Select columns and struct fields of a batch by name; ignore names that do not exist."""
    columns = {name: get_column(batch, name) for name in existing_column_names(batch.schema, names)}
    return pa.record_batch(columns) if columns else batch.select([])


def get_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the column with the given name, or the struct field with this dotted name.

    Raises:
        KeyError: there is no such column or field.
    """
    if name in batch.schema.names:
        return batch[name]
    if not _has_struct_field(batch.schema, name):
        raise KeyError(name)
    root, *parts = name.split(".")
    return pc.struct_field(batch[root], parts)
