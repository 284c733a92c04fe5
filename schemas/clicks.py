"""Schemas of tables of click statistics, grading diagnostics and manual judgements."""

import dataframely as dy
import polars as pl

from schemas._base import RELEASE_ID_PATTERN, TableSchema, count_column, probability_column

CLICK_MEASURES = (
    "baseline_log_likelihood",
    "baseline_perplexity",
    "click_through",
    "held_out_clicks",
    "held_out_log_likelihood",
    "held_out_perplexity",
    "impressions_of_most_active_user",
    "impressions_of_top_percent_of_users",
    "impressions_with_duplicate_results",
    "impressions_with_reordered_clicks",
    "impressions_with_repeated_clicks",
    "impressions_without_click",
    "impressions_without_user",
    "pairs_clicked",
    "pairs_examined_once",
    "pairs_never_examined",
)
SCENARIOS = ("published", "cuts_10_percent_lower", "cuts_10_percent_higher", "other_no_click_rule")
STRATA = ("1-5", "6-10", "11-30", "depth")


class ClickDiagnostics(TableSchema):
    """Diagnostics of the click log and the click model: one row per diagnostic and rank."""

    measure = dy.String(
        primary_key=True,
        regex=rf"^({'|'.join(CLICK_MEASURES)})$",
        description="Name of the diagnostic",
    )
    rank = dy.UInt32(primary_key=True, description="Rank, from 1; 0 for all ranks together")
    count = dy.UInt64(
        description="Number of impressions, pairs or clicks that the diagnostic counts; for "
        "`held_out_clicks`, the clicks in held-out impressions; for `*_log_likelihood` and "
        "`*_perplexity`, the held-out impressions with a result at this rank"
    )
    total = dy.UInt64(
        description="Number of impressions, pairs or clicks of which `count` is a part; for "
        "`held_out_clicks`, the held-out impressions with a result at this rank; for "
        "`*_log_likelihood` and `*_perplexity`, the impressions for training and testing together"
    )
    value = dy.Float64(
        nullable=True,
        description="Click rate predicted by the model (`held_out_clicks`), perplexity "
        "(`*_perplexity`) or mean log-likelihood per impression (`*_log_likelihood`); null for "
        "other diagnostics",
    )
    model = dy.String(
        nullable=True,
        description="Click model that was evaluated; rank-ctr for the baseline; null for "
        "diagnostics of the log",
    )


class GradeCuts(TableSchema):
    """Minimum score of each grade, taken from the parameters or derived from the first snapshot."""

    grade = dy.UInt8(primary_key=True, min=1, max=2, description="Grade")
    cut = dy.Float64(min=0, description="Minimum score of the grade")
    policy = dy.String(
        description="Grading policy (`qrels.policy`) that determined this minimum score"
    )


class GradeSensitivity(TableSchema):
    """Numbers of query-document pairs per published grade and grade under other settings."""

    scenario = dy.String(
        primary_key=True,
        regex=rf"^({'|'.join(SCENARIOS)})$",
        description="Grading settings: the published ones, minimum scores that are 10 % lower or "
        "higher, or the other value of `clicks.no_click`",
    )
    grade = dy.UInt8(primary_key=True, max=2, description="Published grade")
    other_grade = dy.Int8(
        primary_key=True, min=-1, max=2, description="Grade under these settings; -1 if unjudged"
    )
    pairs = dy.UInt64(min=1, description="Number of query-document pairs")


class PooledPairs(TableSchema):
    """Query-document pairs selected for manual assessment."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in the snapshot"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in the snapshot"
    )
    rank = dy.UInt32(min=1, description="Best rank of the document over all runs")
    runs = count_column(
        "Number of runs that retrieved the document within the pool depth", minimum=1
    )
    stratum = dy.String(description="Range of ranks of the stratum, such as 6-10")
    share = dy.Float64(min=0, max=1, description="Sampling probability of the stratum")


class Judgements(TableSchema):
    """Manual relevance judgements: one row per query, document and assessor."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in the snapshot"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in the snapshot"
    )
    assessor = dy.String(
        primary_key=True,
        regex=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Name of the assessor",
    )
    grade = dy.UInt8(max=2, description="0 not relevant, 1 relevant, 2 highly relevant")


class PairStatistics(TableSchema):
    """Click counts and model estimates per query and URL, written by `longeval clicks`."""

    query = dy.String(primary_key=True, description="Query as written in the log")
    url = dy.String(primary_key=True, description="URL as written in the log")
    impressions = count_column("Number of impressions of the document for the query", minimum=1)
    examinations = count_column(
        "Number of impressions with the document ranked at or above the last click"
    )
    clicks = count_column("Number of impressions with a click on the document")
    last_clicks = count_column("Number of impressions with the last click on the document")
    attractiveness = probability_column(
        "Estimated probability of a click after examination; null if the model gives no estimate"
    )
    satisfaction = probability_column(
        "Estimated probability of satisfaction after a click; null if the model gives no estimate"
    )
    relevance = probability_column(
        "Relevance estimate of the model; null if the model gives no estimate"
    )

    @dy.rule()
    def counts_are_ordered(cls) -> pl.Expr:  # noqa: N805
        """last_clicks <= clicks <= examinations <= impressions."""
        return (
            (pl.col("last_clicks") <= pl.col("clicks"))
            & (pl.col("clicks") <= pl.col("examinations"))
            & (pl.col("examinations") <= pl.col("impressions"))
        )
