"""Selects the queries of a log that may enter the collection.

Three kinds of queries are excluded, in this order: queries issued only by excluded users, such as
bots; queries that are not k-anonymous; queries excluded by `rules.selection_rules`, whose last rule
requires a topic.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.io.sources import Source
from builder.parameters import SelectionParameters
from builder.queries.anonymous import select_k_anonymous_queries
from builder.queries.matching import match_topics
from builder.queries.rules import (
    ANONYMITY,
    EXCLUDED_USERS_ONLY,
    QueryRule,
    first_matching_rule_expr,
    selection_rules,
)
from builder.queries.stop_lists import read_stop_lists
from builder.queries.unmatched import create_stop_list_tracker, create_topic_name_tracker
from builder.queries.verdicts import excluded_keys, note_unmatched_filters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Collection, FileReference, Filters, Same
from builder.runtime.stage import stage
from schemas import Candidates, Impressions, LogQueries, Topics, Verdicts


@stage("select", version="6", writes=(Candidates,))
def select_queries(
    out: Path,
    *,
    impressions: Same[Impressions],
    log_queries: Same[LogQueries],
    topics: Collection[Topics],
    params: SelectionParameters,
    limits: ResourceLimits,
    progress: Progress,
    stop_lists: Annotated[Sequence[Source], FileReference(lambda w, _: w.select.stop_lists)] = (),
    verdicts: Same[Verdicts] | None = None,
    filters: Filters = (),
) -> RowLedger:
    """Stage: select the candidate queries of a log.

    Args:
        out: Folder that receives `candidates.parquet` and `rejects.parquet` (counts only).
        impressions: Table with the schema `Impressions`.
        log_queries: Table with the schema `LogQueries`.
        topics: Table with the schema `Topics`.
        params: Section `[select]` of the definition.
        limits: Memory and threads.
        progress: Advances by the number of k-anonymous queries.
        stop_lists: Text files with one query, word or phrase per line; see `stop_lists`.
        verdicts: Labels that lists and plug-ins assign (schema `Verdicts`).
        filters: Conditions on verdicts that exclude queries, or users with all their impressions.

    Returns:
        The ledger: numbers of distinct folded queries read, kept and rejected.

    Raises:
        DataError: `select.anonymity` is `users`, but no impression has a user.
        FormatError: a stop list is not UTF-8 text, or an entry has no letters and digits.
    """
    excluded_queries = excluded_keys(verdicts, filters, "query")
    stop_list = read_stop_lists(stop_lists)
    rules = selection_rules(params, stop_list["folded"].to_list(), excluded_queries)
    users = excluded_keys(verdicts, filters, "user")
    excluded_users = pl.concat(users.values()).unique() if users else None
    topic_rows = topics.scan().collect()
    lists = (
        create_stop_list_tracker(stop_list, params),
        create_topic_name_tracker(topic_rows, params),
    )
    ledger = RowLedger("queries")
    with select_k_anonymous_queries(
        impressions, log_queries, params, limits, excluded_users
    ) as queries:
        counts = Counter({EXCLUDED_USERS_ONLY: queries.total - queries.eligible})
        counts[ANONYMITY] = queries.eligible - queries.anonymous
        progress.start("select", queries.anonymous, "queries")
        ledger.rows_in = queries.total
        for batch in queries.iter_batches():
            for unmatched in lists:
                unmatched.discard_matched(batch["folded"])
            checked = apply_rules(batch, topic_rows, params, rules)
            counts.update(checked["reason"].drop_nulls().to_list())
            queries.add_candidates(checked.filter(pl.col("reason").is_null()))
            progress.advance(checked.height)
        ledger.rows_out = queries.write_candidates(out / "candidates.parquet")
    with RejectWriter(out, "select", ledger) as rejects:
        for name in (EXCLUDED_USERS_ONLY, ANONYMITY, *(rule.name for rule in rules)):
            rejects.add(name, rows=counts[name])
    for unmatched in lists:
        ledger.notes.extend(unmatched.notes())
    ledger.notes.extend(note_unmatched_filters(filters, "query", excluded_queries))
    ledger.notes.extend(note_unmatched_filters(filters, "user", users))
    progress.finish()
    return ledger


def apply_rules(
    queries: pl.DataFrame,
    topics: pl.DataFrame,
    params: SelectionParameters,
    rules: Sequence[QueryRule],
) -> pl.DataFrame:
    """Add the columns `topics` and `reason` (first rule that excludes the query, or null)."""
    matched = queries.with_columns(match_topics(queries["folded"], topics, params.matching))
    return matched.with_columns(first_matching_rule_expr(rules))
