"""Documents: which pages of the index a snapshot has, and the fingerprints of their texts."""

from builder.documents.coverage import measure_coverage
from builder.documents.gather import gather
from builder.documents.shown import collect_shown
from builder.documents.verdicts import judge_pages

__all__ = ["collect_shown", "gather", "judge_pages", "measure_coverage"]
