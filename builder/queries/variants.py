"""Variants: which candidate stands for which, and the counts of those that stand for a set.

In: candidates and impressions of a snapshot, hand-made sets, the variants of earlier snapshots.
Out: `variants`, the map that the click model counts by, and `kept_candidates`, the candidates that
go on. With merged clicks a set is one query: its representative, with the impressions, clicks and
distinct users of all members and the topics of any of them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.sources import Source
from builder.io.tables import write_frame
from builder.parameters import SplitParameters, VariantParameters
from builder.queries.given_sets import read_given_sets
from builder.queries.sets import form_sets
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Before, Files, Same, Setting
from builder.runtime.stage import stage
from schemas import Candidates, Impressions, KeptCandidates, Variants

USERS_OF_SETS = """
WITH members AS (
    SELECT query, representative FROM sets
    SEMI JOIN (SELECT representative FROM sets GROUP BY ALL HAVING count(*) > 1)
        USING (representative)
), askers AS (
    SELECT DISTINCT representative, "user" FROM log JOIN members USING (query)
    WHERE "user" IS NOT NULL
)
SELECT representative AS query, count(*)::UINTEGER AS askers FROM askers GROUP BY representative
"""


@stage("variants", version="1", writes=(Variants, KeptCandidates))
def find_variants(
    out: Path,
    *,
    candidates: Same[Candidates],
    impressions: Same[Impressions],
    earlier: Before[Variants],
    params: VariantParameters,
    split: Annotated[SplitParameters, Setting(lambda w, _: w.split)],
    limits: Limits,
    progress: Progress,
    files: Annotated[Sequence[Source], Files(lambda w, _: w.variants.files)] = (),
) -> Ledger:
    """Stage: find the variant sets of a snapshot and merge their counts.

    Args:
        out: Folder that receives `variants.parquet`, `kept_candidates.parquet` (contract
            `Candidates`) and `rejects.parquet`.
        candidates: See `schemas.Candidates`.
        impressions: See `schemas.Impressions`; read for the distinct users of merged sets alone.
        earlier: `variants` of the snapshots before, in order of time: what was one set stays one.
        params: `[variants]`.
        split: `[split]`; no set crosses its line.
        limits: Memory and threads.
        progress: Told the candidates.
        files: Hand-made sets.

    Returns:
        An account of the candidates; dropped ones are counted under their representative.

    Raises:
        FormatError: a file of hand-made sets is not one.
    """
    rows = candidates.scan().collect()
    progress.start("variants", rows.height, "queries")
    with limits.connect(0.5) as connection:
        if params.sets == "off":
            sets = alone(rows)
        else:
            before = [table.scan().collect() for table in earlier]
            sets = form_sets(connection, rows, read_given_sets(files), before, params, split)
        if params.merge != "clicks":
            sets = sets.with_columns(representative="query")
        impressions.view(connection, "log")
        kept = merge_counts(rows, sets, _users_of_sets(connection, sets))
    write_frame(sets, out / "variants.parquet", Variants)
    write_frame(kept, out / "kept_candidates.parquet", Candidates)
    ledger = Ledger("queries", rows.height, kept.height)
    with RejectWriter(out, "variants", ledger) as rejects:
        rejects.add("variant_of_another", rows=rows.height - kept.height)
    progress.advance(rows.height)
    progress.finish()
    return ledger


def alone(candidates: pl.DataFrame) -> pl.DataFrame:
    """The table `variants` when every query stands for itself and no sets are formed."""
    return candidates.select(
        "query",
        pl.col("query").alias("representative"),
        pl.lit(None, pl.String).alias("variant_set"),
        "text",
        pl.lit(1.0).alias("similarity"),
        pl.lit("itself").alias("origin"),
    )


def merge_counts(
    candidates: pl.DataFrame, sets: pl.DataFrame, askers: pl.DataFrame
) -> pl.DataFrame:
    """The candidates that represent a set, with the counts of the whole set.

    Args:
        candidates: See `schemas.Candidates`.
        sets: See `schemas.Variants`.
        askers: Distinct users of the sets with several members: `query`, `askers`. A set without
            one comes from a log whose impressions stand in for users; there users add up.
    """
    members = candidates.drop("variant_set").join(
        sets.select("query", "representative", "variant_set"), on="query"
    )
    summed = members.group_by("representative").agg(
        pl.col("text").filter(pl.col("query") == pl.col("representative")).first(),
        pl.col("topics").explode().unique().sort(),
        pl.col("impressions", "users", "clicks").sum(),
        pl.col("variant_set").first(),
    )
    return (
        summed.rename({"representative": "query"})
        .join(askers, on="query", how="left")
        .with_columns(pl.coalesce("askers", "users").alias("users"))
        .drop("askers")
        .sort("query")
    )


def _users_of_sets(connection: duckdb.DuckDBPyConnection, sets: pl.DataFrame) -> pl.DataFrame:
    """Distinct users of every set with several members."""
    if (sets["query"] == sets["representative"]).all():
        return pl.DataFrame(schema={"query": pl.UInt64, "askers": pl.UInt32})
    connection.register("sets", sets.select("query", "representative").to_arrow())
    askers: pl.DataFrame = connection.sql(USERS_OF_SETS).pl()
    return askers
