"""Finds the variant sets of a snapshot, and merges the counts of their members.

A variant set is a group of spellings, inflections and word orders of the same query. Output:
`variants`, which maps every candidate to its representative, and `kept_candidates`, the
representatives. With `variants.merge = "clicks"`, a representative has the impressions, clicks,
distinct users and topics of all members of its set; otherwise every candidate represents itself.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.sources import Source
from builder.io.tables import write_frame
from builder.parameters import SelectionParameters, SplitParameters, VariantParameters
from builder.queries.anonymous import create_log_view
from builder.queries.manual_sets import read_manual_sets
from builder.queries.sets import build_variant_sets
from builder.queries.unmatched import note_unmatched_manual_sets
from builder.queries.verdicts import excluded_users
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import (
    Before,
    FileReference,
    Filters,
    HasFrench,
    Same,
    SettingReference,
)
from builder.runtime.stage import stage
from schemas import Candidates, Impressions, KeptCandidates, Variants, Verdicts

_DEFAULT_SELECTION = SelectionParameters()

SET_USERS = """
WITH members AS (
    SELECT query, representative FROM sets
    SEMI JOIN (SELECT representative FROM sets GROUP BY ALL HAVING count(*) > 1)
        USING (representative)
), askers AS (
    SELECT DISTINCT representative, "user" FROM log JOIN members USING (query)
    WHERE "user" IS NOT NULL
)
SELECT representative AS query, count(*)::UINTEGER AS set_users
FROM askers GROUP BY representative
"""


@stage("variants", version="4", writes=(Variants, KeptCandidates))
def find_variants(
    out: Path,
    *,
    candidates: Same[Candidates],
    impressions: Same[Impressions],
    earlier: Before[Variants],
    params: VariantParameters,
    split: Annotated[SplitParameters, SettingReference(lambda w, _: w.split)],
    limits: ResourceLimits,
    progress: Progress,
    files: Annotated[Sequence[Source], FileReference(lambda w, _: w.variants.files)] = (),
    has_french: HasFrench = True,
    select: Annotated[
        SelectionParameters, SettingReference(lambda w, _: w.select)
    ] = _DEFAULT_SELECTION,
    verdicts: Same[Verdicts] | None = None,
    filters: Filters = (),
) -> RowLedger:
    """Stage: find the variant sets of a snapshot, and merge the counts of their members.

    Args:
        out: Folder that receives `variants.parquet`, `kept_candidates.parquet` (schema
            `Candidates`) and `rejects.parquet`.
        candidates: Table with the schema `Candidates`.
        impressions: Table with the schema `Impressions`; used to count the distinct users of merged
            sets.
        earlier: Tables `variants` of earlier snapshots, in chronological order, whose variant sets
            are kept.
        params: Section `[variants]` of the definition.
        split: Section `[split]`; no variant set is divided between splits.
        limits: Memory and threads.
        progress: Advances by the number of candidates.
        files: Files with manually defined variant sets.
        has_french: Whether queries may be French; if so, French function words are ignored.
        select: Section `[select]`; `anonymity` decides whether the column `users` counts users or
            impressions.
        verdicts: Labels that lists and plug-ins assign (schema `Verdicts`).
        filters: Conditions on verdicts that exclude users, such as bots.

    Returns:
        The ledger: numbers of queries read, kept and rejected; a variant that another query
        represents is rejected.

    Raises:
        FormatError: a file of manually defined sets is malformed.
    """
    rows = candidates.scan().collect()
    ledger = RowLedger("queries", rows.height)
    progress.start("variants", rows.height, "queries")
    with limits.connect_to_duckdb(0.5) as connection:
        if params.sets == "off":
            sets = create_singleton_sets(rows)
        else:
            before = [table.scan().collect() for table in earlier]
            manual_sets = read_manual_sets(files)
            sets = build_variant_sets(
                connection, rows, manual_sets, before, params, split, has_french
            )
            ledger.notes.extend(note_unmatched_manual_sets(manual_sets, rows["text"]))
        if params.merge != "clicks":
            sets = sets.with_columns(representative="query")
        create_log_view(connection, impressions, excluded_users(verdicts, filters))
        set_users = _count_set_users(connection, sets, select)
        kept = merge_variant_counts(rows, sets, set_users)
    write_frame(sets, out / "variants.parquet", Variants)
    write_frame(kept, out / "kept_candidates.parquet", Candidates)
    ledger.rows_out = kept.height
    with RejectWriter(out, "variants", ledger) as rejects:
        rejects.add("variant_of_another", rows=rows.height - kept.height)
    progress.advance(rows.height)
    progress.finish()
    return ledger


def create_singleton_sets(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return a `variants` table in which every query represents only itself."""
    return candidates.select(
        "query",
        pl.col("query").alias("representative"),
        pl.lit(None, pl.String).alias("variant_set"),
        "text",
        pl.lit(1.0).alias("similarity"),
        pl.lit("itself").alias("origin"),
    )


def merge_variant_counts(
    candidates: pl.DataFrame, variant_sets: pl.DataFrame, set_users: pl.DataFrame
) -> pl.DataFrame:
    """Return the representative of each variant set, with the total counts of all members.

    Args:
        candidates: Table with the schema `Candidates`.
        variant_sets: Table with the schema `Variants`.
        set_users: Number of distinct users of each set with several members, with the columns
            `query` (the representative) and `set_users`. For a set that is not in this table, the
            `users` of its members are summed.
    """
    members = candidates.drop("variant_set").join(
        variant_sets.select("query", "representative", "variant_set"), on="query"
    )
    summed = members.group_by("representative").agg(
        pl.col("text").filter(pl.col("query") == pl.col("representative")).first(),
        pl.col("topics").explode().unique().sort(),
        pl.col("impressions", "users", "clicks").sum(),
        pl.col("variant_set").first(),
    )
    return (
        summed.rename({"representative": "query"})
        .join(set_users, on="query", how="left")
        .with_columns(pl.coalesce("set_users", "users").alias("users"))
        .drop("set_users")
        .sort("query")
    )


def _count_set_users(
    connection: duckdb.DuckDBPyConnection, sets: pl.DataFrame, select: SelectionParameters
) -> pl.DataFrame:
    """Return the number of distinct users of every variant set with several members.

    The columns are `query` (the representative) and `set_users`. The table is empty if
    `select.anonymity` is not `users`, because impressions are then counted instead of users.
    """
    if select.anonymity != "users" or (sets["query"] == sets["representative"]).all():
        return pl.DataFrame(schema={"query": pl.UInt64, "set_users": pl.UInt32})
    connection.register("sets", sets.select("query", "representative").to_arrow())
    set_users: pl.DataFrame = connection.sql(SET_USERS).pl()
    return set_users
