"""What an imported release looked like: ids that it used, lines that were not as they should be."""

from typing import ClassVar

import dataframely as dy
import polars as pl

from schemas._base import QUERY_ID_PATTERN, RELEASE_ID_PATTERN, Contract
from schemas.collection import Documents, Qrels, Queries


class ReleasedDocuments(Documents):
    """Documents of an imported snapshot: as `Documents`, under the ids of the release."""

    doc_id = dy.String(primary_key=True, regex=RELEASE_ID_PATTERN, description="Id in the release")

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Columns in the order of `Documents`."""
        return Documents.dtypes()


class ReleasedQueries(Queries):
    """Queries of an imported snapshot: as `Queries`, under the ids of the release."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id in the release"
    )

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Columns in the order of `Queries`."""
        return Queries.dtypes()


class ReleasedQrels(Qrels):
    """Judgements of an imported snapshot: as `Qrels`, under the ids of the release."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in the release"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in the release"
    )

    @classmethod
    def dtypes(cls) -> dict[str, pl.DataType]:
        """Columns in the order of `Qrels`."""
        return Qrels.dtypes()


class ReleaseIds(Contract):
    """The ids of a published release in a snapshot, and the keys under which snapshots align."""

    order: ClassVar[tuple[str, ...]] = ("kind", "id")

    kind = dy.String(primary_key=True, regex=r"^(document|query)$", description="What it names")
    id = dy.String(primary_key=True, min_length=1, description="Id in the release")
    key = dy.String(
        regex=r"^[dq][0-9a-f]{16}$",
        description="Its id in the maps, changes and drift of the collection: that of its text or "
        "URL, which is the same in every snapshot; unique in its snapshot",
    )
    text_key = dy.String(
        nullable=True,
        regex=QUERY_ID_PATTERN,
        description="Key of its folded text, shared by query ids with one text; null of documents",
    )


class Irregularities(Contract):
    """Lines of an imported release that were read in spite of what is wrong with them."""

    order: ClassVar[tuple[str, ...]] = ("file", "kind")

    file = dy.String(primary_key=True, description="File, relative to the release")
    kind = dy.String(primary_key=True, regex=r"^[a-z0-9_]+$", description="What is wrong")
    lines = dy.UInt64(min=1, description="How many lines")
    first = dy.UInt64(min=1, description="1-based number of the first one")
    example = dy.String(description="The first one, shortened")
