"""Baseline runs of a snapshot, fusion and re-ranking, and the sanity check of a collection."""
