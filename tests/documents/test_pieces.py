"""Row groups are fingerprinted by threads or by processes: what is written is the same."""

import hashlib
import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from builder.documents import build_documents, fingerprint_store
from builder.documents.fingerprint_store import build_fingerprint_store
from builder.documents.row_groups import iter_row_groups
from builder.documents.rules import PageRules
from builder.io.tables import Table
from builder.parameters import DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from tests.documents.snapshots import store_pages, store_shown

DRAW = random.Random(11)
WORDS = [f"mot{n}" for n in range(300)]
SHOWN = ["https://a.example/1-3"]


def several_parts(folder: Path, count: int = 5) -> tuple[Table, Table]:
    """Pages in as many row groups, with copies and near copies of a text in all of them."""
    base = DRAW.choices(WORDS, k=120)
    texts: dict[str, str] = {}
    for part in range(count):
        texts |= {
            f"https://a.example/{part}-{n}": " ".join(
                base if n == 0 else [*base[:60], f"autre{part}", *base[60:]] if n == 1
                else DRAW.choices(WORDS, k=120)
            )
            for n in range(6)
        }  # fmt: skip
    return store_pages(folder, texts, rows_per_group=6)


def gathered(folder: Path, crawl: tuple[Table, Table], **limits: int) -> dict[str, str]:
    """The sums of all files of the stage."""
    out, scratch = folder / "out", folder / "scratch"
    for home in (out, scratch):
        home.mkdir(parents=True)
    ledger = build_documents(
        out,
        fetches=crawl[0],
        pages=crawl[1],
        shown_documents=store_shown(folder, SHOWN),
        params=DocumentParameters(sample_share=0.8, near_duplicates="keep_first"),
        limits=ResourceLimits(scratch, **limits),
        progress=NoProgress(),
    )
    ledger.check("documents")
    assert ledger.rows_in == 30
    assert ledger.rejected["near_duplicate"] > 0
    files = sorted(out.rglob("*.parquet"))
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_threads_and_processes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = several_parts(tmp_path)
    whole = gathered(tmp_path / "whole", pages, threads=1)
    assert gathered(tmp_path / "threads", pages, threads=3) == whole
    monkeypatch.setattr(fingerprint_store, "MIN_POOL_BYTES", 0)
    assert gathered(tmp_path / "processes", pages, threads=2, memory=2**30) == whole


def test_a_task_names_its_row_group(tmp_path: Path) -> None:
    """A worker that dies is reported with its task."""
    last = list(iter_row_groups(*several_parts(tmp_path)))[-1]
    accepted = fingerprint_store.AcceptedPages(last, pl.DataFrame(), Counter())
    assert str(accepted) == "row group 4 of fetches.parquet"


@pytest.mark.parametrize("large", [0, 2**40])
def test_pages_that_are_all_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(fingerprint_store, "MIN_POOL_BYTES", large)
    params = DocumentParameters(sample_share=0.0)
    rules = PageRules(pl.Series([], dtype=pl.UInt64), params)
    limits = ResourceLimits(tmp_path, threads=2, memory=2**30)
    store = build_fingerprint_store(
        list(iter_row_groups(*several_parts(tmp_path))), rules, params, limits, NoProgress()
    )
    assert store.excluded == {"not_in_sample": 30}
    with limits.connect_to_duckdb() as connection:
        store.create_fingerprints_view(connection)
        assert store.find_duplicates(connection, 0.8).is_empty()
        assert connection.table("fingerprinted").fetchall() == []


def test_a_small_crawl_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr("builder.runtime.executors.ProcessExecutor", fail)
    gathered(tmp_path / "small", several_parts(tmp_path), threads=2, memory=2**30)
