"""Pools for manual judging: runs in, the pairs that people should judge out.

A pair enters by its best rank in any run. `DEPTH` pools take the top k of every run (Sparck Jones
& van Rijsbergen 1975); the stratified pool is LongEval's: ranks 1-5 all, 6-10 half of them, 11-30 a
quarter. The sample is drawn by keyed hash of query and document: the same seed draws the same
pairs whatever other queries or runs there are, and a larger share contains the smaller one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.text.keys import in_sample
from builder.trec.released import read_run_of
from schemas import PooledPairs


@dataclass(frozen=True)
class Stratum:
    """Ranks that are sampled alike.

    Args:
        first: First rank.
        last: Last rank.
        share: Share of pairs that is judged.
    """

    first: int
    last: int
    share: float

    @property
    def name(self) -> str:
        """How the stratum is called in the pool."""
        return f"{self.first}-{self.last}"


DEEPEST = 1_000_000
"""Largest rank that may be pooled."""
LONGEVAL_STRATA = (Stratum(1, 5, 1.0), Stratum(6, 10, 0.5), Stratum(11, 30, 0.25))


def depth(k: int) -> tuple[Stratum, ...]:
    """The strata of a depth-k pool: one, taken whole.

    Raises:
        UsageError: k is not positive, or over `DEEPEST`.
    """
    if not 1 <= k <= DEEPEST:
        raise UsageError(f"--depth: expected 1 to {DEEPEST}, found {k}")
    return (Stratum(1, k, 1.0),)


@dataclass(frozen=True)
class Pool:
    """A pool and what it left out.

    Args:
        pairs: Rows of the contract `PooledPairs`, in its order.
        offered: Distinct pairs within the strata, before sampling.
        unknown_queries: Pairs left out because their query is not in the snapshot.
        unknown_documents: Pairs left out because their document is not in the snapshot.
        judged: Pairs left out because people have judged them.
    """

    pairs: pl.DataFrame
    offered: int
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
    """Draw the pairs that people should judge from several runs.

    Args:
        runs: Files in TREC format.
        queries: Queries of the snapshot; only `query_id` is read.
        documents: Documents of the snapshot; only `doc_id` is read.
        strata: Ranks and their sampling shares; ranks outside all of them are left out.
        seed: Key of the sample.
        judgements: What people have judged already (contract `Judgements`).
        snapshot: Folder of the snapshot: if it was imported, runs may be in the release's ids.

    Raises:
        UsageError: no run, no such file, or strata that overlap.
        FormatError: a run is not in TREC format.
    """
    _check(runs, strata)
    deepest = max(stratum.last for stratum in strata)
    best = (
        pl.concat([read_run_of(run, deepest, snapshot).ranking for run in runs])
        .group_by("query_id", "doc_id")
        .agg(pl.col("rank").min(), pl.len().cast(pl.UInt32).alias("runs"))
    )
    known = best.lazy().join(queries.select("query_id"), on="query_id", how="semi").collect()
    held = known.lazy().join(documents.select("doc_id"), on="doc_id", how="semi").collect()
    left = held
    if judgements is not None:
        left = held.lazy().join(judgements, on=["query_id", "doc_id"], how="anti").collect()
    offered = [_of(stratum, left) for stratum in strata]
    taken = [_sample(stratum, rows, seed) for stratum, rows in zip(strata, offered, strict=True)]
    pairs = pl.concat(taken).select(list(PooledPairs.dtypes())).sort(PooledPairs.sort_key())
    return Pool(
        pairs=pairs,
        offered=sum(rows.height for rows in offered),
        unknown_queries=best.height - known.height,
        unknown_documents=known.height - held.height,
        judged=held.height - left.height,
    )


def _check(runs: Sequence[Path], strata: Sequence[Stratum]) -> None:
    if not runs:
        raise UsageError("a pool needs at least one run")
    ranks = sorted((s.first, s.last) for s in strata)
    apart = all(before[1] < after[0] for before, after in pairwise(ranks))
    fits = all(1 <= s.first <= s.last <= DEEPEST and 0 < s.share <= 1 for s in strata)
    if not ranks or not fits or not apart:
        raise UsageError(
            "strata: expected ranks from 1 that do not overlap and shares above 0 up to 1, found "
            + ", ".join(f"{s.name} at {s.share:g}" for s in strata)
        )


def _of(stratum: Stratum, pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("rank").is_between(stratum.first, stratum.last))


def _sample(stratum: Stratum, pairs: pl.DataFrame, seed: str) -> pl.DataFrame:
    if stratum.share < 1:
        pair = pl.concat_str("query_id", "doc_id", separator=" ")
        pairs = pairs.filter(in_sample(pair, stratum.share, seed))
    return pairs.with_columns(
        stratum=pl.lit(stratum.name), share=pl.lit(stratum.share, dtype=pl.Float64)
    )
