"""Which snapshots hold what."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import builder.alignment.id_maps
from builder.alignment import align_snapshots, build_id_maps
from builder.alignment.id_maps import id_ranges, snapshot_presence
from builder.io.tables import Table
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.runtime.scope import Scope
from builder.text.keys import doc_id, key64, query_id
from schemas import (
    DocumentChanges,
    Documents,
    DocumentsMap,
    QrelChanges,
    Queries,
    QueriesMap,
    QueryChanges,
    TableSchema,
    Variants,
)
from tests.progress import Steps

Store = Callable[[pl.DataFrame, type[TableSchema]], Table]


def documents(*urls: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "doc_id": [doc_id(key64(url)) for url in urls],
            "url": [url + "#x" for url in urls],
            "url_key": list(urls),
        },
        schema={"doc_id": pl.String, "url": pl.String, "url_key": pl.String},
    )


def queries(**texts: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "query_id": [query_id(key64(key)) for key in texts],
            "text": list(texts.values()),
            "impressions": [len(text) for text in texts.values()],
        },
        schema={"query_id": pl.String, "text": pl.String, "impressions": pl.UInt64},
    )


def variants(*texts: tuple[str, str]) -> pl.DataFrame:
    """Which text stands for which."""
    rows = [
        (key64(text), key64(stands), None, text, None, "signature" if text != stands else "itself")
        for text, stands in texts
    ]
    return pl.DataFrame(rows, schema=Variants.dtypes(), orient="row")


def run(
    out: Path, limits: ResourceLimits, stored: Store, snapshots: dict[str, tuple[Any, Any]]
) -> tuple[RowLedger, pl.DataFrame, pl.DataFrame]:
    out.mkdir()
    ledger = build_id_maps(
        out,
        documents={name: stored(d, Documents) for name, (d, _) in snapshots.items()},
        queries={name: stored(q, Queries) for name, (_, q) in snapshots.items()},
        variants={name: stored(ALIASES.get(name, variants()), Variants) for name in snapshots},
        limits=limits,
        progress=NoProgress(),
    )
    pages, asked = (pl.read_parquet(out / f"{n}_map.parquet") for n in ("documents", "queries"))
    return ledger, pages, asked


ALIASES = {
    "2022-06": variants(("eau", "eau"), ("eaux", "eau"), ("loi", "loi")),
    "2022-09": variants(("l eau", "eau"), ("eaux", "eau")),
}
SNAPSHOTS = {
    "2022-06": (documents("https://a.fr/", "https://b.fr/x"), queries(eau="eau", loi="loi")),
    "2022-07": (documents("https://a.fr/"), queries(eau="Eau")),
    "2022-09": (documents("http://www.b.fr/x/", "https://b.fr/x"), queries(eau="EAU", mer="mer")),
}


def test_presence_and_last_form(tmp_path: Path, limits: ResourceLimits, stored: Store) -> None:
    ledger, pages, asked = run(tmp_path / "out", limits, stored, SNAPSHOTS)
    DocumentsMap.validate(pages)
    QueriesMap.validate(asked)
    assert (ledger.rows_in, ledger.rows_out) == (6, 6)
    assert pages["doc_id"].is_sorted()
    assert asked["query_id"].is_sorted()
    held = dict(zip(pages["url_key"], pages["snapshots"].to_list(), strict=True))
    assert held == {
        "https://a.fr/": ["2022-06", "2022-07"],
        "https://b.fr/x": ["2022-06", "2022-09"],
        "http://www.b.fr/x/": ["2022-09"],
    }
    assert set(asked.select("text", "core").iter_rows()) == {
        ("EAU", True),
        ("loi", False),
        ("mer", False),
    }
    texts = asked.select("text", "impressions", "aliases").rows()
    assert {text: (shown, also) for text, shown, also in texts} == {
        "EAU": ([3, 3, 3], ["eaux", "l eau"]),
        "loi": ([3], []),
        "mer": ([3], []),
    }


def test_loose_id_joins_forms_of_one_address(
    tmp_path: Path, limits: ResourceLimits, stored: Store
) -> None:
    _, pages, _ = run(tmp_path / "out", limits, stored, SNAPSHOTS)
    smallest = min(doc_id(key64("https://b.fr/x")), doc_id(key64("http://www.b.fr/x/")))
    found = dict(zip(pages["url_key"], pages["loose_id"], strict=True))
    assert found == {
        "https://a.fr/": None,
        "https://b.fr/x": smallest,
        "http://www.b.fr/x/": smallest,
    }


def test_ranges_do_not_matter(
    tmp_path: Path, limits: ResourceLimits, stored: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {
        f"2022-0{month}": (
            documents(*(f"https://a.fr/{n}" for n in range(400) if n % (month + 1))),
            queries(**{f"q{n}": f"q{n}" for n in range(50) if n % (month + 1)}),
        )
        for month in (1, 2, 3)
    }
    run(tmp_path / "whole", limits, stored, many)
    monkeypatch.setattr(builder.alignment.id_maps, "ROWS_PER_RANGE", 100)
    other = ResourceLimits(tmp_path / "other", 2, 2**29)
    other.scratch.mkdir()
    run(tmp_path / "cut", other, stored, many)
    for name in ("documents_map", "queries_map"):
        whole, cut = (tmp_path / side / f"{name}.parquet" for side in ("whole", "cut"))
        assert whole.read_bytes() == cut.read_bytes()


def test_ranges_cover_the_id_space(stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder.alignment.id_maps, "ROWS_PER_RANGE", 1)
    table = stored(documents("https://a.fr/", "https://b.fr/", "https://c.fr/"), Documents)
    ranges = list(id_ranges({"2022-06": table}, "doc_id"))
    assert len(ranges) == 3
    assert ranges[0][0] == "d" + 16 * "0"
    assert ranges[-1][1] == "d" + 16 * "f"
    for (_, high), (low, _) in pairwise(ranges):
        assert int(low[1:], 16) == int(high[1:], 16) + 1


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_range_has_two_rows_on_average(
    rows: int, count: int, stored: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder.alignment.id_maps, "ROWS_PER_RANGE", 2)
    table = stored(documents(*(f"https://a.fr/{n}" for n in range(rows))), Documents)
    assert len(list(id_ranges({"2022-06": table}, "doc_id"))) == count


def test_presence_of_ids_in_three_snapshots() -> None:
    frames = {
        name: pl.LazyFrame(rows, {"id": pl.String, "text": pl.String, "n": pl.Int64}, orient="row")
        for name, rows in (
            ("06", [("b", "B", 1), ("a", "A", 2)]),
            ("07", [("c", "C", 3)]),
            ("08", [("a", "AA", 4), ("c", "CC", 5)]),
        )
    }
    found = snapshot_presence(frames, "id", ("text",), ("n",)).collect()
    assert found.rows() == [
        ("a", "AA", ["06", "08"], [2, 4]),
        ("b", "B", ["06"], [1]),
        ("c", "CC", ["07", "08"], [3, 5]),
    ]


def test_ranges_are_steps_of_progress(
    tmp_path: Path, limits: ResourceLimits, stored: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six documents and three queries in ranges of two rows."""
    monkeypatch.setattr(builder.alignment.id_maps, "ROWS_PER_RANGE", 2)
    steps = Steps()
    ledger = build_id_maps(
        tmp_path,
        documents={
            "06": stored(documents(*(f"https://a.fr/{n}" for n in range(4))), Documents),
            "07": stored(documents("https://a.fr/0", "https://b.fr/"), Documents),
        },
        queries={
            "06": stored(queries(eau="eau", loi="loi"), Queries),
            "07": stored(queries(eau="eau"), Queries),
        },
        limits=limits,
        progress=steps,
    )
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("ids", 7, 7)
    assert steps.done == [
        ("doc_id of all snapshots", 3, "ranges", [1, 1, 1]),
        ("query_id of all snapshots", 2, "ranges", [1, 1]),
    ]
    assert steps.open is None


def test_stages_of_alignment_run_per_pair_and_once() -> None:
    stages = (align_snapshots, build_id_maps)
    assert [(stage.name, stage.scope, stage.schemas) for stage in stages] == [
        ("changes", Scope.PAIR, (DocumentChanges, QueryChanges, QrelChanges)),
        ("maps", Scope.COLLECTION, (DocumentsMap, QueriesMap)),
    ]


def test_nothing_at_all(tmp_path: Path, limits: ResourceLimits, stored: Store) -> None:
    ledger, pages, asked = run(
        tmp_path / "out", limits, stored, {"2022-06": (documents(), queries())}
    )
    assert (ledger.rows_in, pages.height, asked.height) == (0, 0, 0)
