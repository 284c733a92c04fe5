"""Pooling: selects the query-document pairs to be judged from the top ranks of runs.

A pair is assigned to a stratum by its best rank over all runs. A depth-k pool takes the top k of
every run (Sparck Jones & van Rijsbergen 1975). LongEval's stratified pool takes all of ranks 1-5,
half of ranks 6-10 and a quarter of ranks 11-30. Pairs are sampled by a keyed hash of query and
document, so the sample depends only on the seed and the rate, not on which other pairs are pooled.
With the same seed, a sample at a higher rate contains every sample at a lower rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.text.keys import in_sample
from builder.trec.released import read_snapshot_run
from schemas import PooledPairs


@dataclass(frozen=True)
class Stratum:
    """Range of ranks, and the fraction of its query-document pairs to be judged.

    Args:
        first: First rank.
        last: Last rank, inclusive.
        share: Fraction of the pairs to be judged (sampling rate), in (0, 1].
    """

    first: int
    last: int
    share: float

    @property
    def name(self) -> str:
        """Name of the stratum: its range of ranks, such as `6-10`."""
        return f"{self.first}-{self.last}"


MAX_DEPTH = 1_000_000
"""Maximum pool depth."""
LONGEVAL_STRATA = (Stratum(1, 5, 1.0), Stratum(6, 10, 0.5), Stratum(11, 30, 0.25))


def depth_strata(k: int) -> tuple[Stratum, ...]:
    """Return the single stratum of a depth-k pool: all pairs at ranks 1 to k.

    Raises:
        UsageError: k is not between 1 and `MAX_DEPTH`.
    """
    if not 1 <= k <= MAX_DEPTH:
        raise UsageError(f"--depth: expected a number from 1 to {MAX_DEPTH}, found {k}")
    return (Stratum(1, k, 1.0),)


@dataclass(frozen=True)
class Pool:
    """Pool of query-document pairs to be judged, with the number of pairs excluded for each reason.

    Args:
        pairs: Rows with the schema `PooledPairs`, in its sort order.
        eligible: Number of distinct pairs within the strata, before sampling.
        unknown_queries: Number of pairs excluded because the query is missing from the snapshot.
        unknown_documents: Number of pairs excluded because the document is missing from the
            snapshot.
        judged: Number of pairs excluded because they have already been judged.
    """

    pairs: pl.DataFrame
    eligible: int
    unknown_queries: int
    unknown_documents: int
    judged: int


def draw_pool(
    runs: Sequence[Path],
    *,
    queries: pl.LazyFrame,
    documents: pl.LazyFrame,
    strata: Sequence[Stratum] = LONGEVAL_STRATA,
    seed: str = "longeval-builder",
    judgements: pl.LazyFrame | None = None,
    snapshot: Path | None = None,
) -> Pool:
    """Select the query-document pairs to judge from the top ranks of runs.

    Args:
        runs: Run files in TREC format.
        queries: Queries of the snapshot; only `query_id` is read.
        documents: Documents of the snapshot; only `doc_id` is read.
        strata: Ranges of ranks with their sampling rates; other ranks are not pooled.
        seed: Key of the hash that samples query-document pairs.
        judgements: Existing judgements, excluded from the pool (schema `Judgements`).
        snapshot: Folder of the snapshot, used to resolve the original ids of an imported release.

    Raises:
        UsageError: No run is given, a file is missing, or strata are invalid or overlap.
        FormatError: A run is not in TREC format.
    """
    _check_inputs(runs, strata)
    deepest = max(stratum.last for stratum in strata)
    best = (
        pl.concat([read_snapshot_run(run, deepest, snapshot).ranking for run in runs])
        .group_by("query_id", "doc_id")
        .agg(pl.col("rank").min(), pl.len().cast(pl.UInt32).alias("runs"))
    )
    known = best.lazy().join(queries.select("query_id"), on="query_id", how="semi").collect()
    in_snapshot = known.lazy().join(documents.select("doc_id"), on="doc_id", how="semi").collect()
    unjudged = in_snapshot
    if judgements is not None:
        unjudged = (
            in_snapshot.lazy().join(judgements, on=["query_id", "doc_id"], how="anti").collect()
        )
    eligible = [_filter_stratum(stratum, unjudged) for stratum in strata]
    sampled = [
        _sample_stratum(stratum, rows, seed) for stratum, rows in zip(strata, eligible, strict=True)
    ]
    pairs = pl.concat(sampled).select(list(PooledPairs.dtypes())).sort(PooledPairs.sort_columns())
    return Pool(
        pairs=pairs,
        eligible=sum(rows.height for rows in eligible),
        unknown_queries=best.height - known.height,
        unknown_documents=known.height - in_snapshot.height,
        judged=in_snapshot.height - unjudged.height,
    )


def _check_inputs(runs: Sequence[Path], strata: Sequence[Stratum]) -> None:
    """Raise a UsageError if there are no runs, or if strata are invalid or overlap."""
    if not runs:
        raise UsageError("expected at least one run to pool, found none")
    ranks = sorted((s.first, s.last) for s in strata)
    apart = all(before[1] < after[0] for before, after in pairwise(ranks))
    fits = all(1 <= s.first <= s.last <= MAX_DEPTH and 0 < s.share <= 1 for s in strata)
    if not ranks or not fits or not apart:
        raise UsageError(
            "strata: expected ranges of ranks that start at 1 or later and do not overlap, with "
            "sampling rates in (0, 1], found "
            + ", ".join(f"{s.name} at {s.share:g}" for s in strata)
        )


def _filter_stratum(stratum: Stratum, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the query-document pairs whose best rank is in the stratum."""
    return pairs.filter(pl.col("rank").is_between(stratum.first, stratum.last))


def _sample_stratum(stratum: Stratum, pairs: pl.DataFrame, seed: str) -> pl.DataFrame:
    """Sample pairs at the stratum's rate, and add the columns `stratum` and `share`."""
    if stratum.share < 1:
        pair = pl.concat_str("query_id", "doc_id", separator=" ")
        pairs = pairs.filter(in_sample(pair, stratum.share, seed))
    return pairs.with_columns(
        stratum=pl.lit(stratum.name), share=pl.lit(stratum.share, dtype=pl.Float64)
    )
