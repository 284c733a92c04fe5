"""The fast way of counting a log against the database's and a naive one; sums outside memory."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.clicks import evidence, pieces
from builder.clicks.counting import COUNTS, Tally
from builder.clicks.evidence import count_log
from builder.clicks.pieces import distinct_pages, piece_of
from builder.clicks.runs import merge, ranges, write_run
from builder.clicks.selected import Selection
from builder.clicks.statistics import count_pairs
from builder.clicks.sums import add_up
from builder.errors import DataError
from builder.parameters import ClickParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.sorting import order_of
from builder.tables import Table, write_frame
from schemas import Candidates, Impressions
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
        patch.setattr(evidence, "MOST_RESULTS", piece)
        patch.setattr(evidence, "ROWS_PER_BATCH", 8)
        folder = Path(name)
        chosen = selection(log, folder)
        found = count_log(chosen, params, Limits(folder, threads=2), Silent())
        pairs = pl.read_parquet(found.pairs) if found.pairs else pl.DataFrame()
        return {tuple(row[:2]): row[2:] for row in pairs.iter_rows()}, found


def slow(log: Sequence[Impression], params: ClickParameters) -> Any:
    """What the database counts, in the order of its columns."""
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as connection:
        selection(log, Path(name)).open(connection, 0, len(log))
        count_pairs(connection, params)
        return connection.execute("SELECT * FROM pair_counts").fetchall()


@settings(max_examples=25, deadline=None)
@given(
    logs(),
    st.sampled_from(["rank", "time"]),
    st.sampled_from(["separate", "joined"]),
    st.sampled_from([1, 7, 1000]),
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


@settings(max_examples=25, deadline=None)
@given(logs(), st.sampled_from([1, 9, 1000]))
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


def test_pages_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame(
        {"query": [1, 1, 2], "results": [[5, 6], [6, 5], [5, 6]], "clicks": [[1], [1], []]},
        schema=dict.fromkeys(("query",), pl.UInt64)
        | {"results": pl.List(pl.UInt64), "clicks": pl.List(pl.UInt16)},
    ).to_arrow()
    piece = piece_of(rows)
    honest = pieces._hashes

    def colliding(*arguments: Any) -> Any:
        hashes = honest(*arguments)
        return hashes if arguments[-1] == 2 else np.zeros_like(hashes)

    monkeypatch.setattr(pieces, "_hashes", colliding)
    assert len(set(distinct_pages(piece).page.tolist())) == 3
    monkeypatch.setattr(pieces, "_hashes", lambda *a: np.zeros(3, dtype=np.uint64))
    with pytest.raises(DataError, match="no hash told 3 result pages apart"):
        distinct_pages(piece)


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


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=4), st.integers(1, 30))
def test_runs_are_merged_range_by_range(runs: list[list[int]], most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        written = []
        for number, keys in enumerate(runs):
            unique = np.array(sorted(set(keys)), dtype=np.uint64)
            frame = pl.DataFrame({"one": unique, "other": unique}).with_columns(
                value=pl.lit(1, pl.UInt32)
            )
            written.append(write_run(frame, ("one", "other"), Path(name) / str(number)))
        found = ranges(written, most)
        parts = [merge(written, ("one", "other"), *extent) for extent in found]
    got = [row for part in parts for row in part.iter_rows()]
    expected = Counter(key for keys in runs for key in set(keys))
    assert got == [(key, key, expected[key]) for key in sorted(expected)]
    assert not found or (found[0][0] == 0 and found[-1][1] == 256)


def test_tallies_add_up() -> None:
    one = Tally(total=1, lengths=np.array([0, 1]), clicks=np.array([0]))
    other = Tally(total=2, lengths=np.array([0, 0, 2]), clicks=np.array([0, 2]))
    both = one + other
    assert both.total == 3
    assert both.lengths.tolist() == [0, 1, 2]
    assert both.clicks.tolist() == [0, 2]
