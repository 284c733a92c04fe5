"""Reads run and qrels files, assigns runs to systems and snapshots, and checks runs."""
