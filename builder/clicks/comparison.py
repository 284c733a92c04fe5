"""Click models compared on held-out pages of a log: the command `longeval clicks compare`.

In: a log, and pages to test on. Out: the scores of each model by two conventions (see `scores`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from builder.clicks.encoding import EncodedLog, encode
from builder.clicks.log import AS_THEY_STAND, LogAccount, account_for_rejects, open_log
from builder.clicks.models import Training, model_of
from builder.clicks.scores import Score, evaluate
from builder.clicks.standalone import check_model, working
from builder.clicks.statistics import ENGINE_SHARE
from builder.errors import DataError, UsageError
from builder.io.engine import set_variables
from builder.parameters import ClickParameters, LogParameters
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress, Silent

BASELINE = "rank-ctr"
COMPARED = ("sdbn", "dcm", "ccm", "cascade", "dbn", "pbm", "ubm", "document-ctr", "global-ctr")


@dataclass(frozen=True)
class ModelScores:
    """One model by both conventions.

    Args:
        model: Its name.
        pyclick: Ten ranks, all pages.
        per_rank: The ranks that occur, the pages that have them.
    """

    model: str
    pyclick: Score
    per_rank: Score


@dataclass(frozen=True)
class Comparison:
    """Models compared on the same held-out pages.

    Args:
        train: Impressions trained on.
        test: Impressions tested on: those whose query occurs in training.
        unseen: Impressions not tested on because their query does not.
        logs: What was read.
        scores: One for each model, the baseline last.
    """

    train: int
    test: int
    unseen: int
    logs: tuple[LogAccount, ...]
    scores: tuple[ModelScores, ...]

    def losers(self) -> tuple[str, ...]:
        """Models with a lower log-likelihood than the baseline, clicks by rank."""
        limit = self.scores[-1].per_rank.log_likelihood
        return tuple(s.model for s in self.scores if s.per_rank.log_likelihood < limit)


Opener = Callable[..., LogAccount]
"""`open_log` with progress reporting and read options bound."""

LOGGED = """
CREATE TEMP TABLE logged (query VARCHAR, results VARCHAR[], clicks USMALLINT[], is_test BOOLEAN)
"""

ADD_LOG = """
INSERT INTO logged
SELECT query, results, clicks, impression >= getvariable('first_test') FROM used_impressions
"""

FORGET_LOG = "DROP VIEW used_impressions; DROP VIEW ruled; DROP VIEW offered"

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
    models: Sequence[str] = COMPARED,
    *,
    test: Path | None = None,
    held_out: float = 0.25,
    params: ClickParameters | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    reading: LogParameters = AS_THEY_STAND,
) -> Comparison:
    """Train models on a log and compare how they predict held-out pages.

    Args:
        log: The log to train on; see `open_log`.
        models: Names of `CLICK_MODELS`; the baseline `rank-ctr` is always added.
        test: The log to test on; without it, the last part of the log itself.
        held_out: That part, as a share of the log's records in their order.
        params: No-click rule, last click, prior, steps of expectation-maximisation.
        limits: Threads, memory and scratch space.
        progress: Reports how many lines were read.
        reading: How logs are read; see `read_as`.

    Raises:
        UsageError: unknown model or share, or a log too large for memory.
        FormatError: a log is not what its name says.
        DataError: no test page has a query that occurs in training.
    """
    for name in models:
        check_model(name)
    if not 0 < held_out < 1:
        raise UsageError(f"held-out share: expected a number between 0 and 1, found {held_out}")
    training = Training(params or ClickParameters())
    with working(limits) as allowed:
        opened = partial(open_log, progress=progress or Silent(), reading=reading)
        encoded, sizes, logs = _encode(log, test, held_out, allowed, opened)
    names = [name for name in dict.fromkeys(models) if name != BASELINE]
    scores = tuple(_score(name, encoded, training) for name in [*names, BASELINE])
    return Comparison(sizes[0], sizes[1], sizes[2] - sizes[1], logs, scores)


def _encode(
    log: Path, test: Path | None, held_out: float, limits: Limits, opened: Opener
) -> tuple[EncodedLog, tuple[int, int, int], tuple[LogAccount, ...]]:
    """Pages of both parts; impressions of train, of test, and of test before seen queries."""
    with limits.connect(ENGINE_SHARE) as connection:
        connection.execute(LOGGED)
        parts = [(log, 1 - held_out)] if test is None else [(log, 1.0), (test, 0.0)]
        logs = tuple(_add(connection, *part, limits, opened) for part in parts)
        connection.execute(TESTABLE)
        train, seen, tested = connection.execute(SIZES).fetchall()[0]
        if not seen:
            raise DataError(
                f"{log}: expected test pages whose query occurs in training, found none among "
                f"{tested} test pages and {train} training pages; give a larger log or --test"
            )
        return encode(connection, SPLIT_PAGES, limits), (train, seen, tested), logs


def _add(
    connection: duckdb.DuckDBPyConnection,
    log: Path,
    train_share: float,
    limits: Limits,
    opened: Opener,
) -> LogAccount:
    """Add a log to the table `logged`; what lies beyond the share is to be tested on."""
    account = opened(connection, log, limits)
    set_variables(connection, first_test=int(train_share * account.used))
    used = connection.execute(ADD_LOG).fetchall()[0][0]
    account_for_rejects(connection, account, used)
    connection.execute(FORGET_LOG)
    return account


def _score(name: str, log: EncodedLog, training: Training) -> ModelScores:
    prediction = model_of(name)(log.train, training).predict(log.test)
    return ModelScores(name, *evaluate(prediction, log.test))
