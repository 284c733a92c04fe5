"""TREC runs: read, rank as trec_eval does, cut at one depth, write.

In: run files (plain, gzip, zstd) or frames of scored documents. Out: `Run`, whose ranking is
complete, duplicate-free and in the order in which trec_eval sees it: by score as a 32-bit float,
descending, then by document id in descending byte order. The rank column of a file is ignored.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.trec.bounded import MAX_BYTES, read_bounded
from builder.trec.lines import RUN, first_line, parse

DEFAULT_DEPTH = 1000
"""Documents per query that TREC runs hold, and that trec_eval users expect to be looked at."""


@dataclass(frozen=True)
class Run:
    """The ranking of one system for the queries of one snapshot.

    Args:
        tag: Name of the run, as in the last column of its file.
        ranking: `query_id` and `doc_id` (strings), `rank` (UInt32, from 1), `score` (Float64),
            sorted by query and rank.
        depth: Documents kept per query; None when the run was not cut.
    """

    tag: str
    ranking: pl.DataFrame
    depth: int | None = None

    @classmethod
    def from_scores(cls, scores: pl.DataFrame, tag: str, depth: int | None = None) -> "Run":
        """Rank scored documents.

        Args:
            scores: Columns `query_id`, `doc_id` and `score`, in any order.
            tag: Name of the run; no white space.
            depth: Documents to keep per query; None keeps all.

        Raises:
            DataError: a value is null or NaN, or a query has a document twice.
            UsageError: the tag holds white space, or the depth is below 1.
        """
        check_depth(depth)
        if not tag or len(tag.split()) != 1:
            raise UsageError(f"expected a run tag without white space, found {tag!r}")
        frame = scores.select(
            pl.col("query_id", "doc_id").cast(pl.String), pl.col("score").cast(pl.Float64)
        )
        _check(frame, tag)
        return cls(tag, rank_documents(frame, depth), depth)

    def cut(self, depth: int | None) -> "Run":
        """The same run at another depth.

        Raises:
            UsageError: the run was cut above that depth before, so its documents are lost.
        """
        check_depth(depth)
        if depth == self.depth:
            return self
        if self.depth is not None and (depth is None or depth > self.depth):
            raise UsageError(
                f"run {self.tag}: expected a run of depth {depth or 'unlimited'}, found one that "
                f"was cut at {self.depth}; read it again"
            )
        return Run(self.tag, self.ranking.filter(pl.col("rank") <= depth), depth)


def check_depth(depth: int | None) -> None:
    """Refuse a depth below 1.

    Raises:
        UsageError: the depth is below 1.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"expected a run depth of at least 1, found {depth}")


def _check(frame: pl.DataFrame, tag: str) -> None:
    if sum(frame.null_count().row(0)) or frame["score"].is_nan().any():
        raise DataError(f"run {tag}: expected a query, a document and a number in every row")
    pairs = frame.select("query_id", "doc_id")
    if pairs.n_unique() != pairs.height:
        first = pairs.filter(pairs.is_duplicated()).row(0)
        raise DataError(f"run {tag}: document {first[1]!r} comes twice for query {first[0]!r}")


def rank_documents(scores: pl.DataFrame, depth: int | None = None) -> pl.DataFrame:
    """Order scored documents as trec_eval does and number them.

    trec_eval keeps scores as 32-bit floats, so that two scores which differ by less than that are
    tied, and breaks ties by document id, descending.

    Args:
        scores: Columns `query_id`, `doc_id`, `score`; unique by the first two, no NaN.
        depth: Documents to keep per query; None keeps all.

    Returns:
        Columns `query_id`, `doc_id`, `rank`, `score`, sorted by query and rank.
    """
    ranked = (
        scores.with_columns(seen=pl.col("score").cast(pl.Float32))
        .sort("query_id", "seen", "doc_id", descending=[False, True, True])
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("query_id"))
    )
    if depth is not None:
        ranked = ranked.filter(pl.col("rank") <= depth)
    return ranked.select("query_id", "doc_id", "rank", "score")


def read_run(path: Path, depth: int | None = DEFAULT_DEPTH, *, max_bytes: int = MAX_BYTES) -> Run:
    """Read a TREC run.

    Args:
        path: The file: six columns, plain, gzip or zstd.
        depth: Documents to keep per query after ranking; None keeps all.
        max_bytes: Largest decompressed size accepted.

    Raises:
        UsageError: the path is not a readable file, or the depth is below 1.
        FormatError: wrong columns, a duplicate document, a score that is not a number (NaN
            included), a damaged or too large file; names file and line.
    """
    check_depth(depth)
    data = read_bounded(path, max_bytes)
    scores = parse(data, RUN, path)
    first = first_line(data).split()
    tag = first[-1].decode(errors="replace") if first else path.name
    return Run(tag, rank_documents(scores, depth), depth)


def write_run(run: Run, path: Path) -> None:
    """Write a run as a TREC file, compressed where the name ends in `.gz`.

    The same run is always the same bytes. Scores are written in full, so that reading the file
    gives the same ranking.
    """
    lines = run.ranking.select(
        pl.format(
            "{} Q0 {} {} {} {}\n",
            "query_id",
            "doc_id",
            "rank",
            pl.col("score").map_elements(repr, return_dtype=pl.String),
            pl.lit(run.tag),
        )
    ).to_series()
    data = "".join(lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)
