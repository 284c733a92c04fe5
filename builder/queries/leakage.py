"""Detects leakage of held-out and test queries into training, and overlapping snapshots.

A leak is a held-out or test query that shares its id, its variant set, or its folded text
(lowercased, without accents and punctuation) with a training query. Leaks and overlapping snapshot
intervals are errors. A near-leak is a held-out or test query that is another spelling of a training
query; near-leaks are listed for manual review.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import duckdb
import polars as pl

from builder.errors import DataError
from builder.io.sources import Interval
from builder.io.tables import write_frame
from builder.parameters import VariantParameters
from builder.queries.signatures import signature_expr
from builder.queries.similarity import find_near_duplicate_signatures
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import All, HasFrench
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from builder.text.keys import fold
from schemas import NearLeaks, SplitQueries

TEST_SPLITS = ("heldout", "test")


@dataclass(frozen=True)
class SnapshotQueries:
    """Queries of a snapshot, with their splits.

    Args:
        name: Name of the snapshot.
        interval: Time interval of the snapshot; None if unknown.
        queries: Columns `query_id`, `text`, `split` and, optionally, `variant_set`.
    """

    name: str
    interval: Interval | None
    queries: pl.DataFrame


@dataclass(frozen=True)
class LeakageReport:
    """Leaks, near-leaks and overlapping intervals of a collection.

    Args:
        leaks: One row per leak and training query: `snapshot`, `query_id`, `text`, `split`,
            `trained_snapshot`, `trained_id`, `trained_text`, `by` (the value that the queries
            share: text, id or variant_set).
        near: One row per near-leak: the columns of `leaks`, with `similarity` instead of `by`.
        overlaps: Names of each pair of snapshots with overlapping intervals.
    """

    leaks: pl.DataFrame
    near: pl.DataFrame
    overlaps: tuple[tuple[str, str], ...]

    @property
    def is_clean(self) -> bool:
        """Whether there are no leaks and no overlapping intervals; near-leaks are permitted."""
        return self.leaks.is_empty() and not self.overlaps

    def require_clean(self) -> None:
        """Raise an error if there is a leak or if the intervals of two snapshots overlap.

        Raises:
            DataError: a held-out or test query leaks into training, or intervals overlap.
        """
        if self.overlaps:
            first, second = self.overlaps[0]
            raise DataError(
                f"expected disjoint snapshot intervals, but {first} and {second} overlap; change "
                "their intervals in the definition"
            )
        if not self.leaks.is_empty():
            rows = self.leaks.head(3).select("snapshot", "query_id", "split", "trained_snapshot")
            examples = "; ".join(
                f"{s} {q} ({p}) in the train split of {t}" for s, q, p, t in rows.rows()
            )
            raise DataError(
                f"expected no held-out or test query in training, found {self.leaks.height}: "
                f"{examples}; put queries that share a text, id or variant set in the same split"
            )


def check_leakage(
    snapshots: Sequence[SnapshotQueries],
    threshold: float,
    limits: ResourceLimits,
    has_french: bool = True,
) -> LeakageReport:
    """Find leaks, near-leaks and overlapping intervals in all snapshots of a collection.

    Args:
        snapshots: All snapshots of the collection.
        threshold: Minimum edit similarity of two spellings of a word (`variants.threshold`).
            Queries that differ only in spelling are near-leaks.
        limits: Memory and threads.
        has_french: Whether queries may be French; see `signatures.signature_expr`.
    """
    test, train = evaluation_and_train_queries(snapshots, has_french)
    leaks = find_exact_leaks(test, train)
    with limits.connect_to_duckdb() as connection:
        near = find_near_leaks(connection, test, train, threshold)
    pairs = ["query_id", "trained_id"]
    overlaps = _overlapping_intervals(snapshots)
    return LeakageReport(leaks, near.join(leaks, on=pairs, how="anti"), overlaps)


@stage("leakage", version="2", scope=Scope.COLLECTION, writes=(NearLeaks,))
def find_leaks(
    out: Path,
    *,
    split_queries: All[SplitQueries],
    params: VariantParameters,
    limits: ResourceLimits,
    progress: Progress,
    has_french: HasFrench = True,
) -> RowLedger:
    """Stage: stop the build if queries leak into training, and write a table of near-leaks.

    Args:
        out: Folder that receives `near_leaks.parquet` and `rejects.parquet`.
        split_queries: Tables of queries with their splits, by snapshot name.
        params: Section `[variants]` of the definition; its `threshold` defines near-leaks.
        limits: Memory and threads.
        progress: Advances by the number of queries.
        has_french: Whether queries may be French.

    Returns:
        The ledger: numbers of queries read, kept and rejected; no query is rejected.

    Raises:
        DataError: a held-out or test query leaks into training.
    """
    snapshots = [
        SnapshotQueries(name, None, table.scan().select(_EMPTY.columns).collect())
        for name, table in split_queries.items()
    ]
    report = check_leakage(snapshots, params.threshold, limits, has_french)
    report.require_clean()
    write_frame(report.near, out / "near_leaks.parquet", NearLeaks)
    rows = sum(snapshot.queries.height for snapshot in snapshots)
    progress.advance(rows)
    ledger = RowLedger("queries", rows, rows)
    with RejectWriter(out, "leakage", ledger):
        return ledger


def require_no_leaks(snapshots: Sequence[SnapshotQueries]) -> None:
    """Raise an error if a held-out or test query leaks into the training queries of any snapshot.

    Raises:
        DataError: a held-out or test query leaks into training.
    """
    leaks = find_exact_leaks(*evaluation_and_train_queries(snapshots))
    LeakageReport(leaks, leaks.clear(), ()).require_clean()


def evaluation_and_train_queries(
    snapshots: Sequence[SnapshotQueries], has_french: bool = True
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the held-out and test queries of all snapshots, and the training queries.

    Both are tables with the columns `folded`, `signature` and `variant_set` for comparing queries.
    """
    none = SnapshotQueries("", None, _EMPTY)
    queries = pl.concat([_add_signatures(s, has_french) for s in (none, *snapshots)])
    train = queries.filter(pl.col("split") == "train").select(
        pl.col("snapshot").alias("trained_snapshot"),
        pl.col("query_id").alias("trained_id"),
        pl.col("text").alias("trained_text"),
        "folded",
        "signature",
        "variant_set",
    )
    return queries.filter(pl.col("split").is_in(TEST_SPLITS)), train


_EMPTY = pl.DataFrame(
    schema={"query_id": pl.String, "text": pl.String, "split": pl.String, "variant_set": pl.String}
)
_TEST_COLUMNS = ("snapshot", "query_id", "text", "split")
_TRAIN_COLUMNS = ("trained_snapshot", "trained_id", "trained_text")


def _add_signatures(snapshot: SnapshotQueries, has_french: bool) -> pl.DataFrame:
    """Add the columns `snapshot`, `folded` and `signature` to the queries of a snapshot.

    `folded` is the text without case, accents and punctuation; `signature` contains the sorted
    stems of its content words.
    """
    queries = snapshot.queries
    if "variant_set" not in queries.columns:
        queries = queries.with_columns(variant_set=pl.lit(None, pl.String))
    return queries.select(
        pl.lit(snapshot.name).alias("snapshot"),
        "query_id",
        "text",
        "split",
        "variant_set",
        fold(pl.col("text")).alias("folded"),
        signature_expr(pl.col("text"), has_french).alias("signature"),
    )


def find_exact_leaks(test: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """Return all pairs of a test query and a training query with the same text, id or variant set.

    Args:
        test: Held-out and test queries; see `evaluation_and_train_queries`.
        train: Training queries; see `evaluation_and_train_queries`.
    """
    train_by_id = train.with_columns(query_id="trained_id")
    leaks = [
        test.join(other, on=key, how="inner").select(
            *_TEST_COLUMNS, *_TRAIN_COLUMNS, pl.lit(name).alias("by")
        )
        for name, key, other in (
            ("text", "folded", train),
            ("id", "query_id", train_by_id),
            ("variant_set", "variant_set", train),
        )
    ]
    return pl.concat(leaks).sort(pl.all())


def find_near_leaks(
    connection: duckdb.DuckDBPyConnection,
    test: pl.DataFrame,
    train: pl.DataFrame,
    threshold: float,
) -> pl.DataFrame:
    """Return all pairs of a test query and a training query that are spelling variants.

    Their folded texts differ, but their signatures are equal or near-duplicate.

    Args:
        connection: A DuckDB connection not shared with other callers.
        test: Held-out and test queries; see `evaluation_and_train_queries`.
        train: Training queries; see `evaluation_and_train_queries`.
        threshold: Minimum edit similarity of two spellings of a word.
    """
    signatures = pl.concat([test["signature"], train["signature"]]).unique().sort()
    links = find_near_duplicate_signatures(connection, signatures, threshold)
    equal = signatures.to_frame().select(
        "signature", pl.col("signature").alias("other"), pl.lit(1.0).alias("similarity")
    )
    return (
        test.join(pl.concat([equal, links]), on="signature")
        .join(train, left_on="other", right_on="signature")
        .filter(pl.col("folded") != pl.col("folded_right"))
        .select(*_TEST_COLUMNS, *_TRAIN_COLUMNS, "similarity")
        .sort(pl.all())
    )


def _overlapping_intervals(snapshots: Sequence[SnapshotQueries]) -> tuple[tuple[str, str], ...]:
    """Return the names of each pair of snapshots with overlapping intervals."""
    return tuple(
        (a.name, b.name)
        for a, b in combinations(snapshots, 2)
        if a.interval is not None
        and b.interval is not None
        and a.interval.start < b.interval.stop
        and b.interval.start < a.interval.stop
    )
