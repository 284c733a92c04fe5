"""The fast way of counting a log against the database's and a naive one."""

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

from builder.clicks import counted, evidence, shares
from builder.clicks.counting import COUNTS
from builder.clicks.evidence import count_log
from builder.clicks.pieces import bytes_to_count
from builder.clicks.selected import portions_of
from builder.clicks.statistics import count_pairs
from builder.clicks.tally import Tally
from builder.parameters import ClickParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.tables import Table
from schemas import Impressions
from tests.clicks.conftest import Impression
from tests.clicks.selections import HIGH, QUERIES, selection

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


def test_tallies_add_up() -> None:
    one = Tally(total=1, lengths=np.array([0, 1]), clicks=np.array([0]))
    other = Tally(total=2, lengths=np.array([0, 0, 2]), clicks=np.array([0, 2]))
    both = one + other
    assert both.total == 3
    assert both.lengths.tolist() == [0, 1, 2]
    assert both.clicks.tolist() == [0, 2]
