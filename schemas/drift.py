"""Schemas of drift tables: word counts per snapshot, and measures per pair of snapshots."""

from typing import ClassVar

import dataframely as dy

from schemas._base import TableSchema, snapshot_column

PARTS = ("documents", "queries", "qrels", "checks")


class WordCounts(TableSchema):
    """Word frequencies in the documents of a snapshot: one row per word."""

    token = dy.String(primary_key=True, min_length=1, description="Lowercased word")
    n = dy.Int64(min=1, description="Number of occurrences in titles and texts of all documents")
    core = dy.Int64(
        min=0,
        description="Number of occurrences in the core, the documents that are also in every "
        "earlier snapshot",
    )


class LostWords(TableSchema):
    """Word frequencies in the documents that leave the core, for each pair of snapshots.

    The core consists of the documents that all snapshots so far contain. Documents leave it if the
    later snapshot of the pair does not contain them.
    """

    order: ClassVar[tuple[str, ...]] = ("snapshot", "token")

    token = dy.String(primary_key=True, min_length=1, description="Lowercased word")
    n = dy.Int64(
        min=1,
        description="Number of occurrences in the documents that leave the core, counted in their "
        "texts of `snapshot`",
    )
    snapshot = snapshot_column(
        primary_key=True,
        description="Snapshot whose versions of the documents are counted, a snapshot before the "
        "later snapshot of the pair",
    )


class PairDrift(TableSchema):
    """Drift measures for each pair of consecutive snapshots, published in `drift.json`."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "part")

    from_snapshot = snapshot_column(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot_column(primary_key=True, description="Later snapshot")
    part = dy.String(
        primary_key=True,
        regex=rf"^({'|'.join(PARTS)})$",
        description="Part of the collection that was measured; `checks` for the results of the "
        "checks for construction changes",
    )
    content = dy.String(min_length=2, description="Measures, as a JSON object")
