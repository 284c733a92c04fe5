"""Files in TREC format: runs, judgements and scores, read within bounds and with every check."""

from builder.trec.released import in_release_ids
from builder.trec.runs import Run, read_run, write_run

__all__ = ["Run", "in_release_ids", "read_run", "write_run"]
