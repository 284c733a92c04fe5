"""Schemas of imported releases: tables with the ids of the release, and counts of defects."""

from typing import ClassVar

import dataframely as dy
import polars as pl

from schemas._base import QUERY_ID_PATTERN, RELEASE_ID_PATTERN, TableSchema
from schemas.collection import Documents, Qrels, Queries


class ReleasedDocuments(Documents):
    """Documents of an imported snapshot, with the ids used in the release."""

    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in the release"
    )

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Return the Polars data types in the column order of `Documents`."""
        return Documents.dtypes()


class ReleasedQueries(Queries):
    """Queries of an imported snapshot, with the ids used in the release."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in the release"
    )

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Return the Polars data types in the column order of `Queries`."""
        return Queries.dtypes()


class ReleasedQrels(Qrels):
    """Qrels of an imported snapshot, with the ids used in the release."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in the release"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in the release"
    )

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Return the Polars data types in the column order of `Qrels`."""
        return Qrels.dtypes()


class ReleaseIds(TableSchema):
    """Mapping from the ids of an imported release to ids that are the same in all snapshots."""

    order: ClassVar[tuple[str, ...]] = ("kind", "id")

    kind = dy.String(primary_key=True, regex=r"^(document|query)$", description="Type of the id")
    id = dy.String(primary_key=True, min_length=1, description="Id in the release")
    key = dy.String(
        regex=r"^[dq][0-9a-f]{16}$",
        description="Aligned id, used in the id maps, change tables and drift tables; derived "
        "from the text or URL, and unique within the snapshot",
    )
    text_key = dy.String(
        nullable=True,
        regex=QUERY_ID_PATTERN,
        description="Query id derived from the folded text alone, so that queries with "
        "identical text share it; null for documents",
    )


class Irregularities(TableSchema):
    """Malformed but readable lines in an imported release, counted per file and type of defect."""

    order: ClassVar[tuple[str, ...]] = ("file", "kind")

    file = dy.String(
        primary_key=True, description="Path of the file, relative to the folder of the release"
    )
    kind = dy.String(primary_key=True, regex=r"^[a-z0-9_]+$", description="Type of the defect")
    lines = dy.UInt64(min=1, description="Number of malformed lines")
    first = dy.UInt64(min=1, description="Line number of the first malformed line, from 1")
    example = dy.String(description="First malformed line, shortened")
