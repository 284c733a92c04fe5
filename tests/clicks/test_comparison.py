"""Models compared on held-out pages: measures by hand, and what is held out."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder.clicks import compare_models
from builder.clicks.models import ResultPages
from builder.clicks.scores import evaluate_predictions
from builder.errors import DataError, UsageError
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
    with pytest.raises(UsageError, match="between 0 and 1"):
        compare_models(log, held_out=1.0)
