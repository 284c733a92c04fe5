"""Select: which queries of a snapshot's log may enter the collection.

In: impressions and query texts of the log, topics, verdicts. Out: `candidates` (see
`schemas.Candidates`) and how many queries each rule left out. Order: users left out by verdict;
k-anonymity on keys; then, for the queries that pass, the rules of `rules.py`, topics last.
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
from builder.queries.rules import ANONYMITY, LEFT_OUT_USERS, Rule, first_rule, rules
from builder.queries.verdicts import left_out
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
    """Stage: leave out what must not or need not enter the collection.

    Args:
        out: Folder that receives `candidates.parquet` and `rejects.parquet` (counts only).
        impressions: See `schemas.Impressions`.
        log_queries: See `schemas.LogQueries`.
        topics: See `schemas.Topics`.
        params: `[select]`.
        limits: Memory and threads.
        progress: Told the queries that passed k-anonymity.
        stop_lists: Text files, a query or words on each line.
        verdicts: See `schemas.Verdicts`.
        filters: Which verdicts leave out a query, or all impressions of a user.

    Returns:
        An account of the distinct folded queries of the log.

    Raises:
        DataError: the log names no user, and users are to be counted.
        FormatError: a stop-list is not UTF-8 text.
    """
    ordered = rules(params, read_stop_lists(stop_lists), left_out(verdicts, filters, "query"))
    users = left_out(verdicts, filters, "user")
    flagged = pl.concat(users.values()).unique() if users else None
    known_topics = topics.scan().collect()
    ledger = Ledger("queries")
    with anonymous_queries(impressions, log_queries, params, limits, flagged) as queries:
        counts = Counter({LEFT_OUT_USERS: queries.asked - queries.heard})
        counts[ANONYMITY] = queries.heard - queries.passed
        progress.start("select", queries.passed, "queries")
        ledger.rows_in = queries.asked
        for frame in queries.ranges():
            judged = judge(frame, known_topics, params, ordered)
            counts.update(judged["reason"].drop_nulls().to_list())
            queries.keep(judged.filter(pl.col("reason").is_null()))
            progress.advance(judged.height)
        ledger.rows_out = queries.write_kept(out / "candidates.parquet")
    with RejectWriter(out, "select", ledger) as rejects:
        for name in (LEFT_OUT_USERS, ANONYMITY, *(rule.name for rule in ordered)):
            rejects.add(name, rows=counts[name])
    progress.finish()
    return ledger


def judge(
    queries: pl.DataFrame,
    topics: pl.DataFrame,
    params: SelectParameters,
    ordered: Sequence[Rule],
) -> pl.DataFrame:
    """Add the topics of each query, and the first rule that leaves it out or null, as `reason`."""
    matched = queries.with_columns(match_topics(queries["folded"], topics, params.matching))
    return matched.with_columns(first_rule(ordered))


def read_stop_lists(sources: Sequence[Source]) -> tuple[str, ...]:
    """The folded, distinct lines of stop-lists, sorted.

    Raises:
        FormatError: a file is not UTF-8 text.
    """
    lines = {line for source in sources for line in fold_texts(read_text_lines(source))}
    return tuple(sorted(lines - {""}))
