"""Tables of drift that the pipeline keeps: words of snapshots, measures of neighbours."""

from typing import ClassVar

import dataframely as dy

from schemas._base import Contract, snapshot

PARTS = ("documents", "queries", "qrels", "checks")


class WordCounts(Contract):
    """How often a word occurs in the documents of a snapshot."""

    token = dy.String(primary_key=True, min_length=1, description="Word, lower-cased")
    n = dy.Int64(min=1, description="Occurrences in title and text of all documents")
    core = dy.Int64(
        min=0, description="Occurrences in documents that every earlier snapshot holds too"
    )


class LostWords(Contract):
    """How often a word occurs in documents that left the aligned core with a later snapshot."""

    order: ClassVar[tuple[str, ...]] = ("snapshot", "token")

    token = dy.String(primary_key=True, min_length=1, description="Word, lower-cased")
    n = dy.Int64(
        min=1,
        description="Occurrences in documents that every snapshot before the later one holds, and "
        "it does not",
    )
    snapshot = snapshot(primary_key=True, description="Snapshot whose texts are counted")


class PairDrift(Contract):
    """What is measured of two consecutive snapshots, for `drift.json`."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "part")

    from_snapshot = snapshot(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot(primary_key=True, description="Later snapshot")
    part = dy.String(
        primary_key=True, regex=rf"^({'|'.join(PARTS)})$", description="What it is about"
    )
    content = dy.String(min_length=2, description="The measures, as JSON")
