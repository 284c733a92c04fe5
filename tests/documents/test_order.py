"""Documents do not depend on the order of pages, on memory, threads or who works on them."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random

import duckdb
import polars as pl
import pytest

from builder.documents import build_documents, key_order
from builder.io.tables import table_at, write_frame
from builder.parameters import DocumentParameters
from builder.runtime.executors import Executor, LocalExecutor, ProcessExecutor
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64
from schemas import Documents, ShownDocuments
from tests.crawled import write_crawled

WORDS = "la mer monte et le vent pousse une barque vers des iles que personne ne connait".split()
COUNT = 240


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    """Two other processes."""
    executor = ProcessExecutor()
    yield executor
    executor.close()


def _texts() -> list[str]:
    """Texts of which every eighth is that of the page before, and every tenth nearly."""
    rng, texts = Random(3), [""]
    for n in range(1, COUNT):
        words = rng.choices(WORDS, k=120)
        nearly = f"{texts[-1]} fin{n}"
        texts.append(texts[-1] if n % 8 == 0 else nearly if n % 10 == 0 else " ".join(words))
    return [text or "rien" for text in texts]


def _pages() -> pl.DataFrame:
    urls = [f"https://a.example/{n}" for n in range(COUNT)]
    rows = {"doc_id": [doc_id(key64(url)) for url in urls], "url": urls, "text": _texts()}
    return pl.DataFrame(rows).with_columns(url_key="url", fetched_at=5, title=pl.lit("t"))


def _gather(
    folder: Path, order: Sequence[int], threads: int, executor: Executor
) -> tuple[list[bytes], RowLedger]:
    """Gather pages that come in this order, in row groups of 20."""
    fetches, pages = write_crawled(_pages()[list(order)], folder, rows_per_group=20)
    shown = pl.DataFrame({"doc": [key64("https://a.example/9")], "impressions": 1})
    shown = shown.cast(ShownDocuments.dtypes())  # type: ignore[arg-type]
    write_frame(shown, folder / "shown_documents.parquet", ShownDocuments)
    (folder / "scratch").mkdir()
    ledger = build_documents(
        folder,
        fetches=fetches,
        pages=pages,
        shown_documents=table_at(folder, "shown_documents", ShownDocuments),
        params=DocumentParameters(sample_share=0.6, duplicates="keep_first"),
        limits=ResourceLimits(folder / "scratch", threads, 2**30, executor),
        progress=NoProgress(),
    )
    ledger.check("documents")
    return [path.read_bytes() for path in sorted((folder / "gathered_documents").iterdir())], ledger


def test_parts_are_of_similar_size(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = import_module("builder.documents.stage")
    monkeypatch.setattr(stage, "PART_BYTES", 100)
    sizes = [(0, 60), (0, 30), (1, 20), (2, 90), (200, 100), (255, 10)]
    rows = [(prefix << 56 | n, size) for n, (prefix, size) in enumerate(sizes)]
    fingerprinted = pl.DataFrame(rows, {"doc": pl.UInt64, "text_bytes": pl.Int64}, orient="row")
    with duckdb.connect() as connection:
        connection.register("fingerprinted", fingerprinted.to_arrow())
        assert stage._last_prefix_per_part(connection) == [0, 2, 200]  # at least 310 / 4 bytes each
        connection.register("fingerprinted", fingerprinted.clear().to_arrow())
        assert stage._last_prefix_per_part(connection) == []


def test_rows_are_split_where_parts_end() -> None:
    stage = import_module("builder.documents.stage")
    keys = [5, 1 << 56, (2 << 56) - 1, 2 << 56, 200 << 56, 2**64 - 1]
    batches = [pl.DataFrame({"doc": part}, {"doc": pl.UInt64}) for part in (keys[:2], keys[2:])]
    (first, none), *found = stage._split_at_parts(batches, [1, 200])
    assert (first, none.height) == (0, 0)
    assert [(part, rows["doc"].to_list()) for part, rows in found] == [
        (0, keys[:2]),
        (0, keys[2:3]),
        (1, keys[3:5]),
        (2, keys[5:]),
    ]


def test_the_same_bytes(
    tmp_path: Path, processes: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("builder.documents.stage"), "PART_BYTES", 20_000)
    orders = [list(range(COUNT)), list(range(COUNT))]
    Random(1).shuffle(orders[1])
    monkeypatch.setattr(import_module("builder.documents.row_groups"), "DECODED_ROWS", 7)
    here = LocalExecutor()
    found = []
    cases = [
        (orders[0], 1, 8, here),
        (orders[1], 2, 8, here),
        (orders[0], 2, 10_000, here),
        (orders[1], 7, 40_000, here),
        (orders[1], 2, 8, processes),
        (orders[0], 2, 10_000, processes),
    ]
    for number, (order, threads, share, executor) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.setattr(key_order, "MEMORY_SHARE", share)
        found.append(_gather(folder, order, threads, executor))
    parts, ledger = found[0]
    assert len(parts) > 2
    assert ledger.rejected["duplicate"] > 5
    assert ledger.rejected["not_in_sample"] > 50
    assert all(other == (parts, ledger) for other in found[1:])
    documents = pl.read_parquet(sorted((tmp_path / "0/gathered_documents").iterdir()))
    for size in (1, 10**9):  # a part for each first byte of the keys, and one for all
        monkeypatch.setattr(import_module("builder.documents.stage"), "PART_BYTES", size)
        folder = tmp_path / f"parts-{size}"
        folder.mkdir()
        _gather(folder, orders[1], 2, here)
        assert pl.read_parquet(sorted((folder / "gathered_documents").iterdir())).equals(documents)
    assert documents["doc_id"].is_sorted()
    assert documents["near_duplicate_group"].drop_nulls().len() > 5
    assert documents.filter("shown")["url"].to_list() == ["https://a.example/9"]
    Documents.validate(documents)
    texts = dict(zip(_pages()["doc_id"], _texts(), strict=True))
    assert documents["text"].to_list() == [texts[doc] for doc in documents["doc_id"]]
