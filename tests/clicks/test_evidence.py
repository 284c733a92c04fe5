"""The fast way of counting a log against the database's and a naive one; sums outside memory."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.clicks import counted, distinct, evidence, runs, shares
from builder.clicks.counting import COUNTS, PageCounts
from builder.clicks.distinct import distinct_pages
from builder.clicks.evidence import count_log
from builder.clicks.pieces import Lists, bytes_to_count, distinct_clicks, lists_of, piece_of
from builder.clicks.runs import merge, ranges, write_run
from builder.clicks.selected import Chosen, Selection, portions_of
from builder.clicks.statistics import count_pairs
from builder.clicks.sums import add_up, add_up_rows
from builder.clicks.tally import Tally
from builder.errors import DataError
from builder.parameters import ClickParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.sorting import order_of
from builder.tables import Table, write_frame
from schemas import Candidates, Impressions, Variants
from tests.clicks.conftest import Impression

HIGH = 2**63
QUERIES = (3, HIGH + 1, HIGH + 2**57)
DOCS = (1, 2, 3, HIGH, HIGH + 1, 2**64 - 1)


@st.composite
def logs(draw: st.DrawFn) -> list[Impression]:
    """Logs with repeated documents, repeated and reordered clicks, and users or none."""
    impressions = []
    for _ in range(draw(st.integers(0, 30))):
        shown = draw(st.lists(st.sampled_from(DOCS), min_size=1, max_size=5))
        clicks = draw(st.lists(st.integers(1, len(shown)), max_size=4))
        user = draw(st.none() | st.integers(1, 4))
        impressions.append((user, draw(st.sampled_from(QUERIES)), shown, clicks))
    return impressions


def selection(log: Sequence[Impression], folder: Path) -> Selection:
    rows = [(n, user, q, 0, shown, clicks) for n, (user, q, shown, clicks) in enumerate(log)]
    frame = pl.DataFrame(rows, schema=Impressions.dtypes(), orient="row")
    write_frame(frame, folder / "impressions.parquet", Impressions)
    queries = pl.DataFrame({"query": QUERIES[:2]}, schema={"query": pl.UInt64})
    queries.write_parquet(folder / "candidates.parquet")
    return Selection(
        Table((folder / "impressions.parquet",), Impressions),
        Table((folder / "candidates.parquet",), Candidates),
        None,
        pl.Series([4], dtype=pl.UInt64),
    )


def fast(log: Sequence[Impression], params: ClickParameters, piece: int) -> Any:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "MOST_BYTES", piece)
        patch.setattr(evidence, "KNOWN_SHARE", piece / 2**30)
        patch.setattr(counted, "MOST_USERS", piece // 100)
        patch.setattr(shares, "MOST_ROWS", 8)
        patch.setattr(evidence, "ROWS_PER_BATCH", 8)
        patch.setattr(shares, "ROWS_PER_BATCH", 8)
        patch.setattr(evidence, "PAIRS", evidence.PAIRS._replace(bytes_each=2**30 // piece))
        folder = Path(name)
        chosen = selection(log, folder)
        found = count_log(chosen, params, Limits(folder, threads=2), Silent())
        pairs = pl.read_parquet(found.pairs) if found.pairs else pl.DataFrame()
        return {tuple(row[:2]): row[2:] for row in pairs.iter_rows()}, found


def slow(log: Sequence[Impression], params: ClickParameters) -> Any:
    """What the database counts, in the order of its columns."""
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as connection:
        selection(log, Path(name)).open(connection)
        count_pairs(connection, params)
        return connection.execute("SELECT * FROM pair_counts").fetchall()


VISIT: list[Impression] = [(1, 3, [1, 2], []), (1, 3, [HIGH, 3], [1]), (1, 3, [1], [])]
"""A user who turns the page and clicks on the next one, so that all of the first was examined."""


@settings(max_examples=25, deadline=None)
@example(VISIT, "rank", "joined", 1000)
@example(VISIT, "time", "joined", 1000)
@given(
    logs(),
    st.sampled_from(["rank", "time"]),
    st.sampled_from(["separate", "joined"]),
    st.sampled_from([1, 1000, 100_000]),
)
def test_pairs_are_those_of_the_database(
    log: list[Impression], last: Any, pages: Any, piece: int
) -> None:
    params = ClickParameters(last=last, pages=pages, prior="beta")
    counts, _ = fast(log, params, piece)
    rows = slow(log, params)
    assert list(counts) == sorted(counts) == [row[:2] for row in rows]
    for query, doc, shown, examined, clicks, last_clicks, other, _ in rows:
        found = dict(zip(COUNTS, counts[query, doc], strict=True))
        unclicked = found["shown_in_all"] - found["shown_in_clicked"]
        assert found["shown_in_all"] == shown
        assert found["examined_in_clicked"] + unclicked == examined
        assert (found["clicks"], found["last_clicks"]) == (clicks, last_clicks)
        assert found["examined_in_clicked"] == other
    skipping = slow(log, params.model_copy(update={"no_click": "skip"}))
    shown_in_clicked = {row[:2]: row[2] for row in skipping}
    place = COUNTS.index("shown_in_clicked")
    assert {pair: row[place] for pair, row in counts.items()} == shown_in_clicked


FIRST_BITS: list[Impression] = [(None, 3, [1, 1], []), (None, 3, [HIGH + 1, HIGH + 1], [])]
"""Documents that differ in their first bit, which an even number of them hides from a sum."""


@settings(max_examples=25, deadline=None)
@example(FIRST_BITS, 1000)
@given(logs(), st.sampled_from([1, 1000, 100_000]))
def test_the_tally_is_that_of_one_impression_at_a_time(log: list[Impression], piece: int) -> None:
    _, found = fast(log, ClickParameters(), piece)
    used = [row for row in log if row[1] in QUERIES[:2] and row[0] != 4]
    clicks = [clicked for *_, clicked in used]
    tally = found.tally
    assert tally.total == len(used)
    assert tally.without_click == tally.never_clicked == sum(not c for c in clicks)
    assert tally.reordered == sum(c != sorted(c) for c in clicks)
    assert tally.repeated == sum(len(set(c)) < len(c) for c in clicks)
    assert tally.with_duplicate == sum(len(set(shown)) < len(shown) for *_, shown, _ in used)
    assert tally.anonymous == sum(user is None for user, *_ in used)
    lengths = Counter(len(shown) for *_, shown, _ in used)
    assert {n: c for n, c in enumerate(tally.lengths.tolist()) if c} == lengths
    ranks = Counter(rank for c in clicks for rank in set(c))
    assert {n: c for n, c in enumerate(tally.clicks.tolist()) if c} == ranks
    active = Counter(Counter(user for user, *_ in used if user is not None).values())
    assert dict(found.activity.iter_rows()) == active


def test_portions_are_all_of_the_log_in_tables_of_bounded_size(tmp_path: Path) -> None:
    log = [(None, 3, [1, 2, 3][: 1 + n % 3], []) for n in range(100)]
    chosen = selection(log, tmp_path)
    rows = pq.read_table(chosen.impressions.paths[0])
    parts = (tmp_path / "a.parquet", tmp_path / "b.parquet")
    pq.write_table(rows[:60], parts[0], row_group_size=7)
    pq.write_table(rows[60:], parts[1], row_group_size=30)
    chosen = replace(chosen, impressions=Table(parts, Impressions))
    groups = chosen.row_groups()
    portions = list(portions_of(groups, 15))
    assert [[(g.path.name, g.number, g.rows) for g in portion] for portion in portions] == [
        [("a.parquet", 0, 7), ("a.parquet", 1, 7)],
        [("a.parquet", 2, 7), ("a.parquet", 3, 7)],
        [("a.parquet", 4, 7), ("a.parquet", 5, 7)],
        [("a.parquet", 6, 7), ("a.parquet", 7, 7)],
        [("a.parquet", 8, 4)],
        [("b.parquet", 0, 30)],
        [("b.parquet", 1, 10)],
    ]
    tables = list(chosen.read(portions, bytes_to_count(15, 30)))
    assert pa.concat_tables(tables).equals(rows.select(tables[0].column_names))
    assert max(map(len, tables)) == 15


def test_a_range_is_summed_in_tables_of_bounded_size(tmp_path: Path) -> None:
    keys = np.repeat(np.array([1, 2, HIGH], dtype=np.uint64), 50)
    rows = pa.table({"one": keys, "other": keys, "value": np.ones(150, dtype=np.int64)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "BATCH_SIZE", 20)
        written = [write_run(rows, tmp_path / name, np.full(150, 2)) for name in "ab"]
    sizes: list[int] = []

    def summed(table: pa.Table) -> pl.DataFrame:
        sizes.append(len(table))
        return _sums(table)

    assert ranges(written, 250) == [(0, 1), (1, 256)]
    low, high = (merge(written, KEYS, summed, extent, 250) for extent in ranges(written, 250))
    assert list(low.iter_rows()) == [(1, 1, 100), (2, 2, 100)]
    assert list(high.iter_rows()) == [(HIGH, HIGH, 100)]
    assert sizes == [120, 80, 100]


LISTS = {"results": pl.List(pl.UInt64), "clicks": pl.List(pl.UInt16)}


def shown(query: list[int], results: list[list[int]], clicks: list[list[int]]) -> pa.Table:
    columns = {"query": query, "results": results, "clicks": clicks}
    return pl.DataFrame(columns, schema={"query": pl.UInt64, **LISTS}).to_arrow()


def test_pages_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = shown([1, 1, 2], [[5, 6], [6, 5], [5, 6]], [[1], [1], []])
    query, results = rows["query"].to_numpy(), lists_of(rows, "results")
    honest = distinct._hashes

    def colliding(*arguments: Any) -> Any:
        hashes = honest(*arguments)
        return hashes if arguments[-1] == 2 else np.zeros_like(hashes)

    monkeypatch.setattr(distinct, "_hashes", colliding)
    (pages,) = distinct_pages(query, results)
    assert pages.weights.tolist() == [1, 1, 1]
    counts = PageCounts(Chosen(), last_by_time=False)
    assert [counts.pages_of(query[:1], results.take(np.array([0])))] == [0]
    assert sorted(counts.pages_of(query, results).tolist()) == [0, 1, 2]
    monkeypatch.setattr(distinct, "_hashes", lambda q, *_: np.zeros(len(q), dtype=np.uint64))
    with pytest.raises(DataError, match="no hash told"):
        list(distinct_pages(query, results))
    counts = PageCounts(Chosen(), last_by_time=False)
    with pytest.raises(DataError, match="no hash told"):
        counts.pages_of(query, results)


def test_what_is_counted_of_a_page(tmp_path: Path) -> None:
    """Pages of several lengths, of a query that does not count and of one that another stands for,
    in several pieces."""
    frames = {
        "candidates": pl.DataFrame({"query": [HIGH, 3]}, schema={"query": pl.UInt64}),
        "variants": pl.DataFrame(
            {"query": [3], "representative": [HIGH]},
            schema={"query": pl.UInt64, "representative": pl.UInt64},
        ),
    }
    everything = selection([], tmp_path)
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    chosen = replace(
        everything,
        candidates=Table((tmp_path / "candidates.parquet",), Candidates),
        variants=Table((tmp_path / "variants.parquet",), Variants),
    )
    counts = PageCounts(Chosen(chosen), last_by_time=True)
    rows = shown(
        [HIGH, 9, 3, HIGH, 3],
        [[1, 2, 3], [1, 2, 3], [7], [1, 2, 3], [7]],
        [[2, 1], [1], [], [3], [1]],
    )
    found = []
    for piece in (rows[:3], rows[3:]):
        results = lists_of(piece, "results")
        page = counts.pages_of(piece["query"].to_numpy(), results)
        found += page.tolist()
        used = np.flatnonzero(page >= 0)
        clicked = piece_of(piece, results.lengths).take(used)
        counts.count(page[used], clicked, distinct_clicks(clicked.clicks))
    assert (found[1], found[3], found[4]) == (-1, found[0], found[2])
    assert sorted(counts.table().to_pylist(), key=lambda row: len(row["results"])) == [
        {
            "query": HIGH,
            "shown": 2,
            "shown_clicked": 1,
            "beyond": 0,
            "results": [7],
            "depths": [1],
            "clicks": [1],
            "latest": [1],
        },
        {
            "query": HIGH,
            "shown": 2,
            "shown_clicked": 2,
            "beyond": 0,
            "results": [1, 2, 3],
            "depths": [0, 1, 1],
            "clicks": [1, 1, 1],
            "latest": [1, 0, 1],
        },
    ]
    assert counts.impressions_with_duplicate() == 0
    assert counts.bytes > 5 * 8


def test_each_rank_is_clicked_once() -> None:
    clicks = Lists(np.array([2, 5, 5, 1, 5, 3]), np.array([0, 1, 1, 5, 6]))
    found = distinct_clicks(clicks)
    assert sorted(zip(found.impression, found.rank, strict=True)) == [
        (0, 2),
        (2, 1),
        (2, 5),
        (3, 3),
    ]
    assert found.repeated.tolist() == [2, 2]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, HIGH]),
            st.sampled_from([0, 1, 2, HIGH, HIGH + 1]),
            st.integers(0, 9),
        )
    )
)
def test_sums_are_in_the_order_of_both_keys(rows: list[tuple[int, int, int]]) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for one, other, value in rows:
        expected[one, other] += value
    keys = {
        name: np.array([row[place] for row in rows], dtype=np.uint64)
        for place, name in enumerate(("one", "other"))
    }
    values = np.array([row[2] for row in rows], dtype=np.int64)
    found = add_up(keys, {"value": values, "double": 2 * values, "large": values * 2**28})
    assert list(found.iter_rows()) == [
        (*pair, expected[pair], 2 * expected[pair], expected[pair] * 2**28 % 2**32)
        for pair in sorted(expected)
    ]


def test_sums_by_one_key() -> None:
    keys = np.array([HIGH, 3, HIGH + 1, 3, 0], dtype=np.uint64)
    found = add_up({"key": keys}, {"value": np.array([1, 2, 3, 4, 5])})
    assert list(found.iter_rows()) == [(0, 5), (3, 6), (HIGH, 1), (HIGH + 1, 3)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 7, 8, HIGH, HIGH + 1, 2**64 - 1]),
            st.integers(0, 2**64 - 1) | st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_numbers_that_differ_in_their_last_bits_alone_are_in_order(
    rows: list[tuple[int, int]],
) -> None:
    numbers = np.array([row[0] for row in rows], dtype=np.uint64)
    then = np.array([row[1] for row in rows], dtype=np.uint64)
    assert order_of(numbers).tolist() == sorted(range(len(rows)), key=lambda n: rows[n][0])
    assert order_of(numbers, then).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


KEYS = ("one", "other")


def _sums(rows: pa.Table) -> pl.DataFrame:
    return add_up_rows(pl.DataFrame(rows), KEYS)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=4), st.integers(1, 30))
def test_runs_are_merged_range_by_range(logged: list[list[int]], most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        written = []
        for number, keys in enumerate(logged):
            unique = np.array(sorted(set(keys)), dtype=np.uint64)
            counts = np.ones(len(unique), dtype=np.int64)
            rows = pa.table({"one": unique, "other": unique, "value": counts})
            written.append(write_run(rows, Path(name) / str(number), counts * 2))
        found = ranges(written, most)
        parts = [merge(written, KEYS, _sums, extent, most) for extent in found]
    got = [row for part in parts for row in part.iter_rows()]
    expected = Counter(key for keys in logged for key in set(keys))
    assert got == [(key, key, expected[key]) for key in sorted(expected)]
    assert not found or (found[0][0] == 0 and found[-1][1] == 256)


def test_tallies_add_up() -> None:
    one = Tally(total=1, lengths=np.array([0, 1]), clicks=np.array([0]))
    other = Tally(total=2, lengths=np.array([0, 0, 2]), clicks=np.array([0, 2]))
    both = one + other
    assert both.total == 3
    assert both.lengths.tolist() == [0, 1, 2]
    assert both.clicks.tolist() == [0, 2]
