"""Schemas of intermediate tables that are passed between stages.

Each has the same columns as an existing schema, but needs a class of its own, because stages
declare their inputs and outputs by schema class.
"""

from schemas.collection import (
    Candidates,
    Documents,
    JudgedQueries,
    Qrels,
    Queries,
    Verdicts,
)


class GatheredDocuments(Documents):
    """Documents of a snapshot before translation."""


class PageVerdicts(Verdicts):
    """Labels of crawled pages, such as adult, assigned by label files or plug-ins."""


class KeptCandidates(Candidates):
    """Candidate queries that represent their variant set, with the counts of the whole set."""


class GradedPairs(Qrels):
    """Graded query-document pairs, before query variants are merged."""


class GradedQueries(JudgedQueries):
    """Judged queries, before query variants are merged."""


class SplitQueries(Queries):
    """Queries of a snapshot with their split, before translation."""
