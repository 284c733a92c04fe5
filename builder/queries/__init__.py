"""Queries: topics, privacy, variants, selection and splits.

In: a query log in keys, the forms in which queries were typed, and topics. Out: the queries that
may enter a collection, and on which side of the train / held-out line each of them is.
"""

from builder.queries.selection import select
from builder.queries.splits import split
from builder.queries.topics import read_topics

__all__ = ["read_topics", "select", "split"]
