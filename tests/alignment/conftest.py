"""Tables of a few rows, written as a build writes them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.alignment import align_snapshots
from builder.documents.tokens import document_tokens_expr, md5_hex
from builder.io.tables import Table, write_frame
from builder.parameters import ChangeParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64, url_key
from schemas import Documents, Qrels, Queries, TableSchema

Page = tuple[str, str, str]
"""Address, title, text."""


def frame(rows: Iterable[dict[str, Any]], contract: type[TableSchema]) -> pl.DataFrame:
    """Rows of a contract; columns that are not given are null."""
    kept = list(rows)
    columns = {name: [row.get(name) for row in kept] for name in contract.dtypes()}
    return pl.DataFrame(columns, schema=contract.dtypes())


def describe(pages: Sequence[Page]) -> pl.DataFrame:
    """Documents with these addresses and texts."""
    rows = pl.DataFrame(pages, schema=["url", "title", "text"], orient="row").with_columns(
        pl.col("url", "title", "text").cast(pl.String)
    )
    words = rows.select(document_tokens_expr().alias("w"))["w"]
    keys = [url_key(url) for url in rows["url"]]
    return rows.with_columns(
        pl.Series("doc_id", [doc_id(key64(key)) for key in keys], dtype=pl.String),
        pl.Series("url_key", keys, dtype=pl.String),
        pl.lit(0).alias("fetched_at"),
        pl.lit(True).alias("shown"),
        pl.lit(True).alias("sampled"),
        words.list.len().alias("tokens"),
        pl.Series("text_hash", md5_hex(rows["text"]), dtype=pl.String),
        pl.Series("token_hash", md5_hex(words.list.join(" ")), dtype=pl.String),
        *(
            pl.lit(None, dtype).alias(name)
            for name, dtype in Documents.dtypes().items()
            if name in ("title_en", "text_en", "language", "language_score")
        ),
    )


def identifier(url: str) -> str:
    """The document id of an address."""
    return doc_id(key64(url_key(url)))


@pytest.fixture
def limits(tmp_path: Path) -> ResourceLimits:
    """Small limits in a private folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return ResourceLimits(scratch, threads=2, memory=2**29)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[pl.DataFrame, type[TableSchema]], Table]:
    """Write a frame to a table of its own."""
    count = 0

    def store(rows: pl.DataFrame, contract: type[TableSchema]) -> Table:
        nonlocal count
        count += 1
        path = tmp_path / f"table-{count}.parquet"
        missing = [pl.lit(None).alias(n) for n in contract.dtypes() if n not in rows.columns]
        write_frame(rows.with_columns(*missing), path, contract)
        return Table((path,), contract)

    return store


@pytest.fixture
def align(
    tmp_path: Path,
    limits: ResourceLimits,
    stored: Callable[[pl.DataFrame, type[TableSchema]], Table],
) -> Callable[..., tuple[RowLedger, dict[str, pl.DataFrame]]]:
    """Run the stage on pages, queries and qrels of two snapshots."""
    runs = 0

    def run(
        before: Sequence[Page],
        after: Sequence[Page],
        earlier: Sequence[Sequence[Page]] = (),
        queries: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], []),
        qrels: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], []),
        crawls: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> tuple[RowLedger, dict[str, pl.DataFrame]]:
        nonlocal runs
        runs += 1
        out = tmp_path / f"out-{runs}"
        out.mkdir()
        ledger = align_snapshots(
            out,
            documents_from=stored(describe(before), Documents),
            documents_to=stored(describe(after), Documents),
            queries_from=stored(frame(queries[0], Queries), Queries),
            queries_to=stored(frame(queries[1], Queries), Queries),
            qrels_from=stored(frame(qrels[0], Qrels), Qrels),
            qrels_to=stored(frame(qrels[1], Qrels), Qrels),
            earlier=tuple(stored(describe(pages), Documents) for pages in earlier),
            from_snapshot="2022-06",
            to_snapshot="2022-09",
            params=ChangeParameters(**parameters),
            limits=limits,
            progress=NoProgress(),
            **(crawls or {}),
        )
        return ledger, {path.stem: pl.read_parquet(path) for path in out.glob("*.parquet")}

    return run
