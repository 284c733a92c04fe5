"""Pages that were shown and are not there."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from builder.documents import measure_coverage
from builder.errors import DataError
from builder.io.tables import table_at, write_frame
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64
from schemas import (
    Coverage,
    Documents,
    HostCoverage,
    Impressions,
    LogUrls,
    Pages,
    ShownDocuments,
)
from tests.documents.snapshots import store_pages

URL = "https://a.example/{}".format
KEY = {n: key64(URL(n)) for n in range(9)}


LOGGED = [URL(n) for n in range(6)]
CRAWLED = [URL(n) for n in (0, 1, 2, 8)]


def measure(
    folder: Path,
    *,
    kept: dict[int, int],
    collected: list[int],
    logged: Sequence[str] = LOGGED,
    crawled: Sequence[str] = CRAWLED,
) -> RowLedger:
    """Two result pages, of 0 to 3 and of 2 to 5; the crawl has 0, 1, 2 and 8."""
    keys = [key64(url) for url in logged]
    rows = [
        (0, 1, 10, 10, keys[:4], [1]),
        (1, 1, 11, 11, keys[2:], []),
    ]
    frames = {
        Impressions: pl.DataFrame(rows, schema=Impressions.dtypes(), orient="row"),
        LogUrls: pl.DataFrame(
            [(key64(url), url, url) for url in logged], schema=LogUrls.dtypes(), orient="row"
        ),
        ShownDocuments: pl.DataFrame(
            [(keys[n], times) for n, times in kept.items()],
            schema=ShownDocuments.dtypes(),
            orient="row",
        ),
    }
    for contract, frame in frames.items():
        write_frame(frame, folder / f"{contract.__name__}.parquet", contract)
    for home in ("out", "scratch"):
        (folder / home).mkdir()
    _, pages = store_pages(folder, dict.fromkeys(crawled, "x"))
    ids = pl.DataFrame({"doc_id": [doc_id(KEY[n]) for n in collected]}, {"doc_id": pl.String})
    ids.write_parquet(folder / "documents.parquet")
    ledger = measure_coverage(
        folder / "out",
        impressions=table_at(folder, "Impressions", Impressions),
        log_urls=table_at(folder, "LogUrls", LogUrls),
        shown_documents=table_at(folder, "ShownDocuments", ShownDocuments),
        pages=pages,
        documents=table_at(folder, "documents", Documents),
        limits=ResourceLimits(folder / "scratch", threads=1),
        progress=NoProgress(),
    )
    ledger.check("coverage")
    return ledger


def test_what_was_shown_and_what_is_there(tmp_path: Path) -> None:
    ledger = measure(tmp_path, kept={0: 1, 1: 1, 2: 1, 3: 1}, collected=[0, 2, 8])
    assert (ledger.rows_in, ledger.rows_out) == (4, 2)
    assert dict(ledger.rejected) == {"not_in_crawl": 1, "left_out_of_collection": 1}
    found = pl.read_parquet(tmp_path / "out/coverage.parquet")
    Coverage.validate(found)
    assert found.rows() == [("kept_queries", 4, 3, 2, 4, 3, 2), ("log", 6, 3, 2, 8, 4, 3)]
    hosts = HostCoverage.validate(pl.read_parquet(tmp_path / "out/host_coverage.parquet"))
    assert hosts.rows() == [("a.example", 4, 3, 2, 4, 3, 2)]
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet").sort("reason")
    assert rejects["key"].to_list() == [f"d{KEY[1]:016x}", f"d{KEY[3]:016x}"]


def test_coverage_counts_impressions_of_candidates_and_names_hosts(tmp_path: Path) -> None:
    """Documents 0 to 3 were shown, then 2 to 5; 2 and 3 are shown twice."""
    hosts = ["a.example", "b.example:81", "a.example", "b.example", "c.example", "c.example"]
    logged = [f"https://{host}/{n}" for n, host in enumerate(hosts)]
    for number, url in enumerate(logged):
        KEY[number] = key64(url)
    try:
        kept, crawled = {0: 3, 1: 2, 3: 4}, [*logged[:3], URL(8)]
        ledger = measure(tmp_path, kept=kept, collected=[1, 2], logged=logged, crawled=crawled)
    finally:
        KEY.update({n: key64(URL(n)) for n in range(9)})
    assert (ledger.rows_in, ledger.rows_out) == (3, 1)
    assert dict(ledger.rejected) == {"not_in_crawl": 1, "left_out_of_collection": 1}
    found = pl.read_parquet(tmp_path / "out/coverage.parquet")
    assert found.rows() == [("kept_queries", 3, 2, 1, 9, 5, 2), ("log", 6, 3, 2, 8, 4, 3)]
    assert pl.read_parquet(tmp_path / "out/host_coverage.parquet").rows() == [
        ("a.example", 1, 1, 0, 3, 3, 0),
        ("b.example", 1, 0, 0, 4, 0, 0),
        ("b.example:81", 1, 1, 1, 2, 2, 2),
    ]


def test_documents_crawled_under_another_form_of_their_url_are_noted(tmp_path: Path) -> None:
    """A log with http:// and a crawl with https:// had no judgement, and no word why."""
    logged = ["http://a.example/1", "https://www.b.example/x/?q=1", "https://c.example/d", *LOGGED]
    crawled = ["https://a.example/1/", "https://b.example/x?q=1", "https://c.example/e", URL(0)]
    kept = dict.fromkeys(range(4), 1)
    ledger = measure(tmp_path, kept=kept, collected=[], logged=logged[:6], crawled=crawled)
    assert ledger.notes == [
        (
            "2 of 4 documents shown are in the crawl only under a URL that differs in scheme, www. "
            "or final slash, such as http://a.example/1 in the log and https://a.example/1/ in the "
            "crawl; documents with different URLs are not matched: rewrite the URLs of the log or "
            "of the crawl"
        )
    ]


@pytest.mark.parametrize(("shown", "noted"), [(100, True), (101, False)])
def test_other_forms_of_fewer_than_one_in_a_hundred_urls_are_not_noted(
    shown: int, noted: bool, tmp_path: Path
) -> None:
    logged = ["http://a.example/1", *(f"https://b.example/{n}" for n in range(1, shown))]
    crawled = ["https://a.example/1", "https://b.example/1"]
    kept = dict.fromkeys(range(shown), 1)
    ledger = measure(tmp_path, kept=kept, collected=[], logged=logged, crawled=crawled)
    says = "1 of 100 documents shown are in the crawl only under a URL that differs in scheme"
    assert [note.partition(",")[0] for note in ledger.notes] == ([says] if noted else [])


def test_nothing_was_kept(tmp_path: Path) -> None:
    ledger = measure(tmp_path, kept={}, collected=[])
    assert (ledger.rows_in, ledger.rows_out) == (0, 0)
    assert ledger.rejected == {"not_in_crawl": 0, "left_out_of_collection": 0}
    assert ledger.notes == []
    found = pl.read_parquet(tmp_path / "out/coverage.parquet")
    assert found.rows() == [("kept_queries", 0, 0, 0, 0, 0, 0), ("log", 6, 3, 0, 8, 4, 0)]


def test_one_id_for_two_addresses_is_found(tmp_path: Path) -> None:
    out, scratch = tmp_path / "out2", tmp_path / "scratch2"
    out.mkdir()
    scratch.mkdir()
    measure(tmp_path, kept={}, collected=[])
    clash = pl.DataFrame([(KEY[0], "https://b.example/", URL(0))], LogUrls.dtypes(), orient="row")
    write_frame(clash, tmp_path / "LogUrls.parquet", LogUrls)
    with pytest.raises(DataError, match="one URL per document id"):
        measure_coverage(
            out,
            impressions=table_at(tmp_path, "Impressions", Impressions),
            log_urls=table_at(tmp_path, "LogUrls", LogUrls),
            shown_documents=table_at(tmp_path, "ShownDocuments", ShownDocuments),
            pages=table_at(tmp_path, "pages", Pages),
            documents=table_at(tmp_path, "documents", Documents),
            limits=ResourceLimits(scratch, threads=1),
            progress=NoProgress(),
        )
