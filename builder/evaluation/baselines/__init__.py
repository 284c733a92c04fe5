"""Baseline runs, fusion and re-ranking of runs, and a sanity check of collections."""
