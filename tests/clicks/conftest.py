"""Small logs and the stages run on them."""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.clicks import estimate_relevance, grade_pairs
from builder.io.tables import Table, table_at, write_frame
from builder.parameters import ClickParameters, QrelParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Candidates, ClickEstimates, Documents, Impressions, Qrels, TableSchema

Impression = tuple[int | None, int, list[int], list[int]]
"""User, query, results, clicks."""


@pytest.fixture
def limits(tmp_path: Path) -> ResourceLimits:
    """Two threads and 512 MiB."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return ResourceLimits(scratch, threads=2, memory=512 * 2**20)


@pytest.fixture
def table(tmp_path: Path) -> Callable[[Sequence[Any], type[TableSchema]], Table]:
    """Rows written as a table of a contract."""
    numbers = count()

    def write(rows: Sequence[Any], contract: type[TableSchema]) -> Table:
        path = tmp_path / f"table-{next(numbers)}.parquet"
        frame = pl.DataFrame(list(rows), schema=contract.dtypes(), orient="row")
        write_frame(frame, path, contract)
        return Table((path,), contract)

    return write


@pytest.fixture
def impressions(table: Any) -> Callable[[Sequence[Impression]], Table]:
    """A log as the table `impressions`."""

    def write(log: Sequence[Impression]) -> Table:
        rows = [
            (n, user, query, 0, shown, clicks) for n, (user, query, shown, clicks) in enumerate(log)
        ]
        return table(rows, Impressions)

    return write


@pytest.fixture
def candidates(table: Any) -> Callable[..., Table]:
    """Queries as the table `candidates`."""

    def write(*queries: int) -> Table:
        return table([(q, f"query {q}", ["topic"], 1, 1, 1, None) for q in queries], Candidates)

    return write


@pytest.fixture
def documents(tmp_path: Path) -> Callable[..., Table]:
    """Document ids as (the one column read of) the table `documents`."""

    def write(*docs: int) -> Table:
        path = tmp_path / "documents.parquet"
        ids = sorted(f"d{doc:016x}" for doc in docs)
        pl.DataFrame({"doc_id": ids}, schema={"doc_id": pl.String}).write_parquet(path)
        return Table((path,), Documents)

    return write


@pytest.fixture
def run_estimate(
    tmp_path: Path, limits: ResourceLimits, impressions: Any, candidates: Any
) -> Callable[..., tuple[Path, RowLedger]]:
    """The stage `clicks` on a small log; returns its folder and account."""
    numbers = count()

    def run(
        log: Sequence[Impression],
        params: ClickParameters | None = None,
        queries: Sequence[int] | None = None,
        **tables: Table,
    ) -> tuple[Path, RowLedger]:
        out = tmp_path / f"clicks-{next(numbers)}"
        out.mkdir()
        kept = sorted({query for _, query, _, _ in log}) if queries is None else queries
        ledger = estimate_relevance(
            out,
            impressions=impressions(log),
            candidates=candidates(*kept),
            params=params or ClickParameters(),
            limits=limits,
            progress=NoProgress(),
            **tables,
        )
        ledger.check("clicks")
        ClickEstimates.validate(pl.read_parquet(out / "click_estimates.parquet"))
        return out, ledger

    return run


@pytest.fixture
def run_grade(tmp_path: Path, limits: ResourceLimits) -> Callable[..., tuple[Path, RowLedger]]:
    """The stage `qrels`; returns its folder and account."""
    numbers = count()

    def run(estimates: Path | Table, **arguments: Any) -> tuple[Path, RowLedger]:
        out = tmp_path / f"qrels-{next(numbers)}"
        out.mkdir()
        if isinstance(estimates, Path):
            estimates = table_at(estimates, "click_estimates", ClickEstimates)
        arguments.setdefault("params", QrelParameters())
        ledger = grade_pairs(
            out, click_estimates=estimates, limits=limits, progress=NoProgress(), **arguments
        )
        ledger.check("qrels")
        Qrels.validate(pl.read_parquet(out / "graded_pairs.parquet"))
        return out, ledger

    return run
