"""Aligns snapshots: matches documents, queries and judgements over time.

Input: the documents, queries and qrels of all snapshots. Output: change tables for each pair of
consecutive snapshots, with one row per id; and id maps, with the list of snapshots that contain
each id.
"""

from builder.alignment.changes import align_snapshots
from builder.alignment.id_maps import build_id_maps

__all__ = ["align_snapshots", "build_id_maps"]
