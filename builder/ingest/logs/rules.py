"""SQL conditions under which a record is rejected as not being an impression.

They apply to the columns `results` (list of text) and `ranks` (list of integers).
"""

HAS_BAD_RESULTS = """
results IS NULL OR list_count(results) < len(results) OR list_contains(results, '')
"""
"""The results are missing, or one of them is null or empty."""

HAS_BAD_RANKS = "ranks IS NULL OR list_count(ranks) < len(ranks)"
"""The clicked ranks are missing, or one of them is null."""

RESULT_COUNT_REASONS = """
WHEN len(results) > {max_results} THEN 'too_many_results'
WHEN len(results) = 0 THEN 'no_results'
"""
"""Branches of a CASE expression; `max_results` is the maximum number of results."""

RANK_REASONS = """
WHEN list_min(ranks) < 1 OR list_max(ranks) > len(results) THEN 'click_not_shown'
"""
"""Branch of a CASE expression."""
