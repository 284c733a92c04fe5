"""Collects verdicts, i.e. labels that files or plug-ins assign to queries, users and documents.

Input: TSV files and plug-ins named in the definition, and the log of a snapshot. Output: the table
`verdicts`, with one row per label; its columns include source and version. All snapshots use the
same files and plug-ins; `verdict_coverage` shows in which snapshots a source has no verdicts.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.sources import Source
from builder.io.tables import Table, write_frame
from builder.parameters import SelectionParameters, VerdictFilter, VerdictFilterParameters
from builder.plugins import plugin_packages
from builder.queries.anonymous import select_k_anonymous_queries
from builder.queries.plugins import VerdictPlugin, load_plugins, run_plugin
from builder.queries.verdict_files import read_verdicts
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference, Same, SettingReference
from builder.runtime.stage import stage
from schemas import Impressions, LogQueries, LogUrls, Verdicts

IN_SNAPSHOT = """
SELECT listed.* FROM listed
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
    version="4",
    writes=(Verdicts,),
    plugins=lambda w: plugin_packages("verdicts", w.verdicts.plugins),
)
def collect_verdicts(
    out: Path,
    *,
    impressions: Same[Impressions],
    log_queries: Same[LogQueries],
    log_urls: Same[LogUrls],
    params: VerdictFilterParameters,
    select: Annotated[SelectionParameters, SettingReference(lambda w, _: w.select)],
    limits: ResourceLimits,
    progress: Progress,
    files: Annotated[Sequence[Source], FileReference(lambda w, _: w.verdicts.files)] = (),
) -> RowLedger:
    """Stage: collect verdicts on the queries, users and URLs of a log, from files and plug-ins.

    Args:
        out: Folder that receives `verdicts.parquet` and `rejects.parquet`.
        impressions: Table with the schema `Impressions`.
        log_queries: Table with the schema `LogQueries`.
        log_urls: Table with the schema `LogUrls`.
        params: Section `[verdicts]` of the definition.
        select: Section `[select]`; plug-ins receive only queries that are k-anonymous under its
            options and contain no personal data.
        limits: Memory and threads.
        progress: Advances by the number of verdicts in files.
        files: TSV files with verdicts.

    Returns:
        The ledger: numbers of verdicts read, kept and rejected; verdicts on keys that are not in
        the log are rejected.

    Raises:
        FormatError: a file is malformed.
        UsageError: a plug-in is not installed.
        SchemaError: a plug-in returned invalid verdicts.
    """
    plugins = load_plugins(params.plugins)
    listed = read_verdicts(files)
    progress.start("verdicts", listed.height, "verdicts")
    frames = [_select_verdicts_in_log(listed, impressions, log_queries, log_urls, limits)]
    applied = frames[0].height
    for plugin in plugins:
        subjects = _read_subjects(plugin, impressions, log_queries, log_urls, select, limits)
        frames += [run_plugin(plugin, frame) for frame in subjects]
    verdicts = pl.concat(frames)
    write_frame(verdicts, out / "verdicts.parquet", Verdicts)
    ledger = RowLedger("verdicts", verdicts.height + listed.height - applied, verdicts.height)
    with RejectWriter(out, "verdicts", ledger) as rejects:
        rejects.add("not_in_this_log", rows=listed.height - applied)
    progress.advance(listed.height)
    progress.finish()
    return ledger


def excluded_keys(
    verdicts: Table | None, filters: Sequence[VerdictFilter], kind: str
) -> dict[str, pl.Series]:
    """Return the keys of the excluded queries, users or documents, by filter name.

    Args:
        verdicts: Table with the schema `Verdicts`; None if there are no verdicts.
        filters: Sections `[[verdicts.filters]]` of the definition.
        kind: `query`, `user` or `document`.
    """
    same_kind = [each for each in filters if each.kind == kind]
    if verdicts is None or not same_kind:
        return {}
    rows = verdicts.scan().filter(pl.col("kind") == kind).collect()
    return {
        each.name: rows.filter(_matches_filter_expr(each))["key"].unique().sort()
        for each in same_kind
    }


def excluded_users(verdicts: Table | None, filters: Sequence[VerdictFilter]) -> pl.Series:
    """Return the keys of all users whom filters exclude, such as bots, without duplicates."""
    keys = excluded_keys(verdicts, filters, "user").values()
    return pl.concat([pl.Series(dtype=pl.UInt64), *keys]).unique().sort()


def note_unmatched_filters(
    filters: Sequence[VerdictFilter], kind: str, excluded: Mapping[str, pl.Series]
) -> Iterator[str]:
    """If any filters of the given kind match no verdict, yield one note with their names.

    Args:
        filters: Sections `[[verdicts.filters]]` of the definition.
        kind: `query`, `user` or `document`.
        excluded: Excluded keys by filter name; see `excluded_keys`.
    """
    names = [
        each.name
        for each in filters
        if each.kind == kind and (each.name not in excluded or excluded[each.name].is_empty())
    ]
    if names:
        yield (
            f"filters in verdicts.filters that match no verdict on any {kind} of this snapshot: "
            f"{', '.join(names)}; if they are meant to exclude something, check that their kind, "
            "label, source and min_score match those of the verdicts"
        )


def _matches_filter_expr(verdict_filter: VerdictFilter) -> pl.Expr:
    """Return an expression that is true for the verdicts that a filter selects.

    A filter selects verdicts by label, by minimum score and, optionally, by source.
    """
    condition = pl.col("label") == verdict_filter.label
    condition &= pl.col("score") >= verdict_filter.min_score
    if verdict_filter.source is None:
        return condition
    return condition & (pl.col("source") == verdict_filter.source)


def verdict_coverage(verdicts: Mapping[str, Table]) -> pl.DataFrame:
    """Count the verdicts by source, label and snapshot, including zeros.

    Args:
        verdicts: Tables `verdicts`, by snapshot name.

    Returns:
        Columns `source`, `version`, `kind`, `label`, `snapshot`, `verdicts`, sorted. The count is
        zero if a source assigns the label only in other snapshots.
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


def _select_verdicts_in_log(
    verdicts: pl.DataFrame,
    impressions: Table,
    log_queries: Table,
    log_urls: Table,
    limits: ResourceLimits,
) -> pl.DataFrame:
    """Return the verdicts on queries, users and documents that occur in the log."""
    if verdicts.is_empty():
        return verdicts
    with limits.connect_to_duckdb() as connection:
        _create_views(connection, impressions, log_queries, log_urls)
        connection.register("listed", verdicts.to_arrow())
        relevant: pl.DataFrame = connection.sql(IN_SNAPSHOT).pl()
    return relevant


def _create_views(
    connection: duckdb.DuckDBPyConnection, impressions: Table, log_queries: Table, log_urls: Table
) -> None:
    """Create the views `impressions`, `log_queries` and `log_urls`."""
    impressions.create_view(connection, "impressions")
    log_queries.create_view(connection, "log_queries")
    log_urls.create_view(connection, "log_urls")


def _read_subjects(
    plugin: VerdictPlugin,
    impressions: Table,
    log_queries: Table,
    log_urls: Table,
    select: SelectionParameters,
    limits: ResourceLimits,
) -> Iterator[pl.DataFrame]:
    """Yield batches of the queries, users or documents that a plug-in labels."""
    if plugin.kind == "query":
        with select_k_anonymous_queries(impressions, log_queries, select, limits) as queries:
            for frame in queries.iter_batches():
                harmless = frame.filter(pl.col("personal").is_null())
                yield harmless.select(pl.col("query").alias("key"), "text", "impressions", "clicks")
        return
    with limits.connect_to_duckdb() as connection:
        _create_views(connection, impressions, log_queries, log_urls)
        result = connection.sql(USERS if plugin.kind == "user" else DOCUMENTS)
        for batch in result.to_arrow_reader(SUBJECTS_PER_CALL):
            yield pl.DataFrame(batch)
