"""Verdicts: labels with scores for queries, users and documents, from lists and plug-ins.

In: TSV files and installed plug-ins that a definition names, and the log of a snapshot. Out:
`verdicts` (see `schemas.Verdicts`): one row a label, with its source and version. The filters of
the definition act on them by name. Lists and plug-ins belong to the definition, so every snapshot
is judged by the same; `coverage` shows where one of them has nothing to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.sources import Source
from builder.io.tables import Table, write_frame
from builder.parameters import SelectParameters, VerdictFilter, VerdictParameters
from builder.plugins import plugin_packages
from builder.queries.anonymous import anonymous_queries
from builder.queries.plugins import VerdictPlugin, ask, load_plugins
from builder.queries.verdict_files import read_verdicts
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, Same, Setting
from builder.runtime.stage import stage
from schemas import Impressions, LogQueries, LogUrls, Verdicts

IN_SNAPSHOT = """
SELECT given.* FROM given
WHERE kind = 'query' AND key IN (SELECT query FROM log_queries)
   OR kind = 'document' AND key IN (SELECT doc FROM log_urls)
   OR kind = 'user' AND key IN (SELECT "user" FROM impressions)
ORDER BY ALL
"""

USERS = """
SELECT "user" AS key, count(*)::UINTEGER AS impressions,
       count(DISTINCT query)::UINTEGER AS queries, sum(len(clicks))::UINTEGER AS clicks
FROM impressions WHERE "user" IS NOT NULL GROUP BY "user" ORDER BY "user"
"""

DOCUMENTS = "SELECT doc AS key, url FROM log_urls ORDER BY doc"
SUBJECTS_PER_CALL = 100_000


@stage(
    "verdicts",
    version="1",
    writes=(Verdicts,),
    plugins=lambda w: plugin_packages("verdicts", w.verdicts.plugins),
)
def collect_verdicts(
    out: Path,
    *,
    impressions: Same[Impressions],
    log_queries: Same[LogQueries],
    log_urls: Same[LogUrls],
    params: VerdictParameters,
    select: Annotated[SelectParameters, Setting(lambda w, _: w.select)],
    limits: Limits,
    progress: Progress,
    files: Annotated[Sequence[Source], Files(lambda w, _: w.verdicts.files)] = (),
) -> Ledger:
    """Stage: what lists and plug-ins say about the queries, users and documents of a log.

    Args:
        out: Folder that receives `verdicts.parquet` and `rejects.parquet`.
        impressions: See `schemas.Impressions`.
        log_queries: See `schemas.LogQueries`.
        log_urls: See `schemas.LogUrls`.
        params: `[verdicts]`.
        select: `[select]`: a plug-in sees only queries that pass its k-anonymity and hold no
            personal data.
        limits: Memory and threads.
        progress: Told the verdicts.
        files: TSV files of verdicts.

    Returns:
        An account of the verdicts given; those on nothing in this log are dropped.

    Raises:
        FormatError: a file is not one of verdicts.
        UsageError: a plug-in is not installed.
        ContractError: a plug-in's answer is not one of verdicts.
    """
    plugins = load_plugins(params.plugins)
    given = read_verdicts(files)
    progress.start("verdicts", given.height, "verdicts")
    frames = [_in_snapshot(given, impressions, log_queries, log_urls, limits)]
    applied = frames[0].height
    for plugin in plugins:
        subjects = _subjects(plugin, impressions, log_queries, log_urls, select, limits)
        frames += [ask(plugin, frame) for frame in subjects]
    verdicts = pl.concat(frames)
    write_frame(verdicts, out / "verdicts.parquet", Verdicts)
    ledger = Ledger("verdicts", verdicts.height + given.height - applied, verdicts.height)
    with RejectWriter(out, "verdicts", ledger) as rejects:
        rejects.add("not_in_this_log", rows=given.height - applied)
    progress.advance(given.height)
    progress.finish()
    return ledger


def left_out(
    verdicts: Table | None, filters: Sequence[VerdictFilter], kind: str
) -> dict[str, pl.Series]:
    """Keys that each filter of a kind leaves out, by name of the filter, in order.

    Args:
        verdicts: See `schemas.Verdicts`; None when there are none.
        filters: `[[verdicts.filters]]`.
        kind: `query`, `user` or `document`.
    """
    chosen = [each for each in filters if each.kind == kind]
    if verdicts is None or not chosen:
        return {}
    rows = verdicts.scan().filter(pl.col("kind") == kind).collect()
    return {each.name: rows.filter(_falls_under(each))["key"].unique().sort() for each in chosen}


def _falls_under(chosen: VerdictFilter) -> pl.Expr:
    by_label = (pl.col("label") == chosen.label) & (pl.col("score") >= chosen.min_score)
    return by_label if chosen.source is None else by_label & (pl.col("source") == chosen.source)


def coverage(verdicts: Mapping[str, Table]) -> pl.DataFrame:
    """How many verdicts each source gives in each snapshot, zeros included.

    Args:
        verdicts: Table `verdicts` of each snapshot, by name.

    Returns:
        Columns `source`, `version`, `kind`, `label`, `snapshot`, `verdicts`, sorted. A zero says
        where a list or plug-in that speaks elsewhere has nothing to say.
    """
    what = ["source", "version", "kind", "label"]
    rows = pl.concat(
        table.scan().select(*what, pl.lit(name).alias("snapshot"))
        for name, table in verdicts.items()
    ).collect()
    counted = rows.group_by(*what, "snapshot").agg(pl.len().cast(pl.UInt32).alias("verdicts"))
    names = pl.DataFrame({"snapshot": list(verdicts)}, schema={"snapshot": pl.String})
    every = rows.select(what).unique().join(names, how="cross")
    return (
        every.join(counted, on=[*what, "snapshot"], how="left")
        .with_columns(pl.col("verdicts").fill_null(0))
        .sort(*what, "snapshot")
    )


def _in_snapshot(
    given: pl.DataFrame, impressions: Table, log_queries: Table, log_urls: Table, limits: Limits
) -> pl.DataFrame:
    if given.is_empty():
        return given
    with limits.connect() as connection:
        _views(connection, impressions, log_queries, log_urls)
        connection.register("given", given.to_arrow())
        found: pl.DataFrame = connection.sql(IN_SNAPSHOT).pl()
    return found


def _views(
    connection: duckdb.DuckDBPyConnection, impressions: Table, log_queries: Table, log_urls: Table
) -> None:
    impressions.view(connection, "impressions")
    log_queries.view(connection, "log_queries")
    log_urls.view(connection, "log_urls")


def _subjects(
    plugin: VerdictPlugin,
    impressions: Table,
    log_queries: Table,
    log_urls: Table,
    select: SelectParameters,
    limits: Limits,
) -> Iterator[pl.DataFrame]:
    """What a plug-in judges, in frames."""
    if plugin.kind == "query":
        with anonymous_queries(impressions, log_queries, select, limits) as queries:
            for frame in queries.ranges():
                harmless = frame.filter(pl.col("personal").is_null())
                yield harmless.select(pl.col("query").alias("key"), "text", "impressions", "clicks")
        return
    with limits.connect() as connection:
        _views(connection, impressions, log_queries, log_urls)
        result = connection.sql(USERS if plugin.kind == "user" else DOCUMENTS)
        for batch in result.to_arrow_reader(SUBJECTS_PER_CALL):
            yield pl.DataFrame(batch)
