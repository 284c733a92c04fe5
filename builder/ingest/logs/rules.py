"""SQL conditions under which a log record is rejected.

The conditions apply to the columns `results` (list of strings) and `ranks` (list of integers).
"""

HAS_BAD_RESULTS = """
results IS NULL OR list_count(results) < len(results) OR list_contains(results, '')
"""
"""SQL condition that is true if the results are missing, or if a result is null or empty."""

HAS_BAD_RANKS = "ranks IS NULL OR list_count(ranks) < len(ranks)"
"""SQL condition that is true if the clicked ranks are missing, or if a rank is null."""

RESULT_COUNT_REASONS = """
WHEN len(results) > {max_results} THEN 'too_many_results'
WHEN len(results) = 0 THEN 'no_results'
"""
"""Branches of an SQL CASE expression for records with no results or too many results.

`max_results` is the maximum number of results of a record.
"""

RANK_REASONS = """
WHEN list_min(ranks) < 1 OR list_max(ranks) > len(results) THEN 'click_not_shown'
"""
"""Branch of an SQL CASE expression for records with a click on a result that was not shown."""
