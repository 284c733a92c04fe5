"""Whether impressions and clicks were recorded by the same rules, on counts by rank."""

from collections.abc import Sequence

import duckdb
import polars as pl
import pytest

from builder.drift.checks.outcome import Outcome
from builder.drift.checks.recording import check_click_recording, check_result_lists
from schemas import ClickDiagnostics

SEES = (
    "a log that lacks impressions without a click, clicks after the first, clicks on the first "
    "rank, or clicks on low ranks"
)


def recorded(
    *snapshots: tuple[Sequence[int], Sequence[int], int],
) -> duckdb.DuckDBPyConnection:
    """The diagnostics of two snapshots: clicks and impressions by rank, impressions without."""
    connection = duckdb.connect()
    for side, (clicks, shown, without) in zip(("from", "to"), snapshots, strict=True):
        rows = [
            ("click_through", rank, *counts, None, None)
            for rank, counts in enumerate(zip(clicks, shown, strict=True), 1)
        ]
        rows += [("impressions_without_click", 0, without, max(shown, default=0), None, None)]
        frame = pl.DataFrame(rows, schema=ClickDiagnostics.dtypes(), orient="row")
        connection.register(f"click_diagnostics_{side}", frame.to_arrow())
    return connection


USUAL = ([300, 120, 80], [1000, 1000, 900], 600)


@pytest.mark.parametrize(
    ("after", "found", "end"),
    [
        (USUAL, False, ""),
        (([300, 120, 80], [400, 400, 360], 0), True, "impressions without a click were left out"),
        (([300, 60, 40], [1000, 1000, 900], 600), True, "one log has no second clicks"),
        (([0, 300, 200], [1000, 1000, 900], 600), True, "the first rank has no clicks after"),
        (([2, 598, 400], [1000, 1000, 900], 600), True, "the first rank has no clicks after"),
        (([140, 300, 60], [1000, 1000, 900], 600), None, "rank has a low click rate after"),
        (
            ([300, 200, 0], [1000, 1000, 900], 600),
            None,
            "clicks end at rank 3 before and at rank 2",
        ),
        (([300, 200, 1], [1000, 1000, 900], 600), None, "either clicks on lower ranks were left"),
        (([300, 199, 2], [1000, 1000, 900], 600), False, ""),  # more than .2 % of all clicks
        (([300, 200, 0], [1000, 1000, 499], 600), False, ""),  # most lists end there
        (([160, 300, 60], [1000, 1000, 900], 600), False, ""),  # more than half as often
        (([150, 60, 40], [1000, 1000, 900], 800), False, ""),  # half of the clicks
        (([140, 140, 130], [1000, 1000, 900], 700), False, ""),  # clicks at random
        (([60, 25, 15], [200, 200, 180], 120), False, ""),  # a fifth of the traffic
    ],
)
def test_recording_of_clicks(
    after: tuple[list[int], list[int], int], found: bool | None, end: str
) -> None:
    outcome = check_click_recording(recorded(USUAL, after))
    assert outcome.is_construction is found
    assert end in outcome.evidence
    assert outcome.detectable == (SEES if found is False else "")
    assert check_click_recording(recorded(after, USUAL)).is_construction is found


@pytest.mark.parametrize(("before", "after", "found"), [(8, 0, None), (7, 0, False), (8, 1, False)])
def test_few_impressions_without_a_click(before: int, after: int, found: bool | None) -> None:
    """8 of 400 are 2 %, 1 of 400 is more than .2 %."""
    few, none = ((([300, 120, 80], [400, 400, 360], n)) for n in (before, after))
    for pair in ((few, none), (none, few)):
        outcome = check_click_recording(recorded(*pair))
        assert outcome.is_construction is found
        assert ("either impressions without a click" in outcome.evidence) == (found is None)


def test_the_sentence_has_the_numbers_of_both() -> None:
    """Of 50 impressions with a click none may have two by chance, of 100 hardly."""
    says = (
        "the share of impressions without a click is 60.0 % before and {} after, and the mean "
        "number of additional clicks per impression with a click is 0.25 before and 0.00 after"
    )
    outcome = check_click_recording(recorded(USUAL, ([50, 0, 0], [500, 500, 500], 450)))
    assert (outcome.is_construction, outcome.evidence) == (False, says.format("90.0 %"))
    outcome = check_click_recording(recorded(USUAL, ([100, 0, 0], [500, 500, 500], 400)))
    assert outcome == Outcome(
        True,
        f"{says.format('80.0 %')}: one log has no second clicks: they were left out, or each "
        "click is an impression",
        {"without_click": [0.6, 0.8], "further_clicks": [0.25, 0.0], "first_avoided": [False] * 2},
    )


@pytest.mark.parametrize("few", [([], [], 0), ([60, 20], [199, 199], 120)])
@pytest.mark.parametrize("check", [check_click_recording, check_result_lists])
def test_too_few_impressions(check: object, few: tuple[list[int], list[int], int]) -> None:
    assert callable(check)
    outcome = check(recorded(USUAL, few))
    assert outcome == Outcome(None, "one of the snapshots has fewer than 200 impressions")


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ([1000, 1000, 600, 250, 100], False),
        ([1000, 1000, 600], None),  # cut at rank 3
        ([1000, 1000, 500, 2], None),  # two impressions in a thousand are none
        ([1000, 1000, 499], False),  # most lists are shorter than the last rank
        ([1000, 1000, 500, 3], False),
        ([1000, 900, 300, 126, 115], False),
        ([1000, 900, 300, 126, 113], None),  # four fifths as many results
    ],
)
def test_result_lists_that_were_cut(after: list[int], found: bool | None) -> None:
    """Before, lists have 3.05 results on average."""
    before = [1000, 1000, 600, 300, 150]
    outcome = check_result_lists(recorded(([10] * 5, before, 900), ([1] * len(after), after, 900)))
    assert outcome.is_construction is found
    reverse = recorded(([1] * len(after), after, 900), ([10] * 5, before, 900))
    assert check_result_lists(reverse).is_construction is found


def test_the_rank_at_which_lists_end() -> None:
    outcome = check_result_lists(recorded(([9] * 3, [500, 500, 400], 400), ([9], [500], 400)))
    assert outcome == Outcome(
        None,
        "result lists end at rank 3 before and at rank 1 after, and have 2.8 results on average "
        "before and 1.0 after: either one log has truncated lists or the engine changed the number "
        "of results",
        {"depths": [3, 1], "mean_lengths": [2.8, 1.0]},
    )
    rare = check_result_lists(recorded(([9, 9], [500, 49], 400), ([9], [500], 400)))
    assert rare == Outcome(
        False,
        "result lists end at rank 2 before and at rank 1 after, and have 1.1 results on average "
        "before and 1.0 after",
        {"depths": [2, 1], "mean_lengths": [1.098, 1.0]},
        "lists that are 20.0 % shorter on average, or truncated at a rank that most lists reach",
    )
