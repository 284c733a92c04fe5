"""Tables between two stages that have the columns of a published table, and a name of their own.

A stage names the tables that it reads and writes by their contracts, so that each table needs one.
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
    """Verdicts on crawled pages."""


class KeptCandidates(Candidates):
    """Candidate queries without the variants that are represented by another query."""


class GradedPairs(Qrels):
    """Graded query-document pairs before variants are merged."""


class GradedQueries(JudgedQueries):
    """Judged queries before variants are merged."""


class SplitQueries(Queries):
    """Queries with their split, before translation."""
