"""Reads and writes TREC files (runs, qrels, scores) with size limits and strict validation."""

from builder.trec.released import to_release_ids
from builder.trec.runs import Run, read_run, write_run

__all__ = ["Run", "read_run", "to_release_ids", "write_run"]
