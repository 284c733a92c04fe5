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
        (([300, 200, 0], [1000, 1000, 500], 600), None, "and at rank 2 after"),  # half reach rank 3
        (([300, 200], [1000, 1000], 600), False, ""),  # no list reaches rank 3
        (([81, 39, 0], [1000, 1000, 900], 900), None, "and at rank 2 after"),
        (([80, 39, 0], [1000, 1000, 900], 901), False, ""),  # 99 impressions with a click
        (([150, 290, 60], [1000, 1000, 100], 600), None, "rank has a low click rate after"),
        (([150, 300, 50], [1000, 1000, 900], 600), False, ""),  # exactly half as often
        (([3, 597, 400], [1000, 1000, 900], 600), None, "rank has a low click rate after"),
        (([5, 12, 8], [200, 200, 180], 180), False, ""),  # 5 of 200 may be chance
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


SAYS = (
    "the share of impressions without a click is {} before and {} after, and the mean number of "
    "additional clicks per impression with a click is {} before and {} after"
)


@pytest.mark.parametrize(("low", "found"), [(50, None), (49, False)])
def test_a_tenth_of_the_clicks_on_low_ranks_is_missed(low: int, found: bool | None) -> None:
    shown = [1000, 1000, 900]
    outcome = check_click_recording(
        recorded(([300, 200 - low, low], shown, 600), ([300, 200, 0], shown, 600))
    )
    assert outcome.is_construction is found


@pytest.mark.parametrize(
    ("before", "further", "avoided", "found"),
    [
        ([0, 300, 200], "0.25", True, "; the first rank has no clicks before: ranks are numbered "),
        ([140, 300, 60], "0.25", True, ""),
        ([300, 200, 0], "0.25", False, ""),
    ],
)
def test_what_is_certain_is_named_and_what_is_doubtful_is_not(
    before: list[int], further: str, *, avoided: bool, found: str
) -> None:
    outcome = check_click_recording(recorded((before, [400, 400, 360], 0), USUAL))
    end = "impressions without a click were left out of one log" + found
    assert outcome == Outcome(
        True,
        f"{SAYS.format('0.0 %', '60.0 %', further, '0.25')}: {end}"
        + ("differently" if found else ""),
        {
            "without_click": [0, 0.6],
            "further_clicks": [0.25] * 2,
            "first_avoided": [avoided, False],
        },
    )


def test_doubtful_recordings_are_described_with_their_numbers() -> None:
    numbers = {"without_click": [0.6, 0.6], "further_clicks": [0.25, 0.25]}
    says = SAYS.format("60.0 %", "60.0 %", "0.25", "0.25")
    low = ([140, 300, 60], [1000, 1000, 900], 600)
    assert check_click_recording(recorded(low, USUAL)) == Outcome(
        None,
        f"{says}; the first rank has a low click rate before: either ranks are numbered "
        "differently or the result page changed",
        numbers | {"first_avoided": [True, False]},
    )
    short = ([300, 200, 0], [1000, 1000, 900], 600)
    assert check_click_recording(recorded(USUAL, short)) == Outcome(
        None,
        f"{says}; clicks end at rank 3 before and at rank 2 after: either clicks on lower ranks "
        "were left out of one log, or users did not click there",
        numbers | {"first_avoided": [False, False], "click_depths": [3, 2]},
    )
    few = [([300, 120, 80], [400, 400, 360], without) for without in (8, 0)]
    assert check_click_recording(recorded(*few)) == Outcome(
        None,
        f"{SAYS.format('2.0 %', '0.0 %', '0.28', '0.25')}: either impressions without a click were "
        "left out of one log, or nearly all of its impressions received a click",
        {
            "without_click": [0.02, 0.0],
            "further_clicks": [500 / 392 - 1, 0.25],
            "first_avoided": [False, False],
        },
    )


def test_a_log_without_any_click() -> None:
    assert check_click_recording(recorded(USUAL, ([0] * 3, [1000, 1000, 900], 1000))) == Outcome(
        False,
        SAYS.format("60.0 %", "100.0 %", "0.25", "0.00"),
        {"without_click": [0.6, 1.0], "further_clicks": [0.25, 0.0], "first_avoided": [False] * 2},
        SEES,
    )
    one_rank = ([400], [1000], 600)
    assert check_click_recording(recorded(one_rank, one_rank)).is_construction is False


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
    tenth = check_result_lists(recorded(([9, 9], [500, 50], 400), ([9], [500], 400)))
    assert tenth.is_construction is None
    rare = check_result_lists(recorded(([9, 9], [500, 49], 400), ([9], [500], 400)))
    assert rare == Outcome(
        False,
        "result lists end at rank 2 before and at rank 1 after, and have 1.1 results on average "
        "before and 1.0 after",
        {"depths": [2, 1], "mean_lengths": [1.098, 1.0]},
        "lists that are 20.0 % shorter on average, or truncated at a rank that most lists reach",
    )
