"""Parameters, months and hashes of a simulation, and how its pages change from month to month."""

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest

from builder import SimulationParameters, UsageError
from builder.simulation.calendar import Month, consecutive_months
from builder.simulation.evolution import PageStates, count_pages_ever_added, page_states
from builder.simulation.pages import page_subject, page_url
from builder.simulation.rng import Rng, hash_integers
from builder.simulation.text_variants import normalize_text
from builder.simulation.truth import _describe_change

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
