"""Selects the queries of a log that may enter the collection.

Queries are excluded in this order: queries asked only by users excluded by verdicts; queries that
are not k-anonymous; queries excluded by `rules.selection_rules`, whose last rule requires a topic.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.io.sources import Source
from builder.parameters import SelectParameters
from builder.queries.anonymous import anonymous_queries
from builder.queries.matching import match_topics
from builder.queries.rules import (
    ANONYMITY,
    EXCLUDED_USERS_ONLY,
    Rule,
    first_matching_rule,
    selection_rules,
)
from builder.queries.verdicts import excluded_keys
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Collection, Files, Filters, Same
from builder.runtime.stage import stage
from builder.text.keys import fold_texts
from builder.trec.bounded import read_text_lines
from schemas import Candidates, Impressions, LogQueries, Topics, Verdicts


@stage("select", version="2", writes=(Candidates,))
def select(
    out: Path,
    *,
    impressions: Same[Impressions],
    log_queries: Same[LogQueries],
    topics: Collection[Topics],
    params: SelectParameters,
    limits: Limits,
    progress: Progress,
    stop_lists: Annotated[Sequence[Source], Files(lambda w, _: w.select.stop_lists)] = (),
    verdicts: Same[Verdicts] | None = None,
    filters: Filters = (),
) -> Ledger:
    """Stage: select the candidate queries of a log.

    Args:
        out: Folder that receives `candidates.parquet` and `rejects.parquet` (counts only).
        impressions: See `schemas.Impressions`.
        log_queries: See `schemas.LogQueries`.
        topics: See `schemas.Topics`.
        params: Section `[select]` of the definition.
        limits: Memory and threads.
        progress: Advances by the number of k-anonymous queries.
        stop_lists: Text files with one query or several words per line.
        verdicts: See `schemas.Verdicts`.
        filters: Verdict filters that exclude queries, or all impressions of users.

    Returns:
        The ledger, with counts in distinct folded queries.

    Raises:
        DataError: `select.anonymity` is `users`, but no impression has a user.
        FormatError: a stop list is not UTF-8 text.
    """
    excluded_queries = excluded_keys(verdicts, filters, "query")
    rules = selection_rules(params, read_stop_lists(stop_lists), excluded_queries)
    users = excluded_keys(verdicts, filters, "user")
    excluded_users = pl.concat(users.values()).unique() if users else None
    topic_rows = topics.scan().collect()
    ledger = Ledger("queries")
    with anonymous_queries(impressions, log_queries, params, limits, excluded_users) as queries:
        counts = Counter({EXCLUDED_USERS_ONLY: queries.total - queries.eligible})
        counts[ANONYMITY] = queries.eligible - queries.anonymous
        progress.start("select", queries.anonymous, "queries")
        ledger.rows_in = queries.total
        for batch in queries.batches():
            checked = apply_rules(batch, topic_rows, params, rules)
            counts.update(checked["reason"].drop_nulls().to_list())
            queries.add_candidates(checked.filter(pl.col("reason").is_null()))
            progress.advance(checked.height)
        ledger.rows_out = queries.write_candidates(out / "candidates.parquet")
    with RejectWriter(out, "select", ledger) as rejects:
        for name in (EXCLUDED_USERS_ONLY, ANONYMITY, *(rule.name for rule in rules)):
            rejects.add(name, rows=counts[name])
    progress.finish()
    return ledger


def apply_rules(
    queries: pl.DataFrame,
    topics: pl.DataFrame,
    params: SelectParameters,
    rules: Sequence[Rule],
) -> pl.DataFrame:
    """Add the columns `topics` and `reason`, which names the first rule that excludes the query."""
    matched = queries.with_columns(match_topics(queries["folded"], topics, params.matching))
    return matched.with_columns(first_matching_rule(rules))


def read_stop_lists(sources: Sequence[Source]) -> tuple[str, ...]:
    """Read the distinct folded lines of stop lists, sorted.

    Raises:
        FormatError: a file is not UTF-8 text.
    """
    lines = {line for source in sources for line in fold_texts(read_text_lines(source))}
    return tuple(sorted(lines - {""}))
