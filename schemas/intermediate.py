"""Schemas of tables that are passed between stages and share the columns of another table.

Stages declare the tables that they read and write by schema class, so each table needs its own
class.
"""

from schemas.collection import (
    Candidates,
    Documents,
    JudgedQueries,
    Qrels,
    Queries,
    Verdicts,
)


class Gathered(Documents):
    """Documents of a snapshot before translation."""


class PageVerdicts(Verdicts):
    """Verdicts about crawled pages."""


class KeptCandidates(Candidates):
    """Candidate queries without the variants represented by another candidate."""


class GradedPairs(Qrels):
    """Graded query-document pairs before variants are merged."""


class GradedQueries(JudgedQueries):
    """Judged queries before variants are merged."""


class SplitQueries(Queries):
    """Queries of a snapshot with their split, before translation."""
