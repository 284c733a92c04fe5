"""Compares click models on held-out result pages (command `longeval clicks compare`).

The scores of each model are reported under two conventions (see `builder.clicks.scores`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from builder.clicks.encoding import EncodedLog, encode_pages
from builder.clicks.log import STANDALONE, add_rejects_to_summary, open_log
from builder.clicks.log_summary import LogSummary
from builder.clicks.models import TrainingOptions, get_fit_function
from builder.clicks.scores import ClickModelScore, evaluate_predictions
from builder.clicks.standalone import check_model_name
from builder.clicks.statistics import ENGINE_SHARE
from builder.errors import DataError, UsageError
from builder.io.engine import set_sql_variables
from builder.parameters import ClickParameters, LogParameters
from builder.runtime.limits import ResourceLimits, limits_or_default
from builder.runtime.progress import NoProgress, Progress

BASELINE = "rank-ctr"
DEFAULT_MODELS = (
    "sdbn",
    "dcm",
    "ccm",
    "cascade",
    "dbn",
    "pbm",
    "ubm",
    "document-ctr",
    "global-ctr",
)


@dataclass(frozen=True)
class ModelScores:
    """Scores of one click model under two conventions.

    Args:
        model: Name of the model.
        pyclick: Scores under the convention of PyClick, which averages over ten ranks on every
            page, including missing ones.
        per_rank: Scores under the convention that ignores missing ranks.
    """

    model: str
    pyclick: ClickModelScore
    per_rank: ClickModelScore


@dataclass(frozen=True)
class ModelComparison:
    """Scores of several click models on the same held-out impressions.

    Args:
        train: Number of training impressions.
        test: Number of test impressions that are scored; their queries were all seen in training.
        unseen: Number of test impressions that are excluded, because their queries were not seen in
            training.
        logs: Summary of each log read.
        scores: Scores of each model, the baseline last.
    """

    train: int
    test: int
    unseen: int
    logs: tuple[LogSummary, ...]
    scores: tuple[ModelScores, ...]

    def models_worse_than_baseline(self) -> tuple[str, ...]:
        """Return the names of models with a lower log-likelihood than the baseline `rank-ctr`."""
        limit = self.scores[-1].per_rank.log_likelihood
        return tuple(s.model for s in self.scores if s.per_rank.log_likelihood < limit)


LogOpener = Callable[..., LogSummary]
"""Function that opens a log: `open_log` with `progress` and `log_params` already bound."""

CREATE_LOGGED = """
CREATE TEMP TABLE logged (query VARCHAR, results VARCHAR[], clicks USMALLINT[], is_test BOOLEAN)
"""

ADD_LOG = """
INSERT INTO logged
SELECT query, results, clicks, impression >= getvariable('first_test') FROM used_impressions
"""

DROP_VIEWS = "DROP VIEW used_impressions; DROP VIEW checked; DROP VIEW records"

TESTABLE = """
CREATE VIEW testable AS
SELECT * FROM logged
WHERE NOT is_test OR query IN (SELECT query FROM logged WHERE NOT is_test)
"""

SIZES = """
SELECT count(*) FILTER (NOT is_test), count(*) FILTER (is_test),
       (SELECT count(*) FILTER (is_test) FROM logged)
FROM testable
"""

SPLIT_PAGES = """
SELECT query, results, clicks, (NOT is_test)::BIGINT AS train, is_test::BIGINT AS test FROM testable
"""


def compare_models(
    log: Path,
    models: Sequence[str] = DEFAULT_MODELS,
    *,
    test: Path | None = None,
    held_out: float = 0.25,
    params: ClickParameters | None = None,
    limits: ResourceLimits | None = None,
    progress: Progress | None = None,
    log_params: LogParameters = STANDALONE,
) -> ModelComparison:
    """Train click models on a log, and score their predictions on held-out result pages.

    Args:
        log: Training log; see `open_log`.
        models: Names in `CLICK_MODELS`; the baseline `rank-ctr` is always added.
        test: Test log; if None, the end of the training log is held out.
        held_out: Fraction of the records at the end of `log` to hold out; ignored if `test` is
            given.
        params: Model options: `no_click`, `last`, prior, iterations.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of records read.
        log_params: Section `[log]` of the definition; see `standalone_log_parameters`.

    Raises:
        UsageError: unknown model, invalid fraction, or a log too large for the memory limit.
        FormatError: a log cannot be read, or required columns are missing.
        DataError: a log has no valid impressions, or no test page has a query seen in training.
    """
    for name in models:
        check_model_name(name)
    if not 0 < held_out < 1:
        raise UsageError(f"held-out fraction: expected a number between 0 and 1, found {held_out}")
    training = TrainingOptions(params or ClickParameters())
    with limits_or_default(limits) as allowed:
        opener = partial(open_log, progress=progress or NoProgress(), log_params=log_params)
        encoded, sizes, logs = _load_and_encode_logs(log, test, held_out, allowed, opener)
    names = [name for name in dict.fromkeys(models) if name != BASELINE]
    scores = tuple(_score_model(name, encoded, training) for name in [*names, BASELINE])
    return ModelComparison(sizes[0], sizes[1], sizes[2] - sizes[1], logs, scores)


def _load_and_encode_logs(
    log: Path, test: Path | None, held_out: float, limits: ResourceLimits, opener: LogOpener
) -> tuple[EncodedLog, tuple[int, int, int], tuple[LogSummary, ...]]:
    """Load the training and test logs, and encode their result pages as arrays.

    Returns:
        The encoded pages; three numbers of impressions (training, test with a query seen in
        training, all test); and the summary of each log.
    """
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:
        connection.execute(CREATE_LOGGED)
        parts = [(log, 1 - held_out)] if test is None else [(log, 1.0), (test, 0.0)]
        logs = tuple(_load_log(connection, *part, limits, opener) for part in parts)
        connection.execute(TESTABLE)
        train, seen, tested = connection.execute(SIZES).fetchall()[0]
        if not seen:
            raise DataError(
                f"{log}: expected test impressions of queries seen in training, found none among "
                f"{tested} test impressions (trained on {train}); use a larger log, or set --test"
            )
        return encode_pages(connection, SPLIT_PAGES, limits), (train, seen, tested), logs


def _load_log(
    connection: duckdb.DuckDBPyConnection,
    log: Path,
    train_share: float,
    limits: ResourceLimits,
    opener: LogOpener,
) -> LogSummary:
    """Append the records of a log to the table `logged`, with the test records marked.

    Args:
        connection: DuckDB connection with the table `logged`.
        log: Log in any format.
        train_share: Fraction of the records, at the start of the log, to use for training; the
            others are test records.
        limits: Limits for threads, memory and scratch space.
        opener: Function that opens the log.
    """
    summary = opener(connection, log, limits)
    set_sql_variables(connection, first_test=int(train_share * summary.impressions))
    used = connection.execute(ADD_LOG).fetchall()[0][0]
    add_rejects_to_summary(connection, summary, used)
    connection.execute(DROP_VIEWS)
    return summary


def _score_model(name: str, log: EncodedLog, training: TrainingOptions) -> ModelScores:
    """Train a click model, and score its predictions on the test pages."""
    predicted = get_fit_function(name)(log.train, training).predict(log.test)
    return ModelScores(name, *evaluate_predictions(predicted, log.test))
