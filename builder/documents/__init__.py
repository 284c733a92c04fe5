"""Documents: which pages of the index a snapshot has, and the fingerprints of their texts."""

from builder.documents.gather import gather
from builder.documents.shown import collect_shown

__all__ = ["collect_shown", "gather"]
