"""Models compared on held-out pages: measures by hand, and what is held out."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder.clicks import compare_models
from builder.clicks.log_summary import LogSummary
from builder.clicks.models import ResultPages
from builder.clicks.scores import evaluate_predictions
from builder.errors import DataError, UsageError
from builder.parameters import ClickParameters
from tests.clicks.log_files import RECORDS, random_records, written


class Fixed:
    """A prediction that is given."""

    def __init__(self, pages: Any, click: list[float]) -> None:
        self._click = pl.Series(click).to_numpy()

    def marginal_click_probabilities(self, pages: Any) -> Any:
        return self._click

    def conditional_outcome_probabilities(self, pages: Any) -> Any:
        return self._click


def test_measures_by_both_conventions() -> None:
    pages = ResultPages(
        pair=np.zeros(3, dtype=np.int64),
        clicked=np.array([True, False, True]),
        start=np.array([0, 2, 3]),
        weight=np.array([1, 3]),
        latest=np.array([1, 1]),
        pairs=1,
    )
    pyclick, per_rank = evaluate_predictions(Fixed(pages, [0.5, 0.25, 0.8]), pages)
    log = np.log
    # observed: .5, .75 marginally (.25 as it stands conditionally), .8 three times
    assert pyclick.log_likelihood == pytest.approx(((log(0.5) + log(0.25)) / 2 + 3 * log(0.8)) / 4)
    assert per_rank.log_likelihood == pytest.approx((log(0.5) + log(0.25) + 3 * log(0.8)) / 4)
    first = np.exp(-(log(0.5) + 3 * log(0.8)) / 4)
    assert per_rank.by_rank == pytest.approx((first, 1 / 0.75))
    assert pyclick.by_rank == pytest.approx((first, np.exp(-log(0.75) / 4), *[1.0] * 8))
    assert pyclick.perplexity == pytest.approx((first + np.exp(-log(0.75) / 4) + 8) / 10)
    assert per_rank.conditional_by_rank == pytest.approx((first, 4.0))


def test_ranks_beyond_ten_count_by_the_convention_of_ranks_only() -> None:
    pages = ResultPages(
        pair=np.zeros(12, dtype=np.int64),
        clicked=np.ones(12, dtype=bool),
        start=np.array([0, 12]),
        weight=np.array([1]),
        latest=np.array([12]),
        pairs=1,
    )
    predicted = Fixed(pages, [*[0.5] * 9, 0.25, 0.1, 0.1])
    pyclick, per_rank = evaluate_predictions(predicted, pages)
    assert pyclick.by_rank == pytest.approx((*[2] * 9, 4))
    assert per_rank.by_rank == pytest.approx((*[2] * 9, 4, 10, 10))
    assert per_rank.perplexity == pytest.approx((9 * 2 + 4 + 2 * 10) / 12)


SHOWN = {"query": "q", "results": ["a", "b"]}
TRAINED = [SHOWN | {"clicks": clicks} for clicks in ([1], [1], [], [1, 2], [1], [])]
TESTED = [SHOWN | {"clicks": [2]}, SHOWN | {"clicks": [2]}]


@pytest.mark.parametrize("is_separate", [False, True])
def test_models_are_trained_on_one_part_and_scored_on_the_other(
    tmp_path: Path, is_separate: bool
) -> None:
    """Of six pages of training, four are clicked at rank 1 and one at rank 2."""
    logs = {"a.jsonl": TRAINED, "b.jsonl": TESTED} if is_separate else {"a.jsonl": TRAINED + TESTED}
    paths = [written(tmp_path, records, name) for name, records in logs.items()]
    compared = compare_models(
        paths[0],
        ["global-ctr"],
        test=paths[1] if is_separate else None,
        params=ClickParameters(prior="beta", prior_alpha=1.0, prior_beta=3.0),
    )
    assert (compared.train, compared.test, compared.unseen) == (6, 2, 0)
    assert compared.logs == tuple(
        LogSummary(str(path), records=len(records))
        for path, records in zip(paths, logs.values(), strict=True)
    )
    likelihoods = {s.model: s.per_rank.log_likelihood for s in compared.scores}
    assert likelihoods == pytest.approx(
        {
            "global-ctr": np.log(10 / 16 * 6 / 16),
            "rank-ctr": np.log(5 / 10 * 2 / 10),
        }
    )
    assert compared.models_worse_than_baseline() == ()


def test_models_below_the_baseline_are_named(tmp_path: Path) -> None:
    log = written(tmp_path, [*TRAINED, *TRAINED[:2]])
    compared = compare_models(log, ["rank-ctr", "global-ctr", "global-ctr"])
    assert [scores.model for scores in compared.scores] == ["global-ctr", "rank-ctr"]
    assert compared.models_worse_than_baseline() == ("global-ctr",)


def test_rejected_rows_of_parquet_are_neither_trained_nor_tested_on(tmp_path: Path) -> None:
    """The last quarter of all rows, of which the first two are rejected, is held out."""
    bad = SHOWN | {"clicks": [3]}
    log = written(tmp_path, [bad, bad, *TRAINED[:4], *TESTED], "log.parquet")
    compared = compare_models(log, ["global-ctr"])
    assert (compared.train, compared.test, compared.unseen) == (4, 2, 0)
    (summary,) = compared.logs
    assert (summary.records, summary.rejected) == (8, {"click_not_shown": 2})


def test_comparison_holds_out_the_end_of_the_log(tmp_path: Path) -> None:
    records = random_records(80)
    records[70]["query"] = "never seen before"
    log = written(tmp_path, records)
    compared = compare_models(log, ["sdbn", "rank-ctr", "pbm"], held_out=0.25)
    assert (compared.train, compared.test, compared.unseen) == (60, 19, 1)
    assert [scores.model for scores in compared.scores] == ["sdbn", "pbm", "rank-ctr"]
    baseline = compared.scores[-1].per_rank.log_likelihood
    assert compared.models_worse_than_baseline() == tuple(
        s.model for s in compared.scores if s.per_rank.log_likelihood < baseline
    )


def test_comparison_without_test_pages_fails(tmp_path: Path) -> None:
    other = [{**record, "query": "other"} for record in RECORDS]
    log, test = written(tmp_path, RECORDS, "a.jsonl"), written(tmp_path, other, "b.jsonl")
    with pytest.raises(DataError, match="expected test impressions of queries seen in training"):
        compare_models(log, test=test)


@pytest.mark.parametrize("share", [-0.5, 0.0, 1.0, 1.5])
def test_the_held_out_part_is_a_fraction(tmp_path: Path, share: float) -> None:
    message = f"^held-out fraction: expected a number between 0 and 1, found {share}$"
    with pytest.raises(UsageError, match=message):
        compare_models(written(tmp_path, RECORDS), held_out=share)
