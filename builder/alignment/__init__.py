"""The same page, query and judgement in different snapshots.

In: the documents, queries and qrels of two consecutive snapshots. Out: one row for each id in
either, with what happened to it; and over all snapshots, which of them hold each id.
"""

from builder.alignment.changes import changes
from builder.alignment.mapping import maps

__all__ = ["changes", "maps"]
