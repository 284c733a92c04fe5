"""Evaluates the click model of a build on held-out impressions.

Reports the number of observed clicks and the predicted click-through rate at each rank, and the
log-likelihood and perplexity of the model. A baseline, which predicts the click-through rate of
each rank, is evaluated in the same way.

The impressions form a deterministic sample of limited size: queries are added in the order of a
hash until the limit is reached. All impressions of these queries are used, except that queries
with more than `MAX_RESULTS_PER_QUERY` shown results are subsampled. A quarter of the impressions is
held out, selected by a hash of the page, its clicks and a sequence number.
"""

from collections.abc import Iterator

import duckdb
import numpy as np

from builder.clicks.encoding import encode_pages
from builder.clicks.models import ClickProbabilities, ResultPages, TrainingOptions, get_fit_function
from builder.clicks.scores import ClickModelScore, evaluate_predictions
from builder.io.engine import set_sql_variables
from builder.parameters import ClickParameters
from builder.runtime.limits import ResourceLimits

BASELINE = "rank-ctr"
MAX_RESULTS = 400_000
"""Maximum number of shown results in the sample, so that arrays take at most 110 MB."""
MAX_RESULTS_PER_QUERY = 40_000
"""Maximum number of shown results per query in the sample."""
HELD_OUT_MODULUS = 4
"""Modulus of the hash that holds out one in four impressions."""
DECIMALS = 6

SAMPLED_QUERIES = """
CREATE OR REPLACE TEMP TABLE sampled_queries AS
WITH sizes AS (
    SELECT query, sum(weight * length)::BIGINT AS shown FROM pages GROUP BY query
),
keyed AS (
    SELECT query, shown, least(shown, getvariable('max_per_query')) AS taken,
           md5_number_lower('held out' || query) AS key
    FROM sizes
),
ordered AS (
    SELECT query, shown, taken,
           sum(taken) OVER (ORDER BY key, query ROWS UNBOUNDED PRECEDING) AS taken_so_far
    FROM keyed
)
SELECT query, ceil(shown / getvariable('max_per_query'))::UBIGINT AS one_in
FROM ordered WHERE taken_so_far <= getvariable('max_results')
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
"""Row of the table `click_diagnostics`: measure, rank, count, total, value, model."""


def evaluate_on_held_out_impressions(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, limits: ResourceLimits
) -> list[Diagnostic]:
    """Train the model on a sample of the log and evaluate it on held-out impressions.

    Args:
        connection: DuckDB connection with the table `pages`; see `create_pair_counts`.
        params: Click model and its options; the options `votes` and `pages` are ignored.
        limits: Memory limit for arrays.

    Returns:
        Scores of the model, then of the baseline; an empty list if no impression can be held out.
    """
    set_sql_variables(
        connection,
        max_results=MAX_RESULTS,
        max_per_query=MAX_RESULTS_PER_QUERY,
        held_out=HELD_OUT_MODULUS,
    )
    connection.execute(SAMPLED_QUERIES)
    connection.execute(HELD_OUT_PAGES)
    log = encode_pages(connection, SPLIT_PAGES, limits)
    if not len(log.test):
        return []
    train = int(log.train.weight.sum())
    predicted, baseline = (
        get_fit_function(name)(log.train, TrainingOptions(params)).predict(log.test)
        for name in (params.model, BASELINE)
    )
    score, baseline_score = (
        evaluate_predictions(clicks, log.test)[1] for clicks in (predicted, baseline)
    )
    return [
        *_click_rate_rows(predicted, log.test, params.model),
        *_score_rows("held_out", score, log.test, train, params.model),
        *_score_rows("baseline", baseline_score, log.test, train, BASELINE),
    ]


def _click_rate_rows(
    predicted: ClickProbabilities, pages: ResultPages, model: str
) -> Iterator[Diagnostic]:
    """Yield the number of observed clicks and the predicted click-through rate at each rank."""
    marginal, weights = (
        predicted.marginal_click_probabilities(pages),
        pages.weight[pages.page_index],
    )
    for rank in range(1, int(pages.lengths.max()) + 1):
        here = pages.rank == rank
        total = int(weights[here].sum())
        rate = float((weights[here] * marginal[here]).sum()) / total
        clicks = int(weights[here & pages.clicked].sum())
        yield "held_out_clicks", rank, clicks, total, round(rate, DECIMALS), model


def _score_rows(
    prefix: str, score: ClickModelScore, pages: ResultPages, train_impressions: int, model: str
) -> Iterator[Diagnostic]:
    """Yield the log-likelihood, the mean perplexity, and the perplexity at each rank."""
    test = int(pages.weight.sum())
    values = [("log_likelihood", 0, score.log_likelihood), ("perplexity", 0, score.perplexity)]
    values += [("perplexity", rank, value) for rank, value in enumerate(score.by_rank, 1)]
    having = np.bincount(pages.lengths, weights=pages.weight)[::-1].cumsum()[::-1].astype(int)
    for name, rank, value in values:
        total = int(having[rank]) if rank else test
        rounded = round(value, DECIMALS)
        yield f"{prefix}_{name}", rank, total, test + train_impressions, rounded, model
