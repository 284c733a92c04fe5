"""Reads, ranks, truncates and writes TREC runs.

A `Run` is read from a file (plain, gzip, zstd) or created from a frame of scored documents. Each of
its queries has unique documents in the order of trec_eval, which sorts by descending score (as a
32-bit float) and then by descending document id (in byte order). The rank column of a file is
ignored.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.trec.bounded import MAX_BYTES, read_decompressed_bytes
from builder.trec.lines import RUN, first_nonblank_line, parse_trec

DEFAULT_DEPTH = 1000
"""Default maximum number of documents per query, the usual depth of TREC runs."""


@dataclass(frozen=True)
class Run:
    """Documents that one system ranked for the queries of one snapshot.

    Args:
        tag: Name of the run, as in the last column of its file.
        ranking: Columns `query_id` and `doc_id` (strings), `rank` (UInt32, from 1) and `score`
            (Float64), sorted by query and rank.
        depth: Maximum number of documents per query; None if the run was not truncated.
    """

    tag: str
    ranking: pl.DataFrame
    depth: int | None = None

    @classmethod
    def from_scores(cls, scores: pl.DataFrame, tag: str, depth: int | None = None) -> "Run":
        """Create a run by ranking scored documents.

        Args:
            scores: Columns `query_id`, `doc_id` and `score`, in any order.
            tag: Name of the run, without whitespace.
            depth: Maximum number of documents per query; None keeps all.

        Raises:
            DataError: A value is null or NaN, or a query has a duplicate document.
            UsageError: The tag is empty or contains whitespace, or the depth is below 1.
        """
        check_depth(depth)
        if not tag or len(tag.split()) != 1:
            raise UsageError(f"expected a nonempty run tag without whitespace, found {tag!r}")
        frame = scores.select(
            pl.col("query_id", "doc_id").cast(pl.String), pl.col("score").cast(pl.Float64)
        )
        _validate_scores(frame, tag)
        return cls(tag, rank_documents(frame, depth), depth)

    def truncate(self, depth: int | None) -> "Run":
        """Return the run with at most `depth` documents per query.

        Raises:
            UsageError: The depth is below 1, or larger than the depth of this run.
        """
        check_depth(depth)
        if depth == self.depth:
            return self
        if self.depth is not None and (depth is None or depth > self.depth):
            requested = "unlimited depth" if depth is None else f"depth {depth}"
            raise UsageError(
                f"run {self.tag}: cannot extend to {requested}, because the run was truncated at "
                f"depth {self.depth}; read the file again with a larger depth"
            )
        return Run(self.tag, self.ranking.filter(pl.col("rank") <= depth), depth)


def check_depth(depth: int | None) -> None:
    """Raise an error if a run depth is below 1; None is valid and means unlimited depth.

    Raises:
        UsageError: The depth is below 1.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"expected a run depth of at least 1, found {depth}")


def _validate_scores(frame: pl.DataFrame, tag: str) -> None:
    if sum(frame.null_count().row(0)) or frame["score"].is_nan().any():
        raise DataError(f"run {tag}: expected a query id, a document id and a score in every row")
    pairs = frame.select("query_id", "doc_id")
    if pairs.n_unique() != pairs.height:
        first = pairs.filter(pairs.is_duplicated()).row(0)
        raise DataError(f"run {tag}: duplicate document {first[1]!r} for query {first[0]!r}")


def rank_documents(scores: pl.DataFrame, depth: int | None = None) -> pl.DataFrame:
    """Rank scored documents in the order of trec_eval.

    trec_eval keeps scores as 32-bit floats, so scores that are equal after rounding are tied. Ties
    are broken by document id, descending.

    Args:
        scores: Columns `query_id`, `doc_id`, `score`; pairs are unique and scores are not NaN.
        depth: Maximum number of documents per query; None keeps all.

    Returns:
        Columns `query_id`, `doc_id`, `rank`, `score`, sorted by query and rank.
    """
    ranked = (
        scores.with_columns(float32_score=pl.col("score").cast(pl.Float32))
        .sort("query_id", "float32_score", "doc_id", descending=[False, True, True])
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("query_id"))
    )
    if depth is not None:
        ranked = ranked.filter(pl.col("rank") <= depth)
    return ranked.select("query_id", "doc_id", "rank", "score")


def read_run(path: Path, depth: int | None = DEFAULT_DEPTH, *, max_bytes: int = MAX_BYTES) -> Run:
    """Read a run file in TREC format.

    Args:
        path: File with six columns, plain or compressed with gzip or zstd.
        depth: Maximum number of documents per query, applied after ranking; None keeps all.
        max_bytes: Maximum decompressed size in bytes.

    Raises:
        UsageError: The path is not a readable file, or the depth is below 1.
        FormatError: The file is damaged or too large, or has a wrong number of columns, a duplicate
            document or an invalid score (including NaN); the error names the file and line.
    """
    check_depth(depth)
    data = read_decompressed_bytes(path, max_bytes)
    scores = parse_trec(data, RUN, path)
    first = first_nonblank_line(data).split()
    tag = first[-1].decode(errors="replace") if first else path.name
    return Run(tag, rank_documents(scores, depth), depth)


def write_run(run: Run, path: Path) -> None:
    """Write a run as a TREC file, compressed with gzip if the path ends in `.gz`.

    Scores are written in full precision, so reading the file gives the same ranking. Equal runs
    give identical bytes.

    Raises:
        DataError: An id is empty or contains whitespace, which separates the columns of the file.
    """
    for name in ("query_id", "doc_id"):
        ids = run.ranking[name]
        wrong = ids.filter(~ids.str.contains(r"^\S+$"))
        if len(wrong):
            raise DataError(
                f"{path}: expected ids without whitespace in a run, found {name} {wrong[0]!r}"
            )
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
