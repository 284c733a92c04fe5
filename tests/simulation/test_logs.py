"""Simulated queries, users and faults, and how impressions are drawn and written."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder import SimulationParameters
from builder.simulation import write_log
from builder.simulation.calendar import Month
from builder.simulation.faults import _corrupt_line, insert_malformed_lines
from builder.simulation.log_columns import ImpressionBatch, QueryArrays, to_arrow_table
from builder.simulation.needs import SimulatedQuery
from builder.simulation.rng import hash_integers
from builder.simulation.world import (
    _create_progress_callback,
    query_probabilities,
    write_user_ground_truth,
)


def _query(number: int, kind: str, results: int = 2) -> SimulatedQuery:
    urls = tuple(f"https://{number}.example/{n}" for n in range(results))
    values = np.full(results, 0.5)
    return SimulatedQuery(
        number, kind, (f"q{number}", "b", "c"), urls, (1,) * results, values, values
    )


def test_queries_are_drawn_by_zipfs_law_and_the_shares_of_their_kinds() -> None:
    """Needs: 1/2, 1/3 and 1/4 of 90 %; of 10 personal queries, the first six are frequent."""
    queries = [_query(n, "need") for n in range(3)]
    queries += [_query(10 + n, "personal") for n in range(10)]
    queries += [_query(30, "off_topic"), _query(31, "navigational")]
    params = SimulationParameters(zipf=1.0, interest_drift=0.0, off_topic=0.06, personal_rate=0.04)
    for snapshot in (0, 2):
        assert query_probabilities(params, queries, snapshot).tolist() == pytest.approx(
            [0.9 * share / 13 for share in (6, 4, 3)]
            + [0.04 * 4 / 28] * 6
            + [0.04 / 28] * 4
            + [0.03, 0.03]
        )
    steady = query_probabilities(params, queries[:3], 0)
    lively = params.model_copy(update={"interest_drift": 0.5})
    assert query_probabilities(lively, queries[:3], 0).tolist() == steady.tolist()
    ratios = query_probabilities(lively, queries[:3], 1) / steady
    assert len(set(ratios.round(6))) == 3
    assert ratios.max() / ratios.min() < np.exp(1.0)


@pytest.mark.parametrize(
    ("impressions", "per_user", "bots"), [(1, 1, 1), (8999, 6, 2), (9000, 6, 3), (1499, 1, 2)]
)
def test_one_user_in_five_hundred_is_a_bot(
    impressions: int, per_user: int, bots: int, tmp_path: Path
) -> None:
    params = SimulationParameters(impressions=impressions, impressions_per_user=per_user)
    write_user_ground_truth(tmp_path, params, 7)
    users = pl.read_parquet(tmp_path / "truth/bots.parquet")["user"]
    assert users.n_unique() == bots
    assert users.str.contains(r"^bot-\d{10}$").all()
    kinds = pl.read_parquet(tmp_path / "truth/personal.parquet")["kind"].to_list()
    assert kinds == ["email", "phone", "iban", "nir", "card", "ip", "email"]


def test_finished_rows_are_added_up_to_the_total() -> None:
    told: list[tuple[str, int, int]] = []
    advance = _create_progress_callback(lambda *row: told.append(row), "crawl", 10)
    for count in (4, 4, 4):
        advance(count)
    assert told == [("crawl", 4, 10), ("crawl", 8, 10), ("crawl", 10, 10)]
    _create_progress_callback(None, "crawl", 10)(3)


LINE = json.dumps({"time": 1_654_300_000, "query": "eau", "results": ["a", "b"], "clicks": [1]})
PAGE = json.dumps({"url": "https://a.example/", "text": "x"})


@pytest.mark.parametrize(
    ("kind", "line", "corrupt"),
    [
        ("truncated", "abcdefg", b"abc"),
        ("bad_utf8", '{"a": "b"}', b'{"a": "b\xff\xfe"}'),
        ("blank", LINE, b"  "),
        ("wrong_type", LINE, {"results": 7}),
        ("wrong_type", PAGE, {"url": 7}),
        ("missing_key", LINE, {"query": None}),
        ("missing_key", PAGE, {"url": None}),
        ("click_not_shown", LINE, {"clicks": [5]}),
        ("empty_query", LINE, {"query": "  "}),
        ("outside_interval", LINE, {"time": 1_654_300_000 - 316_224_000}),
        ("bad_url", PAGE, {"url": "ftp://https://a.example/"}),
    ],
)
def test_how_lines_are_damaged(kind: str, line: str, corrupt: bytes | dict[str, Any]) -> None:
    found = _corrupt_line(line.encode(), kind)
    if isinstance(corrupt, bytes):
        assert found == corrupt
        return
    expected = {**json.loads(line), **corrupt}
    assert json.loads(found) == {name: v for name, v in expected.items() if v is not None}


def test_damaged_lines_stand_after_their_line_and_are_noted() -> None:
    faults: list[tuple[str, int, str]] = []
    lines = [b'{"n": 1}', b'{"n": 2}']
    found = list(insert_malformed_lines(lines, "log", 1, 1.0, ("blank",), faults))
    assert found == [lines[0], b"  ", lines[1], b"  "]
    assert faults == [("log", 2, "blank"), ("log", 4, "blank")]
    assert list(insert_malformed_lines(lines, "log", 1, 0.0, ("blank",), faults)) == lines
    assert len(faults) == 2


class Draws:
    """Gives these numbers as random ones."""

    def __init__(self, *draws: Sequence[float]) -> None:
        self.draws = [np.array(draw) for draw in draws]

    def random(self, _: int) -> np.ndarray:
        return self.draws.pop(0)


def test_two_neighbouring_results_are_swapped() -> None:
    params = SimulationParameters(results_per_page=3, reshuffled=0.5)
    counts = np.array([3, 3, 3, 2, 1])
    rng = Draws([0.0, 0.5, 0.99, 0.9, 0.0], [0.49, 0.0, 0.5, 0.0, 0.0])
    assert write_log._draw_result_orders(params, counts, rng).tolist() == [  # type: ignore[arg-type]
        [1, 0, 2],
        [0, 2, 1],
        [0, 1, 2],
        [1, 0, 2],
        [0, 1, 2],
    ]


def test_one_of_the_texts_of_a_query_is_typed() -> None:
    """The second text to the sixth with 35, 30, 10, 15 and 10 %; the first one otherwise."""
    params = SimulationParameters(variants=0.5)
    draws = [0.0, 0.34, 0.36, 0.64, 0.66, 0.74, 0.76, 0.89, 0.91, 1.0, 0.0]
    rng = Draws(draws, [0.49] * 10 + [0.5])
    six = SimulatedQuery(0, "need", tuple("abcdef"), (), (), np.zeros(0), np.zeros(0))
    indexes = np.zeros(11, dtype=np.int64)
    found = write_log._draw_query_forms(params, [six], indexes, rng)  # type: ignore[arg-type]
    assert found.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0]
    three = _query(0, "need")
    rng = Draws([0.0, 0.4, 0.7, 0.8, 0.95], [0.0] * 5)
    found = write_log._draw_query_forms(params, [three], indexes[:5], rng)  # type: ignore[arg-type]
    assert found.tolist() == [1, 2, 0, 1, 2]


def test_impressions_are_spread_over_the_month() -> None:
    rng = Draws([0.0, 0.5, 0.99])
    times = write_log._draw_times(Month(2022, 6), 10.0, 5, 3, rng)  # type: ignore[arg-type]
    assert times.tolist() == [1_654_041_650, 1_654_041_665, 1_654_041_679]


def test_a_log_is_drawn_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_log, "IMPRESSIONS_PER_BATCH", 4)
    params = SimulationParameters(impressions=10, results_per_page=3, bot_rate=1.0, tracked=1.0)
    queries = [_query(0, "need", 1), _query(1, "need", 5)]
    told: list[int] = []
    shares = np.array([0.5, 0.5])
    batches = list(
        write_log._generate_batches(params, queries, shares, Month(2022, 6), told.append)
    )
    assert told == [len(batch.query) for batch in batches] == [4, 4, 2]
    times = np.concatenate([batch.time for batch in batches])
    days = (times - 1_654_041_600) // 259_200  # a tenth of June each
    assert days.tolist() == list(range(10))
    for batch in batches:
        assert batch.bot.all()
        assert batch.tracked.all()
        assert not batch.anonymous.any()
        assert batch.user.tolist() == [0] * len(batch.query)  # the only bot
        assert batch.clicks.sum(axis=1).tolist() == [1 if q == 0 else 3 for q in batch.query]
    sober = params.model_copy(update={"bot_rate": 0.0, "anonymous": 1.0})
    batch = next(
        write_log._generate_batches(
            sober, queries, np.array([0.0, 1.0]), Month(2022, 6), told.append
        )
    )
    assert batch.query.tolist() == [1] * 4
    assert batch.anonymous.all()
    assert set(batch.user.tolist()) <= set(range(10))


def test_the_results_of_a_page_have_their_own_attractiveness() -> None:
    found = write_log._create_result_arrays([_query(0, "need", 1), _query(1, "need", 5)], 3)
    assert found.counts.tolist() == [1, 3]
    assert found.attractiveness.tolist() == [[0.5, 0, 0], [0.5, 0.5, 0.5]]
    assert found.satisfaction.tolist() == found.attractiveness.tolist()


def test_an_impression_as_a_line_and_as_a_row() -> None:
    queries = [_query(0, "need", 1), _query(1, "need", 3)]
    batch = ImpressionBatch(
        query=np.array([1, 0, 1]),
        form=np.array([0, 2, 1]),
        user=np.array([3, 0, 3]),
        time=np.array([5, 6, 7]),
        bot=np.array([False, True, False]),
        anonymous=np.array([False, False, True]),
        tracked=np.array([False, True, True]),
        order=np.array([[1, 0], [1, 0], [0, 1]]),
        clicks=np.array([[False, True], [True, False], [True, True]]),
    )
    user, bot = (hash_integers(number, 9) % 10**10 for number in (3, 0))
    urls = [f"https://1.example/{n}" for n in range(2)]
    expected = [
        {"time": 5, "user": f"u-{user:010d}", "query": "q1", "results": urls[::-1], "clicks": [2]},
        {
            "time": 6,
            "user": f"bot-{bot:010d}",
            "query": "c",
            "results": ["https://0.example/0?utm_source=lettre"],
            "clicks": [1],
        },
        {
            "time": 7,
            "user": None,
            "query": "b",
            "results": [f"{urls[0]}?utm_source=lettre", urls[1]],
            "clicks": [1, 2],
        },
    ]
    assert [write_log._to_json_record(queries, batch, n) for n in range(3)] == expected
    assert to_arrow_table(QueryArrays(queries), batch).to_pylist() == expected
