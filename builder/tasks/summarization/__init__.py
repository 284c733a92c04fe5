"""Temporal summarization task: scores systems that push updates about an unfolding event.

Reads the nuggets, pooled updates, matches and runs of the TREC Temporal Summarization track, and
computes the measures of its metrics document and of its official scorer.
"""

from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.score import SummarizationReport, evaluate_summaries

__all__ = ["SummarizationParameters", "SummarizationReport", "evaluate_summaries"]
