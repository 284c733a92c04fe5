"""Aligns snapshots: matches documents, queries and judgements over time.

Input: the documents, queries and qrels of snapshots. Output: change tables with one row per id of
two consecutive snapshots, and maps of the snapshots that contain each id.
"""

from builder.alignment.changes import align_snapshots
from builder.alignment.id_maps import build_maps

__all__ = ["align_snapshots", "build_maps"]
