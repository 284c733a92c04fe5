"""Every page answers, filters and sorts as it says, and links to pages that answer."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote, urlsplit

import polars as pl
import pytest
from starlette.types import ASGIApp

import builder
from builder.explore import CollectionSource, open_collection_source
from builder.explore import changes as changed
from builder.explore.application import create_application
from builder.explore.overview import checks_section
from builder.explore.queries import GROUPS, ORDERS
from builder.explore.query import _document_change_cell
from tests.collection.releases import imported, write
from tests.explore.client import PORT, Reader, ask, number
from tests.thorough import ALL

ADDRESSES = (
    "/",
    "/queries",
    "/pages",
    "/changes",
    "/changes?kind=queries",
    "/changes?kind=qrels",
    "/systems",
    "/rejects",
    "/terms",
)
LINKS = 40 if ALL else 12
"""Links of each page that are followed, at least half as many where it has more."""


@pytest.mark.parametrize("address", ADDRESSES)
def test_links_lead_to_pages(app: ASGIApp, address: str) -> None:
    answer = ask(app, address)
    assert answer.status == 200
    read = Reader(answer.text)
    assert len(read.ids) == len(set(read.ids))
    assert read.tags.count("h1") == 1
    links = sorted(set(read.links))
    for link in links[:: -(-len(links) // LINKS)]:
        parts = urlsplit(link)
        if parts.path:
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            reached = ask(app, target)
            assert reached.status == 200, link
            if parts.fragment:
                assert parts.fragment in Reader(reached.text).ids, link
        else:
            assert parts.fragment in read.ids, link


def test_every_filter_and_order_answers(app: ASGIApp) -> None:
    addresses = [f"/queries?sort={sort}" for sort in ORDERS]
    addresses += [f"/queries?group={group}&snapshot=2022-07" for group in GROUPS]
    for kind, orders in changed.ORDERS.items():
        addresses += [f"/changes?kind={kind}&sort={sort}" for sort in orders]
        addresses += [f"/changes?kind={kind}&direction={d}" for d in changed.DIRECTIONS[kind]]
        addresses += [f"/changes?kind={kind}&status={s}" for s in changed.STATUSES[kind]]
    addresses += [
        "/pages?sort=url",
        "/pages?sort=snapshots",
        "/rejects?sort=rows",
        "/systems?first=ids",
    ]
    for address in addresses:
        assert ask(app, address).status == 200, address


def _queries(app: ASGIApp, address: str) -> list[dict[str, str]]:
    read = Reader(ask(app, address).text)
    return read.table("Queries").records() if read.tables else []


def test_searching_ignores_case_accents_and_punctuation(app: ASGIApp, explored: Path) -> None:
    queries = builder.open_collection(explored).table("queries_map").collect()
    text = next(t for t in queries["text"] if "é" in t)
    found = [row["Query"] for row in _queries(app, f"/queries?text={text.upper()}!")]
    assert text in found
    plain = text.replace("é", "e").replace("è", "e").replace("ê", "e").replace("à", "a")
    assert text in [row["Query"] for row in _queries(app, f"/queries?text=  {plain}  ")]
    for nothing in ("xyzzyx", "?!", "%"):
        assert _queries(app, f"/queries?text={quote(nothing)}") == []


def test_ids_of_a_release_are_found(imported_app: ASGIApp) -> None:
    """Query 40 is `question 39` in July, and is only judged in June: the texts contain no 40."""
    found = [row["Query"] for row in _queries(imported_app, "/queries?text=40")]
    assert "question 39" in found
    assert len(found) == 2


def test_groups_are_what_they_say(app: ASGIApp, explored: Path) -> None:
    collection = builder.open_collection(explored)
    core = collection.core_queries().collect()
    assert len(_queries(app, "/queries?group=core")) == min(core.height, 50)
    listed = collection.snapshot("2022-07").queries.collect()
    shown = _queries(app, "/queries?snapshot=2022-07")
    assert len(shown) == min(listed.height, 50)
    topic = listed["topics"][0][0]
    of_topic = listed.filter(pl.col("topics").list.contains(topic))
    found = _queries(app, f"/queries?snapshot=2022-07&topic={topic}")
    assert sorted(row["Query"] for row in found) == sorted(of_topic["text"])
    assert _queries(app, "/queries?group=judged only") == []


def test_orders_are_what_they_say(app: ASGIApp) -> None:
    for sort, column in (("impressions", "Impressions"), ("flips", "Flips"), ("moved", "Moved")):
        values = [number(row[column]) for row in _queries(app, f"/queries?sort={sort}")]
        assert values == sorted(values, reverse=True)
    texts = [row["Query"] for row in _queries(app, "/queries?sort=text")]
    assert texts == sorted(texts)


def test_lists_have_pages(app: ASGIApp, explored: Path) -> None:
    every = builder.open_collection(explored).table("documents_map").collect()["doc_id"].to_list()
    seen: list[str] = []
    for page in range(1, -(-len(every) // 50) + 1):
        read = Reader(ask(app, f"/pages?sort=id&page={page}").text)
        seen += [row["Id"] for row in read.table("Pages").records()]
    assert seen == sorted(every)
    assert "There are only" in ask(app, "/pages?page=99").text


def test_filters_of_another_kind_of_change_are_ignored(app: ASGIApp) -> None:
    """The form sends them if a user selects another kind."""
    for filters in ("kind=queries&status=updated&direction=longer", "kind=qrels&status=gone"):
        kind = filters.partition("&")[0]
        found = ask(app, f"/changes?{filters}")
        assert found.status == 200
        assert Reader(found.text).tables[0].rows == _changes(app, kind)
    assert ask(app, "/changes?kind=queries&status=nonsense").status == 400


def _changes(app: ASGIApp, parameters: str) -> list[list[str]]:
    return Reader(ask(app, f"/changes?{parameters}").text).tables[0].rows


def test_changes_are_filtered(app: ASGIApp, explored: Path) -> None:
    rows = builder.open_collection(explored).table("document_changes").collect()
    pair = rows.filter(from_snapshot="2022-06", to_snapshot="2022-07")
    for status in ("updated", "removed", "added"):
        expected = pair.filter(status=status).height
        text = ask(app, f"/changes?to=2022-07&status={status}").text
        assert f"1 to {min(expected, 50)} of {expected}" in text
    urls = builder.open_collection(explored).table("documents_map").collect()
    host = urls["url"][0].split("/")[2]
    of_host = urls.filter(pl.col("url").str.contains(f"//{host}/", literal=True))
    expected = pair.join(of_host, on="doc_id", how="semi").height
    assert f" of {expected}" in ask(app, f"/changes?to=2022-07&host={host}").text


def test_rejects_name_file_and_line(app: ASGIApp, explored: Path) -> None:
    collection = builder.open_collection(explored)
    rows = pl.concat(
        [
            collection.snapshot(n).rejects.collect().with_columns(snapshot=pl.lit(n))
            for n in collection.snapshots
        ]
    )
    one = rows.filter(pl.col("line").is_not_null()).row(0, named=True)
    address = f"/rejects?snapshot={one['snapshot']}&stage={one['stage']}&reason={one['reason']}"
    found = Reader(ask(app, address).text).table("Rejected rows").records()
    assert (one["file"], float(one["line"])) in {(r["File"], number(r["Line"])) for r in found}
    summary = Reader(ask(app, "/rejects").text)
    table = summary.table("Rejected rows by reason, stage and snapshot")
    total = sum(number(r[n]) or 0 for r in table.records() for n in collection.snapshots)
    assert total == rows["rows"].sum()


def test_two_systems_are_compared(app: ASGIApp, source: CollectionSource) -> None:
    read = Reader(ask(app, "/systems?first=clicks&second=ids&snapshot=2022-07").text)
    over = read.table("Differences by snapshot").records()
    assert [row["Snapshot"] for row in over] == list(source.snapshots)
    for row in over:
        sides = sum(number(row[c]) for c in ("First better", "Second better", "Equal"))
        assert sides == number(row["Queries"])
    largest = [abs(number(r["Difference"])) for r in read.table("Largest differences").records()]
    assert largest == sorted(largest, reverse=True)


def test_contributions_add_up(app: ASGIApp, explored: Path) -> None:
    changes = builder.open_collection(explored).table("qrel_changes").collect()
    kept = changes.filter(pl.col("grade_from").is_not_null() & pl.col("grade_to").is_not_null())
    query = kept.filter(to_snapshot="2022-07")["query_id"][0]
    read = Reader(ask(app, f"/query/{query}?system=clicks&until=2022-07").text)
    parts = read.table("Score change of clicks from 2022-06 to 2022-07").records()
    values = {row["Part"]: number(row["Contribution"]) for row in parts}
    assert sum(values.values()) - values["total change"] == pytest.approx(
        values["total change"], abs=3e-4
    )


def test_a_release_says_what_it_lacks(imported_app: ASGIApp) -> None:
    text = ask(imported_app, "/").text
    for lacking in ("no texts of pages", "no click evidence", "no translations"):
        assert lacking in text
    listed = Reader(ask(imported_app, "/queries").text).table("Queries")
    assert "Impressions" not in listed.heads
    assert ask(imported_app, "/queries?sort=impressions").status == 400
    assert "no texts of pages" in ask(imported_app, "/pages").text
    assert "with --runs FOLDER" in ask(imported_app, "/systems").text
    for address in (*ADDRESSES, *filter(_is_local, Reader(text).links)):
        assert ask(imported_app, address).status == 200, address


def _is_local(link: str) -> bool:
    """Whether a link leads to a view."""
    return link.startswith("/")


def test_queries_of_a_release_are_aligned(imported_app: ASGIApp) -> None:
    listed = Reader(ask(imported_app, "/queries?text=question 7").text)
    (link,) = [x for x in listed.links if x.startswith("/query/")]
    read = Reader(ask(imported_app, link).text)
    life = read.table("The query in each snapshot").records()
    assert [row["Typed as"] for row in life] == ["question 7", "question 7"]
    assert [number(row["Judged"]) for row in life] == [1, 1]
    page = next(x for x in read.links if x.startswith("/page/"))
    assert "does not contain the text of this page" in ask(imported_app, page).text


def test_unknown_things_are_pages(app: ASGIApp) -> None:
    for address, status in {
        "/query/q0000000000000000": 404,
        "/page/d0000000000000000": 404,
        "/nothing": 404,
        "/queries?snapshot=1999-01": 400,
        "/queries?sort=drop": 400,
        "/queries?page=0": 400,
        "/queries?page=x": 400,
        "/changes?kind=tables": 400,
        "/systems?first=nobody": 400,
    }.items():
        answer = ask(app, address)
        assert answer.status == status, address
        assert Reader(answer.text).tags.count("h1") == 1
        assert "Traceback" not in answer.text


def test_head_is_answered_without_a_body(app: ASGIApp) -> None:
    answer = ask(app, "/queries", method="HEAD")
    assert answer.status == 200
    assert answer.text == ""


def test_a_release_with_texts_is_compared(tmp_path: Path) -> None:
    for month, text in (("2022-06", "The old text about water."), ("2022-07", "The new text.")):
        home = tmp_path / "r" / month
        page = {"id": "11", "title": "On water", "abstract": text}
        write(home / "documents/documents_000001.jsonl", json.dumps(page) + "\n")
        write(home / "queries.txt", "ab-1\twater\n")
        write(home / "qrels.txt", "ab-1 0 11 2\n")
    source = open_collection_source(imported(tmp_path / "r", "longeval-sci").version)
    source.restrict_access()
    app = create_application(source, PORT)
    listed = Reader(ask(app, "/pages").text)
    (link,) = {one for one in listed.links if one.startswith("/page/")}
    text = ask(app, link).text
    read = Reader(text)
    assert [r["Words"] for r in read.table("The page in each snapshot").records()] == ["7", "5"]
    assert "<del>old text about water.</del><ins>new text.</ins>" in text
    (judged,) = {r["Query"] for r in read.table("Judgements of the page").records()}
    assert judged == "water"
    source.close()


def test_pages_that_moved_lead_to_each_other(app: ASGIApp, explored: Path) -> None:
    changes = builder.open_collection(explored).table("document_changes").collect()
    moved = changes.filter(pl.col("matched_id").is_not_null() & (pl.col("status") == "removed"))
    assert moved.height
    one = moved.row(0, named=True)
    for page, other, text in (
        (one["doc_id"], one["matched_id"], "moved to"),
        (one["matched_id"], one["doc_id"], "moved from"),
    ):
        read = Reader(ask(app, f"/page/{page}").text)
        rows = read.table("URLs of the page").records()
        assert any(row["What"].startswith(text) for row in rows)
        assert f"/page/{other}" in read.links


def test_loose_matches_lead_to_each_other(explored: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(builder.open_collection(explored).path, tmp_path / "1.0.0")
    pages = pl.read_parquet(copy / "documents_map.parquet")
    first, second = pages["doc_id"][3], pages["doc_id"][7]
    loose = pl.when(pl.col("doc_id").is_in([first, second])).then(pl.lit(first))
    pages.with_columns(loose_id=loose).write_parquet(copy / "documents_map.parquet")
    source = open_collection_source(copy)
    source.restrict_access()
    app = create_application(source, PORT)
    assert f"/page/{second}" in Reader(ask(app, f"/page/{first}").text).links
    assert f"/page/{first}" in Reader(ask(app, f"/page/{second}").text).links
    source.close()


def test_only_an_updated_page_links_to_its_difference() -> None:
    row = {"doc_id": "d1", "from_snapshot": "2022-06", "to_snapshot": "2022-07"}
    cells = {
        status: _document_change_cell({**row, "status": status, "band": band})
        for status, band in (
            (None, None),
            ("unchanged", None),
            ("not_crawled", None),
            ("updated", "small"),
        )
    }
    assert [str(cell.markup) for cell in cells.values()] == [
        "not recorded",
        "unchanged",
        "not crawled",
        '<a href="/page/d1?from=2022-06&amp;to=2022-07#difference">updated, small</a>',
    ]


def test_checks_are_grouped_by_outcome(source: CollectionSource) -> None:
    check = {"snapshots": ["2022-06", "2022-07"], "asks": "?", "evidence": "", "numbers": {}}
    drift = {
        "checks": [
            {**check, "check": f"check {n}", "verdict": verdict, "detectable": ""}
            for n, verdict in enumerate(["clear", "cannot tell", "clear", "construction", "clear"])
        ]
    }
    page = str(checks_section(source, drift))
    captions = ("Differences in construction", "Inconclusive checks", "Passed checks")
    assert [page.count(f"{name} (") for name in captions] == [1, 1, 1]
    assert [f"{n} ({c})" in page for n, c in zip(captions, (1, 1, 3), strict=True)] == [True] * 3
