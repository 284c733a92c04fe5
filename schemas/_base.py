"""Base class of table schemas, and columns that several tables share."""

import re
from typing import ClassVar

import dataframely as dy
import polars as pl

SNAPSHOT_PATTERN = r"^\d{4}-(0[1-9]|1[0-2])(-\d{2})?$"
DOC_ID_PATTERN = r"^d[0-9a-f]{16}$"
QUERY_ID_PATTERN = r"^q[0-9a-f]{16}$"
RELEASE_ID_PATTERN = r"^\S{1,200}$"
"""Pattern of document and query ids in an imported release."""
VARIANT_SET_PATTERN = r"^v[0-9a-f]{16}$"


class TableSchema(dy.Schema):
    """Base class of table schemas: columns, primary key, sort order and validation rules.

    Rows are written sorted by `order` if set, otherwise by the primary key, so that equal rows
    produce identical files.
    """

    order: ClassVar[tuple[str, ...]] = ()
    """Sort columns; if empty, rows are sorted by the primary key."""

    revision: ClassVar[str] = "1"
    """Version of the schema, incremented when the meaning of a column changes."""

    @classmethod
    def table_name(cls) -> str:
        """Return the name of the table, e.g. `click_estimates` for the class `ClickEstimates`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def sort_columns(cls) -> tuple[str, ...]:
        """Return the columns by which the rows of the table are sorted."""
        return cls.order or tuple(cls.primary_key())

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Return the Polars data type of every column, in column order."""
        return {name: column.dtype for name, column in cls.columns().items()}

    @classmethod
    def signature(cls) -> str:
        """Return the class name, revision and columns (name, type, nullability) as one line."""
        columns = ",".join(
            f"{name}:{column.dtype}{'?' if column.nullable else ''}"
            for name, column in cls.columns().items()
        )
        return f"{cls.__name__}/{cls.revision}({columns})"


def snapshot_column(*, primary_key: bool = False, description: str = "Snapshot name") -> dy.String:
    """Define a column of snapshot names, such as `2022-06`."""
    return dy.String(primary_key=primary_key, regex=SNAPSHOT_PATTERN, description=description)


def doc_id_column(*, primary_key: bool = False) -> dy.String:
    """Define a column of document ids.

    An id consists of `d` and the first 16 hex digits of the MD5 hash of the canonical URL.
    """
    return dy.String(
        primary_key=primary_key,
        regex=DOC_ID_PATTERN,
        description="Document id, the same in all snapshots: d + first 16 hex digits of "
        "md5(canonical URL)",
    )


def query_id_column(*, primary_key: bool = False) -> dy.String:
    """Define a column of query ids.

    An id consists of `q` and the first 16 hex digits of the MD5 hash of the folded text. Folded
    text is lowercased, and has no accents or punctuation.
    """
    return dy.String(
        primary_key=primary_key,
        regex=QUERY_ID_PATTERN,
        description="Query id, the same in all snapshots: q + first 16 hex digits of "
        "md5(folded text)",
    )


def variant_set_column() -> dy.String:
    """Define a column of query-variant-set ids.

    An id consists of `v` and the first 16 hex digits of an MD5 hash. The hash is computed from the
    name of the set if the set was read from a file, and otherwise from the signature of the queries
    (the sorted stems of their content words).
    """
    return dy.String(
        nullable=True,
        regex=VARIANT_SET_PATTERN,
        description="Id of the variant set of the query; null if variants are disabled",
    )


def count_column(description: str, *, nullable: bool = False, minimum: int = 0) -> dy.UInt32:
    """Define a UInt32 column of counts."""
    return dy.UInt32(nullable=nullable, min=minimum, description=description)


def probability_column(description: str, *, nullable: bool = True) -> dy.Float64:
    """Define a Float64 column of probabilities in [0, 1]."""
    return dy.Float64(nullable=nullable, min=0.0, max=1.0, description=description)


def pseudo_count_column(description: str) -> dy.Float64:
    """Define a nullable Float64 column of pseudo-counts of a Beta prior."""
    return dy.Float64(nullable=True, min=0.0, description=description)


def language_hint_column() -> dy.String:
    """Define a nullable column with the language that a page declares."""
    return dy.String(nullable=True, description="Language declared by the page")


def published_at_column() -> dy.Int64:
    """Define a nullable column of publication times in Unix seconds."""
    return dy.Int64(
        nullable=True, description="Time of publication in Unix seconds, declared by the page"
    )


def modified_at_column() -> dy.Int64:
    """Define a nullable column of modification times in Unix seconds."""
    return dy.Int64(
        nullable=True,
        description="Time of modification in Unix seconds, declared by the page or the server",
    )
