"""What every table contract has: columns with a description, a primary key and a total order."""

import re
from typing import ClassVar

import dataframely as dy
import polars as pl

SNAPSHOT_PATTERN = r"^\d{4}-(0[1-9]|1[0-2])(-\d{2})?$"
DOC_ID_PATTERN = r"^d[0-9a-f]{16}$"
QUERY_ID_PATTERN = r"^q[0-9a-f]{16}$"
RELEASE_ID_PATTERN = r"^\S{1,200}$"
"""An id of an imported release."""
VARIANT_SET_PATTERN = r"^v[0-9a-f]{16}$"


class Contract(dy.Schema):
    """The contract of one table.

    Rows are written in the order of the primary key, or of `order` where a table has none, so
    that the same rows are always the same bytes.
    """

    order: ClassVar[tuple[str, ...]] = ()
    """Sort columns of a table without a primary key."""

    revision: ClassVar[str] = "1"
    """Raised when the meaning of a column changes; a part of every fingerprint."""

    @classmethod
    def table_name(cls) -> str:
        """Name under which the table is stored and printed: `ClickEstimates`: `click_estimates`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def sort_key(cls) -> tuple[str, ...]:
        """Columns of the total order in which rows are written."""
        return cls.order or tuple(cls.primary_key())

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Polars type of each column, in order."""
        return {name: column.dtype for name, column in cls.columns().items()}

    @classmethod
    def signature(cls) -> str:
        """One line that changes when the contract does: version, columns, types, nullability."""
        columns = ",".join(
            f"{name}:{column.dtype}{'?' if column.nullable else ''}"
            for name, column in cls.columns().items()
        )
        return f"{cls.__name__}/{cls.revision}({columns})"


def snapshot(*, primary_key: bool = False, description: str = "Snapshot name") -> dy.String:
    """A snapshot name such as `2022-06`."""
    return dy.String(primary_key=primary_key, regex=SNAPSHOT_PATTERN, description=description)


def doc_id(*, primary_key: bool = False) -> dy.String:
    """A document id, stable over snapshots: `d` + 16 hex digits of md5(URL key)."""
    return dy.String(
        primary_key=primary_key,
        regex=DOC_ID_PATTERN,
        description="Stable document id: d + first 16 hex digits of md5(URL key)",
    )


def query_id(*, primary_key: bool = False) -> dy.String:
    """A query id, stable over snapshots: `q` + 16 hex digits of md5(folded text)."""
    return dy.String(
        primary_key=primary_key,
        regex=QUERY_ID_PATTERN,
        description="Stable query id: q + first 16 hex digits of md5(folded text)",
    )


def variant_set() -> dy.String:
    """The id of a set of query variants: `v` + 16 hex digits of md5(signature or given name)."""
    return dy.String(
        nullable=True,
        regex=VARIANT_SET_PATTERN,
        description="Id of its variant set; null while variants are off",
    )


def count(description: str, *, nullable: bool = False, minimum: int = 0) -> dy.UInt32:
    """An integer count."""
    return dy.UInt32(nullable=nullable, min=minimum, description=description)


def probability(description: str, *, nullable: bool = True) -> dy.Float64:
    """A probability in [0, 1]."""
    return dy.Float64(nullable=nullable, min=0.0, max=1.0, description=description)


def pseudo_count(description: str) -> dy.Float64:
    """A parameter of a Beta prior."""
    return dy.Float64(nullable=True, min=0.0, description=description)
