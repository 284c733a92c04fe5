"""Temporal summarization: scores of systems that push updates about an event as it unfolds.

In: nuggets, pooled updates, matches and runs of the TREC Temporal Summarization track. Out: gain,
comprehensiveness and latency per system and event, and the columns of the official scorer.
"""

from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.score import SummarizationReport, evaluate_summaries

__all__ = ["SummarizationParameters", "SummarizationReport", "evaluate_summaries"]
