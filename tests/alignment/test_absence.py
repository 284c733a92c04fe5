"""Why a page is missing: the crawl lacks it, or it was not sampled, not shown, or left out."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builder.alignment.absence import CrawlTables
from builder.alignment.document_changes import align_documents
from builder.alignment.id_maps import build_id_maps
from builder.io.tables import Table
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import key64
from schemas import DocumentChanges, Documents, Pages, Queries, ShownDocuments, TableSchema
from tests.alignment.conftest import describe, frame, identifier

Store = Callable[[pl.DataFrame, type[TableSchema]], Table]
URLS = [f"https://site.fr/{name}" for name in "abcdef"]
NONE, ALL = (DocumentParameters(sample_share=share) for share in (0.0, 1.0))


def documents(*urls: str, sampled: bool = True) -> pl.DataFrame:
    rows = describe([(url, "T", f"texte {url}") for url in urls])
    return rows.with_columns(sampled=pl.lit(value=sampled))


def crawled(*urls: str) -> pl.DataFrame:
    return pl.DataFrame({"doc": sorted(map(key64, urls))}, {"doc": pl.UInt64})


def shown(*urls: str) -> pl.DataFrame:
    rows = [(key64(url), 1) for url in sorted(urls, key=key64)]
    return pl.DataFrame(rows, ShownDocuments.dtypes(), orient="row")


@pytest.fixture
def statuses(limits: ResourceLimits, stored: Store, tmp_path: Any) -> Callable[..., dict[str, Any]]:
    """Status, and whether the other crawl has the page, of every page of two snapshots."""

    def run(
        before: pl.DataFrame, after: pl.DataFrame, crawls: CrawlTables | None
    ) -> dict[str, Any]:
        target = tmp_path / "document_changes.parquet"
        with limits.connect_to_duckdb() as connection:
            align_documents(
                connection,
                target,
                stored(before, Documents),
                stored(after, Documents),
                (),
                ("2022-06", "2022-07"),
                ChangeParameters(),
                limits,
                NoProgress(),
                crawls,
            )
        rows = DocumentChanges.validate(pl.read_parquet(target))
        return {row["doc_id"]: (row["status"], row["crawled"]) for row in rows.to_dicts()}

    return run


def test_a_page_that_the_crawl_still_has_is_not_removed(
    statuses: Callable[..., dict[str, Any]], stored: Store
) -> None:
    a, b, c, d, *_ = URLS
    crawls = CrawlTables(
        stored(crawled(a, b, c, d), Pages),
        stored(crawled(a, b, d), Pages),
        stored(shown(d), ShownDocuments),
        NONE,
    )
    before = pl.concat([documents(a), documents(b, sampled=False), documents(c, d)])
    found = statuses(before.sort("doc_id"), documents(), crawls)
    assert [found[identifier(url)] for url in (a, b, c, d)] == [
        ("not_sampled", True),
        ("not_shown", True),
        ("removed", False),
        ("left_out", True),
    ]


def test_a_sampled_page_is_left_out_by_a_rule(
    statuses: Callable[..., dict[str, Any]], stored: Store
) -> None:
    pages = stored(crawled(URLS[0]), Pages)
    found = statuses(documents(URLS[0]), documents(), CrawlTables(pages, pages, None, ALL))
    assert found == {identifier(URLS[0]): ("left_out", True)}


def test_an_added_page_may_have_been_crawled_before(
    statuses: Callable[..., dict[str, Any]], stored: Store
) -> None:
    old, new = URLS[:2]
    pages = stored(crawled(old), Pages)
    found = statuses(documents(), documents(old, new), CrawlTables(pages, pages, None, ALL))
    assert found == {identifier(old): ("added", True), identifier(new): ("added", False)}


def test_nothing_is_known_of_the_crawls_of_a_release(
    statuses: Callable[..., dict[str, Any]],
) -> None:
    found = statuses(documents(URLS[0]), documents(URLS[1]), None)
    assert set(found.values()) == {("removed", None), ("added", None)}


def test_a_page_that_is_still_crawled_did_not_move(
    statuses: Callable[..., dict[str, Any]], stored: Store
) -> None:
    old, new = "https://site.fr/x", "https://www.site.fr/x"
    both = stored(crawled(old, new), Pages)
    found = statuses(documents(old), documents(new), CrawlTables(both, both, None, NONE))
    assert found[identifier(old)] == ("not_sampled", True)


def test_only_pages_of_one_snapshot_are_looked_for_in_the_other_crawl(
    statuses: Callable[..., dict[str, Any]], stored: Store
) -> None:
    """One crawl may be known alone; an empty one has no page."""
    kept, old, new = URLS[:3]
    before = documents(kept, old).sort("doc_id")
    after = documents(kept, new).sort("doc_id")
    pages = stored(crawled(kept, old, new), Pages)
    empty = Table((), Pages)
    for crawls, gone, added in (
        (CrawlTables(pages, pages, None, NONE), ("not_sampled", True), ("added", True)),
        (CrawlTables(None, pages, None, NONE), ("not_sampled", True), ("added", None)),
        (CrawlTables(pages, None, None, NONE), ("removed", None), ("added", True)),
        (CrawlTables(pages, pages), ("removed", True), ("added", True)),
        (CrawlTables(empty, empty, None, NONE), ("removed", False), ("added", False)),
    ):
        found = statuses(before, after, crawls)
        assert found == {
            identifier(kept): ("unchanged", None),
            identifier(old): gone,
            identifier(new): added,
        }


@pytest.mark.parametrize("known", [True, False])
def test_the_map_lists_the_crawls(
    limits: ResourceLimits, stored: Store, tmp_path: Any, *, known: bool
) -> None:
    a, b, c, *_ = URLS
    months = {"2022-06": documents(a, b), "2022-07": documents(a)}
    pages = {"2022-06": crawled(a, b, c), "2022-07": crawled(a, b)}
    build_id_maps(
        tmp_path,
        documents={name: stored(rows, Documents) for name, rows in months.items()},
        queries={name: stored(frame([], Queries), Queries) for name in months},
        limits=limits,
        progress=NoProgress(),
        pages={n: stored(rows, Pages) for n, rows in pages.items()} if known else None,
    )
    rows = pl.read_parquet(tmp_path / "documents_map.parquet").to_dicts()
    held = {row["doc_id"]: (row["snapshots"], row["crawled"]) for row in rows}
    both = ["2022-06", "2022-07"]
    assert held == {
        identifier(a): (both, both if known else None),
        identifier(b): (["2022-06"], both if known else None),
    }
