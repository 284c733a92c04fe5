"""How well the click model of a build predicts impressions that it has not seen.

In: the pages of a log. Out: for each rank the clicks that were observed and the rate that the model
predicts, its log-likelihood and perplexity, and those of the baseline, clicks by rank alone.

Whole queries are sampled by keyed hash, and a quarter of their impressions is held out by keyed
hash of the page, its clicks and its running number; of a query with many results, a share is taken.
So the same log always gives the same sample, which bounds the memory whatever the log.
"""

from collections.abc import Iterator

import duckdb
import numpy as np

from builder.clicks.encoding import encode
from builder.clicks.models import Pages, Prediction, Training, model_of
from builder.clicks.scores import Score, evaluate
from builder.io.engine import set_variables
from builder.parameters import ClickParameters
from builder.runtime.limits import Limits

BASELINE = "rank-ctr"
MOST_RESULTS = 400_000
MOST_RESULTS_OF_QUERY = 40_000
"""Results shown in the sample, and of one query: arrays of 110 MB at most."""
HELD_OUT = 4
"""One impression in so many is tested on."""
DECIMALS = 6

SAMPLED_QUERIES = """
CREATE OR REPLACE TEMP TABLE sampled_queries AS
WITH sizes AS (
    SELECT query, sum(weight * length)::BIGINT AS shown FROM pages GROUP BY query
),
keyed AS (
    SELECT query, shown, least(shown, getvariable('most_of_query')) AS taken,
           md5_number_lower('held out' || query) AS key
    FROM sizes
),
ordered AS (
    SELECT query, shown, taken,
           sum(taken) OVER (ORDER BY key, query ROWS UNBOUNDED PRECEDING) AS taken_so_far
    FROM keyed
)
SELECT query, ceil(shown / getvariable('most_of_query'))::UBIGINT AS one_in
FROM ordered WHERE taken_so_far <= getvariable('most_results')
"""

HELD_OUT_PAGES = """
CREATE OR REPLACE TEMP TABLE held_out_pages AS
WITH sampled AS (
    SELECT query, results, clicks, one_in, weight,
           concat_ws(' ', query, results::VARCHAR, clicks::VARCHAR) AS content
    FROM pages JOIN sampled_queries USING (query)
),
copies AS (
    SELECT * EXCLUDE (weight), unnest(range(weight)) AS copy FROM sampled
),
keyed AS (
    SELECT *, md5_number_lower(content || ' ' || copy) AS key FROM copies
),
split AS (
    SELECT query, results, clicks, (key // one_in) % getvariable('held_out') = 0 AS is_test
    FROM keyed WHERE key % one_in = 0
),
counted AS (
    SELECT query, results, clicks,
           count(*) FILTER (NOT is_test) AS train, count(*) FILTER (is_test) AS test
    FROM split GROUP BY query, results, clicks
)
SELECT query, results, clicks, train,
       CASE WHEN sum(train) OVER (PARTITION BY query) > 0 THEN test ELSE 0 END AS test
FROM counted
"""

SPLIT_PAGES = "SELECT query, results, clicks, train, test FROM held_out_pages"


Diagnostic = tuple[str, int, int, int, float, str]
"""A row of the contract `ClickDiagnostics`: measure, rank, count, total, value, model."""


def diagnose_predictions(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, limits: Limits
) -> list[Diagnostic]:
    """Train the model on a sample of the log and test it on the held-out part.

    Args:
        connection: Has the table `pages`; see `count_pairs`.
        params: The model and its options; votes and joined pages are not regarded.
        limits: The memory that arrays may take.

    Returns:
        Nothing where no impression can be held out.
    """
    set_variables(
        connection,
        most_results=MOST_RESULTS,
        most_of_query=MOST_RESULTS_OF_QUERY,
        held_out=HELD_OUT,
    )
    connection.execute(SAMPLED_QUERIES)
    connection.execute(HELD_OUT_PAGES)
    log = encode(connection, SPLIT_PAGES, limits)
    if not len(log.test):
        return []
    train = int(log.train.weight.sum())
    prediction, baseline = (
        model_of(name)(log.train, Training(params)).predict(log.test)
        for name in (params.model, BASELINE)
    )
    return [
        *_click_rates(prediction, log.test, params.model),
        *_scores("held_out", evaluate(prediction, log.test)[1], log.test, train, params.model),
        *_scores("baseline", evaluate(baseline, log.test)[1], log.test, train, BASELINE),
    ]


def _click_rates(prediction: Prediction, pages: Pages, model: str) -> Iterator[Diagnostic]:
    """Observed and predicted click-through rate at each rank."""
    predicted, weights = prediction.marginal(pages), pages.weight[pages.page]
    for rank in range(1, int(pages.lengths.max()) + 1):
        here = pages.rank == rank
        total = int(weights[here].sum())
        rate = float((weights[here] * predicted[here]).sum()) / total
        clicks = int(weights[here & pages.clicked].sum())
        yield "held_out_clicks", rank, clicks, total, round(rate, DECIMALS), model


def _scores(
    prefix: str, score: Score, pages: Pages, train: int, model: str
) -> Iterator[Diagnostic]:
    """Mean log-likelihood of a page; perplexity, over all ranks as rank 0 and of each one."""
    test = int(pages.weight.sum())
    values = [("log_likelihood", 0, score.log_likelihood), ("perplexity", 0, score.perplexity)]
    values += [("perplexity", rank, value) for rank, value in enumerate(score.by_rank, 1)]
    having = np.bincount(pages.lengths, weights=pages.weight)[::-1].cumsum()[::-1].astype(int)
    for name, rank, value in values:
        total = int(having[rank]) if rank else test
        rounded = round(value, DECIMALS)
        yield f"{prefix}_{name}", rank, total, test + train, rounded, model
