"""Aligns snapshots: matches documents, queries and judgements over time.

Input: the documents, queries and qrels of all snapshots. Output: for each pair of consecutive
snapshots, change tables with one row per id; and maps, which list the snapshots that contain each
id.
"""

from builder.alignment.changes import align_snapshots
from builder.alignment.id_maps import build_maps

__all__ = ["align_snapshots", "build_maps"]
