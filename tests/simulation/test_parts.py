"""Parts of the simulation by hand: months, changes of pages, faults, logs and definitions."""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder import SimulationParameters, UsageError
from builder.runtime.limits import ResourceLimits
from builder.simulation import needs, over_crawls, write_crawl, write_log
from builder.simulation.calendar import Month, consecutive_months
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.evolution import PageStates, count_pages_ever_added, page_states
from builder.simulation.faults import _corrupt_line, insert_malformed_lines
from builder.simulation.lexicon import Noun, subjects
from builder.simulation.log_columns import ImpressionBatch, QueryArrays, to_arrow_table
from builder.simulation.needs import SimulatedQuery, rank_candidates
from builder.simulation.over_crawls import TitledPage
from builder.simulation.pages import generate_page, page_subject, page_url
from builder.simulation.rng import Rng, hash_integers
from builder.simulation.text_variants import add_typo, normalize_text, pluralize
from builder.simulation.truth import _describe_change
from builder.simulation.world import (
    _create_progress_callback,
    query_probabilities,
    write_user_ground_truth,
)

DEFAULTS = {
    "name": "simulated",
    "seed": 1,
    "snapshots": 3,
    "documents": 1500,
    "queries": 150,
    "impressions": 15_000,
    "results_per_page": 10,
    "sentences": 12,
    "crawl_format": "jsonl",
    "log_format": "jsonl",
    "translation": "off",
    "added": 0.06,
    "removed": 0.04,
    "edited": 0.08,
    "rewritten": 0.02,
    "moved": 0.01,
    "refetched": 0.02,
    "interest_drift": 0.5,
    "zipf": 0.8,
    "reshuffled": 0.5,
    "variants": 0.3,
    "off_topic": 0.03,
    "personal_rate": 0.005,
    "bot_rate": 0.005,
    "anonymous": 0.02,
    "tracked": 0.02,
    "malformed_rate": 0.002,
    "impressions_per_user": 6,
}


def test_parameters_that_are_not_given() -> None:
    assert SimulationParameters().model_dump() == DEFAULTS


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("seed", 0, 2**63 - 1),
        ("snapshots", 1, 1200),
        ("documents", 1, 10**9),
        ("queries", 1, 10**9),
        ("impressions", 1, 10**12),
        ("results_per_page", 1, 100),
        ("sentences", 1, 10**5),
        ("impressions_per_user", 1, None),
    ],
)
def test_numbers_have_bounds(name: str, least: int, most: int | None) -> None:
    for value in filter(lambda value: value is not None, (least, most)):
        assert SimulationParameters(**{name: value}).model_dump()[name] == value
    with pytest.raises(UsageError, match=f"{name}: expected at least {least}; found {least - 1}"):
        SimulationParameters(**{name: least - 1})
    if most is not None:
        with pytest.raises(UsageError, match=f"^{name}: "):
            SimulationParameters(**{name: most + 1})


@pytest.mark.parametrize("name", [name for name, value in DEFAULTS.items() if type(value) is float])
def test_shares_are_between_nothing_and_all(name: str) -> None:
    assert SimulationParameters(**{name: 0}).model_dump()[name] == 0
    assert SimulationParameters(**{name: 1}).model_dump()[name] == 1
    with pytest.raises(UsageError, match=f"{name}: expected at least 0.*; found -0.1"):
        SimulationParameters(**{name: -0.1})
    if name in ("interest_drift", "zipf"):
        assert SimulationParameters(**{name: 7}).model_dump()[name] == 7
        return
    with pytest.raises(UsageError, match=f"{name}: expected at most 1.*; found 1.1"):
        SimulationParameters(**{name: 1.1})


def test_months_follow_each_other_over_the_end_of_a_year() -> None:
    months = consecutive_months(8)
    assert [month.name for month in months] == [
        "2022-06",
        "2022-07",
        "2022-08",
        "2022-09",
        "2022-10",
        "2022-11",
        "2022-12",
        "2023-01",
    ]
    december = months[6]
    assert (december.start, december.end) == (1_669_852_800, 1_672_531_200)
    assert (december.first_day, december.next_month) == (date(2022, 12, 1), Month(2023, 1))
    assert Month(2023, 11).next_month == Month(2023, 12)


def test_hashes_are_those_of_splitmix64() -> None:
    """The first output of the reference implementation with seed 0, by Sebastiano Vigna."""
    assert hash_integers(0) == 0xE220A8397B1DCDAF
    assert hash_integers() == 0
    rng = Rng(0)
    assert rng.randrange(2**64) == hash_integers(0, 0)
    assert rng.randrange(1000) == hash_integers(0, 0, 0) % 1000
    assert Rng(4).choice("abc") == "abc"[hash_integers(4, 0) % 3]


def _states(**shares: float) -> list[list[int]]:
    """Whether pages 0 to 4 exist in the fourth snapshot, and their edits, versions and moves.

    The first two pages exist from the start, and one is added every month.
    """
    silent = dict.fromkeys(("removed", "edited", "rewritten", "moved"), 0.0)
    params = SimulationParameters(documents=2, added=0.5, **(silent | shares))
    states = page_states(params, np.arange(6, dtype=np.uint64), 3)
    found = (states.alive, states.edits, states.versions, states.moves)
    return [array.astype(int).tolist() for array in found]


@pytest.mark.parametrize(
    ("shares", "alive", "edits", "versions", "moves"),
    [
        ({}, [1, 1, 1, 1, 1, 0], [0] * 6, [0] * 6, [0] * 6),
        ({"removed": 1}, [0, 0, 0, 0, 1, 0], [0] * 6, [0] * 6, [0] * 6),
        ({"edited": 1}, [1, 1, 1, 1, 1, 0], [3, 3, 2, 1, 0, 0], [0] * 6, [0] * 6),
        (
            {"rewritten": 1, "edited": 1},
            [1, 1, 1, 1, 1, 0],
            [0] * 6,
            [3, 3, 2, 1, 0, 0],
            [0] * 6,
        ),
        ({"moved": 1}, [1, 1, 1, 1, 1, 0], [0] * 6, [0] * 6, [3, 3, 2, 1, 0, 0]),
    ],
)
def test_pages_change_in_every_month_after_that_in_which_they_are_added(
    shares: dict[str, float],
    alive: list[int],
    edits: list[int],
    versions: list[int],
    moves: list[int],
) -> None:
    assert _states(**shares) == [alive, edits, versions, moves]


def test_pages_are_added_every_month() -> None:
    params = SimulationParameters(documents=150, added=0.05)
    assert [count_pages_ever_added(params, n) for n in range(3)] == [150, 158, 166]  # round(7.5)


def _at(alive: Sequence[bool], edits: int = 0, versions: int = 0, moves: int = 0) -> PageStates:
    counts = (np.array([0, count]) for count in (edits, versions, moves))
    return PageStates(np.array([4, 5], dtype=np.uint64), np.array(alive), *counts)


def test_the_truth_says_how_a_page_changed() -> None:
    params = SimulationParameters()
    urls = [page_url(params, 5, moves) for moves in range(2)]
    here, gone = (True, True), (True, False)
    for before, after, change in (
        (_at(gone), _at(gone), None),
        (_at(here), _at(gone), (urls[0], "removed", None)),
        (_at(here), _at(gone, moves=1), (urls[0], "removed", None)),
        (_at(gone), _at(here, edits=1, moves=1), (urls[1], "added", None)),
        (_at(here), _at(here, moves=1, versions=1), (urls[1], "moved", urls[0])),
        (_at(here, edits=1), _at(here, versions=1), (urls[0], "rewritten", None)),
        (_at(here), _at(here, edits=1), (urls[0], "edited", None)),
        (_at(here, 1, 1, 1), _at(here, 1, 1, 1), (urls[1], "unchanged", None)),
    ):
        assert _describe_change(params, before, after, 1) == change


def test_a_page_that_moves_is_on_another_site() -> None:
    params = SimulationParameters()
    subject = page_subject(7)
    slug = normalize_text(f"{subject.noun.french} {subject.qualifier[0]}").replace(" ", "-")
    urls = [page_url(params, 7, moves) for moves in range(13)]
    assert len(set(urls)) == 12
    assert urls[12] == urls[0]
    for url in urls:
        site, path = url.removeprefix("https://www.").split(".example/")
        assert site in urls[0] + "".join(urls)
        assert path == f"{subject.area.name}/{slug}-7"


@pytest.mark.parametrize(("sentences", "least", "most"), [(1, 3, 3), (6, 3, 8), (40, 20, 59)])
def test_a_page_has_half_to_three_halves_of_the_sentences_asked_for(
    sentences: int, least: int, most: int
) -> None:
    params = SimulationParameters(sentences=sentences)
    for page in range(40):
        lines = generate_page(params, page, 0, 0).lines
        items = [french for french, _ in lines if french.startswith("- ")]
        paragraphs = [french for french, _ in lines[: -len(items)][::2]]
        found = sum(text.count(". ") + text.count("? ") + 1 for text in paragraphs)
        assert least <= found <= most
        assert len(paragraphs) == max(2, found // 9)
        assert 3 <= len(set(items)) == len(items) <= 4


def test_candidates_are_about_the_subject_its_noun_or_its_area() -> None:
    params = SimulationParameters(documents=5000, results_per_page=7, removed=0.0)
    for need in range(12):
        subject = subjects()[hash_integers(1, need, 1) % len(subjects())]
        found = rank_candidates(params, need, 1)
        assert len(found) == len(dict(found)) == 10  # 1.5 * 7, rounded to even
        for page, grade in found:
            about = page_subject(page)
            assert about.area is subject.area
            assert (grade > 0) == (about.noun is subject.noun)
            assert grade != 2 or about is subject
        scores = [needs._retrieval_score(params, need, page, grade) for page, grade in found]
        assert scores == sorted(scores, reverse=True)
        for (_, grade), score in zip(found, scores, strict=True):
            assert 0.5 * grade <= score < 0.5 * grade + 1.5


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


def test_pages_are_fetched_in_ranges_and_some_of_them_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(write_crawl, "PAGES_PER_TASK", 2)
    params = SimulationParameters(documents=5, refetched=1.0)
    month, told = Month(2022, 6), list[int]()
    found = list(
        write_crawl._generate_fetched_pages(params, 0, month, told.append, ResourceLimits(tmp_path))
    )
    assert told == [2, 2, 1]
    assert [fetch.page for fetch in found] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for earlier, later in zip(found[::2], found[1::2], strict=True):
        assert later.time - earlier.time == 3600
        assert earlier.text == f"{later.text}\nPage en travaux."
        assert earlier.url == later.url
        assert 86_400 <= later.time - month.start < 21 * 86_400


FETCH = write_crawl.FetchedPage(7, "https://a.example/", 1_654_086_400, "L'eau & co", "A <b>\n- c")


def test_records_of_a_crawl() -> None:
    assert write_crawl._to_json_record(FETCH) == {
        "url": "https://a.example/",
        "timestamp": 1_654_086_400,
        "title": "L'eau & co",
        "text": "A <b>\n- c",
    }
    assert write_crawl._to_qwant_record(FETCH) == {
        "url": "https://a.example/",
        "content": "L'eau & co\nA <b>\n- c",
        "created_at": 1_654_000_000,
        "last_updated_at": 1_654_086_400,
    }
    html = write_crawl._to_html(FETCH).decode()
    assert "<title>L&#x27;eau &amp; co</title>" in html
    assert "</h1>\n<p>A &lt;b&gt;</p>\n<li>c</li>\n</article>" in html
    head, http, body, end = (
        write_crawl._create_warc_record(FETCH, "404 Not Found", b"abc").decode().split("\r\n\r\n")
    )
    assert head.splitlines()[:4] == [
        "WARC/1.1",
        "WARC-Type: response",
        "WARC-Target-URI: https://a.example/",
        "WARC-Date: 2022-06-01T12:26:40Z",
    ]
    assert head.splitlines()[4].split(":")[:3] == ["WARC-Record-ID", " <urn", "uuid"]
    assert [len(part) for part in head.splitlines()[4].split(":")[3].split("-")] == [8, 4, 4, 4, 13]
    assert head.splitlines()[5:] == [
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(http) + 4 + 3}",
    ]
    assert http.splitlines() == [
        "HTTP/1.1 404 Not Found",
        "Content-Type: text/html; charset=utf-8",
        "Content-Length: 3",
    ]
    assert (body, end) == ("abc", "")


def test_a_definition_and_topics(tmp_path: Path) -> None:
    months = [(Month(2022, 12), "logs/a", 'c"\\')]
    write_definition(tmp_path, "mine", months)
    text = (tmp_path / "workflow.toml").read_text()
    assert text == (
        "# Written by `longeval simulate`; every key is explained in docs/reference/definition.md\n"
        '[collection]\nname = "mine"\nversion = "0.1.0"\n'
        'topics = "topics.tsv"\nlicence = "CC0-1.0"\n\n'
        '[[snapshots]]\nname = "2022-12"\nstart = 2022-12-01\nend = 2023-01-01\n'
        'log = ["logs/a"]\ncrawl = ["c\\"\\\\"]\n'
    )
    write_definition(tmp_path, "mine", [], ignore_crawl_interval=True, translation="embedded")
    assert (tmp_path / "workflow.toml.1.bak").read_text() == text
    assert (tmp_path / "workflow.toml").read_text().splitlines()[1:] == [
        "[collection]",
        'name = "mine"',
        'version = "0.1.0"',
        'languages = ["fr", "en"]',
        'topics = "topics.tsv"',
        'licence = "CC0-1.0"',
        "",
        "[crawl]",
        'interval = "ignore"',
        "",
        "[translate]",
        'model = "embedded"',
    ]
    write_topics(tmp_path, [("eau", "l'eau", "eaux"), ("x", "X", "")])
    assert (tmp_path / "topics.tsv").read_text().splitlines() == [
        "topic_id\tlabel\taliases\tlanguage\tsource",
        "eau\tl'eau\teaux\tfr\tsimulated",
        "x\tX\t\tfr\tsimulated",
    ]


class Chosen(Rng):
    """Gives these numbers as random ones."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.stops: list[int] = []

    def randrange(self, stop: int) -> int:
        self.stops.append(stop)
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("offset", "typo", "typed"),
    [
        (0, 0, "une rcette"),
        (0, 1, "une reecette"),
        (0, 2, "une rceette"),
        (2, 2, "une rectete"),
        (3, 0, "une recete"),
    ],
)
def test_a_letter_is_dropped_doubled_or_swapped(offset: int, typo: int, typed: str) -> None:
    rng = Chosen(0, offset, typo)
    assert add_typo("une recette", rng) == typed
    assert rng.stops == [1, 4, 3]
    assert add_typo("une idee abcd", Rng(1)) == "une idee abcd"
    assert add_typo("abcde", Chosen(0, 0, 0)) == "acde"


def test_words_in_the_plural() -> None:
    words = ["gaz", "bijou", "feu", "tuyau", "bateau", "nez", "lac"]
    assert [pluralize(word) for word in words] == [
        "gaz",
        "bijous",
        "feux",
        "tuyaux",
        "bateaux",
        "nez",
        "lacs",
    ]


def test_a_noun_fills_the_slots_of_both_languages() -> None:
    assert Noun("eau", True, "apple juice").template_slots(("en hiver", "in winter")) == {
        "nom": "eau en hiver",
        "le": "l'eau en hiver",
        "du": "de l'eau en hiver",
        "au": "à l'eau en hiver",
        "un": "une eau en hiver",
        "noun": "apple juice in winter",
        "the": "the apple juice in winter",
        "a": "an apple juice in winter",
    }
    assert Noun("pain", False, "bread").template_slots(("x", "y"))["a"] == "a bread y"


@pytest.mark.parametrize(
    ("names", "months"),
    [
        (["c-2022-06-30.gz", "2023-01.gz"], ["2022-06", "2023-01"]),
        (["2023-01.gz", "2022-06.gz"], ["2022-06", "2022-07"]),
        (["2022-08-01.gz", "2022-08-02.gz"], ["2022-06", "2022-07"]),
        (["2022-08.gz", "x.gz"], ["2022-06", "2022-07"]),
        (["2022-13.gz"], ["2022-06"]),
        (["2022-12.gz"], ["2022-12"]),
    ],
)
def test_months_are_read_from_names_of_crawls(names: list[str], months: list[str]) -> None:
    found = over_crawls._detect_months([Path("2020-01") / name for name in names])
    assert [month.name for month in found] == months


def _titled(*titles: str) -> list[TitledPage]:
    return [TitledPage(f"u{n}", tuple(title.split())) for n, title in enumerate(titles)]


def test_topics_are_words_of_three_titles_and_of_one_title_in_twenty() -> None:
    """Of 80 titles, a word may be in four."""
    titles = ["four three five only2"] * 3 + ["four five only2", "five", "two", "two", "zzz"]
    titles += ["zzz"] * 2
    pages = _titled(*titles, *([""] * (80 - len(titles))))
    assert over_crawls._select_topics(pages) == ["four", "three", "zzz"]
    assert over_crawls._select_topics(_titled("a b", "a", "a")) == ["a"]


def test_queries_over_crawls_are_a_topic_and_the_rarest_words_of_a_title() -> None:
    pages = _titled("aaaa bbbb cccc dddd", "cccc aaaa", "bbbb cccc", "eeee")
    texts = over_crawls._create_query_texts(pages, ["aaaa", "bbbb"], SimulationParameters())
    assert sorted(texts) == ["aaaa cccc", "aaaa dddd bbbb", "bbbb cccc"]
    few = SimulationParameters(queries=2)
    assert len(over_crawls._create_query_texts(pages, ["aaaa", "bbbb"], few)) == 2


def test_results_over_crawls_have_grades_by_the_words_of_their_titles() -> None:
    titles = ["aaaa bbbb", "bbbb", "cccc", "aaaa", "bbbb aaaa cccc", *["zzzz"] * 200]
    params = SimulationParameters(results_per_page=8)
    (query,) = over_crawls._create_topic_queries(params, ["aaaa bbbb"], _titled(*titles))
    assert (query.number, query.kind) == (0, "need")
    assert query.forms[:2] == ("aaaa bbbb", "AAAA BBBB")
    assert query.urls[:4] == ("u0", "u4", "u1", "u3")
    assert query.grades == (2, 2, 1, 1, *[0] * 6)  # two more results than fit on a page
    assert len(set(query.urls)) == 10
    for grade, clicked, satisfied in zip(
        query.grades, query.attractiveness, query.satisfaction, strict=True
    ):
        low, high = needs.ATTRACTIVENESS_RANGES[grade]
        assert low <= clicked <= high
        low, high = needs.SATISFACTION_RANGES[grade]
        assert low <= satisfied <= high


def test_queries_with_personal_data_over_crawls_have_results_of_grade_0() -> None:
    found = over_crawls._create_queries_with_personal_data(
        SimulationParameters(), _titled(*["x"] * 1000)
    )
    assert [query.number for query in found] == [2**32 + n for n in range(6)]
    for query in found:
        assert (query.kind, len(query.urls), query.grades) == ("personal", 5, (0,) * 5)
        assert query.attractiveness.tolist() == query.satisfaction.tolist() == [0.05] * 5
