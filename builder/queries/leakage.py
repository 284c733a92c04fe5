"""Leakage: does anything that is tested on occur in training, and does time overlap?

In: the queries of every snapshot with their sides, and the intervals. Out: leaks, which are
faults (a held-out or test query whose folded text, id or variant set was trained on; two
intervals that intersect), and near-leaks, which are listed for a person to judge (another
spelling of a trained query).
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
from builder.queries.signatures import signature
from builder.queries.similarity import near_signatures
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import All
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from builder.text.keys import fold
from schemas import NearLeaks, SplitQueries

TESTED = ("heldout", "test")


@dataclass(frozen=True)
class SnapshotSides:
    """The queries of a snapshot and their sides.

    Args:
        name: Snapshot.
        interval: When its log was written; None when unknown.
        queries: Columns `query_id`, `text`, `split`, and `variant_set` where there are sets.
    """

    name: str
    interval: Interval | None
    queries: pl.DataFrame


@dataclass(frozen=True)
class LeakageReport:
    """What leaks.

    Args:
        leaks: `snapshot`, `query_id`, `text`, `split`, `trained_snapshot`, `trained_id`,
            `trained_text`, `by` (text, id or variant_set); must be empty.
        near: The same with `similarity` in place of `by`; for a person to look at.
        overlaps: Pairs of snapshots whose intervals intersect; must be empty.
    """

    leaks: pl.DataFrame
    near: pl.DataFrame
    overlaps: tuple[tuple[str, str], ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing leaks; near-leaks are no faults."""
        return self.leaks.is_empty() and not self.overlaps

    def require_clean(self) -> None:
        """Stop a build that leaks.

        Raises:
            DataError: a tested query was trained on, or intervals intersect.
        """
        if self.overlaps:
            first, second = self.overlaps[0]
            raise DataError(
                f"expected disjoint intervals, found {first} and {second} in one moment; a test "
                "period must lie outside the training period"
            )
        if not self.leaks.is_empty():
            rows = self.leaks.head(3).select("snapshot", "query_id", "split", "trained_snapshot")
            examples = "; ".join(f"{s} {q} ({p}) in train of {t}" for s, q, p, t in rows.rows())
            raise DataError(
                f"expected no tested query in training, found {self.leaks.height}: {examples}; "
                "draw the split anew from the ids of queries or variant sets"
            )


def check_leakage(
    snapshots: Sequence[SnapshotSides], threshold: float, limits: Limits
) -> LeakageReport:
    """Compare what is tested on with what is trained on, over all snapshots.

    Args:
        snapshots: All snapshots of a collection.
        threshold: Edit similarity from which two words are spellings of each other, for near
            leaks (`variants.threshold`).
        limits: Memory and threads.
    """
    tested, trained = tested_and_trained(snapshots)
    leaks = exact_leaks(tested, trained)
    with limits.connect() as connection:
        near = near_leaks(connection, tested, trained, threshold)
    pairs = ["query_id", "trained_id"]
    return LeakageReport(leaks, near.join(leaks, on=pairs, how="anti"), _overlaps(snapshots))


@stage("leakage", version="1", scope=Scope.COLLECTION, writes=(NearLeaks,))
def find_leaks(
    out: Path,
    *,
    split_queries: All[SplitQueries],
    params: VariantParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: stop a build that leaks, and list what nearly does.

    Args:
        out: Folder that receives `near_leaks.parquet` and `rejects.parquet`.
        split_queries: Queries of each snapshot with their sides, by name.
        params: `[variants]`; its threshold decides what is nearly the same.
        limits: Memory and threads.
        progress: Told the queries.

    Returns:
        An account of the queries; none is dropped.

    Raises:
        DataError: a tested query was trained on.
    """
    sides = [
        SnapshotSides(name, None, table.scan().select(_EMPTY.columns).collect())
        for name, table in split_queries.items()
    ]
    report = check_leakage(sides, params.threshold, limits)
    report.require_clean()
    write_frame(report.near, out / "near_leaks.parquet", NearLeaks)
    rows = sum(side.queries.height for side in sides)
    progress.advance(rows)
    ledger = Ledger("queries", rows, rows)
    with RejectWriter(out, "leakage", ledger):
        return ledger


def require_no_leak(snapshots: Sequence[SnapshotSides]) -> None:
    """Stop a build in which a tested query, exactly, was trained on.

    Raises:
        DataError: one was.
    """
    leaks = exact_leaks(*tested_and_trained(snapshots))
    LeakageReport(leaks, leaks.clear(), ()).require_clean()


def tested_and_trained(snapshots: Sequence[SnapshotSides]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The queries on either side, over all snapshots, with their identities."""
    queries = pl.concat([_described(SnapshotSides("", None, _EMPTY)), *map(_described, snapshots)])
    trained = queries.filter(pl.col("split") == "train").select(
        pl.col("snapshot").alias("trained_snapshot"),
        pl.col("query_id").alias("trained_id"),
        pl.col("text").alias("trained_text"),
        "folded",
        "signature",
        "variant_set",
    )
    return queries.filter(pl.col("split").is_in(TESTED)), trained


_EMPTY = pl.DataFrame(
    schema={"query_id": pl.String, "text": pl.String, "split": pl.String, "variant_set": pl.String}
)
_TESTED_COLUMNS = ("snapshot", "query_id", "text", "split")
_TRAINED_COLUMNS = ("trained_snapshot", "trained_id", "trained_text")


def _described(snapshot: SnapshotSides) -> pl.DataFrame:
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
    ).with_columns(signature(pl.col("folded")).alias("signature"))


def exact_leaks(tested: pl.DataFrame, trained: pl.DataFrame) -> pl.DataFrame:
    """Tested queries that were trained on, by each identity they share."""
    by_id = trained.with_columns(query_id="trained_id")
    found = [
        tested.join(other, on=key, how="inner").select(
            *_TESTED_COLUMNS, *_TRAINED_COLUMNS, pl.lit(name).alias("by")
        )
        for name, key, other in (
            ("text", "folded", trained),
            ("id", "query_id", by_id),
            ("variant_set", "variant_set", trained),
        )
    ]
    return pl.concat(found).sort(pl.all())


def near_leaks(
    connection: duckdb.DuckDBPyConnection,
    tested: pl.DataFrame,
    trained: pl.DataFrame,
    threshold: float,
) -> pl.DataFrame:
    """Tested queries whose signature equals, or nearly equals, that of a trained one."""
    signatures = pl.concat([tested["signature"], trained["signature"]]).unique().sort()
    links = near_signatures(connection, signatures, threshold)
    equal = signatures.to_frame().select(
        "signature", pl.col("signature").alias("other"), pl.lit(1.0).alias("similarity")
    )
    return (
        tested.join(pl.concat([equal, links]), on="signature")
        .join(trained, left_on="other", right_on="signature")
        .filter(pl.col("folded") != pl.col("folded_right"))
        .select(*_TESTED_COLUMNS, *_TRAINED_COLUMNS, "similarity")
        .sort(pl.all())
    )


def _overlaps(snapshots: Sequence[SnapshotSides]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (a.name, b.name)
        for a, b in combinations(snapshots, 2)
        if a.interval is not None
        and b.interval is not None
        and a.interval.start < b.interval.stop
        and b.interval.start < a.interval.stop
    )
