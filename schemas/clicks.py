"""Tables about click evidence and manual judgements: how grades came about, how firm they are."""

import dataframely as dy
import polars as pl

from schemas._base import RELEASE_ID_PATTERN, Contract, count, probability

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


class ClickDiagnostics(Contract):
    """One diagnostic of the click evidence, as a count out of a total, or of a click model."""

    measure = dy.String(
        primary_key=True, regex=rf"^({'|'.join(CLICK_MEASURES)})$", description="What is counted"
    )
    rank = dy.UInt32(primary_key=True, description="1-based rank; 0 where it is about all ranks")
    count = dy.UInt64(
        description="How many have the property; held-out clicks, or impressions tested on"
    )
    total = dy.UInt64(description="Out of how many; impressions sampled to train and test")
    value = dy.Float64(
        nullable=True,
        description="held_out_clicks: the rate that the model predicts; held_out_*, baseline_*: "
        "the mean log-likelihood of an impression, the perplexity; null where it is a share",
    )
    model = dy.String(
        nullable=True, description="Click model of the value; rank-ctr is the baseline"
    )


class GradeCuts(Contract):
    """The least score of each grade, as it was used; later snapshots may be held to it."""

    grade = dy.UInt8(primary_key=True, min=1, max=2, description="Grade")
    cut = dy.Float64(min=0, description="Least score of the grade")
    policy = dy.String(description="Policy that set the cut")


class GradeSensitivity(Contract):
    """How many click grades would differ under another decision."""

    scenario = dy.String(
        primary_key=True, regex=rf"^({'|'.join(SCENARIOS)})$", description="What is decided so"
    )
    grade = dy.UInt8(primary_key=True, max=2, description="Grade as published")
    other_grade = dy.Int8(
        primary_key=True, min=-1, max=2, description="Grade in the scenario; -1: unjudged"
    )
    pairs = dy.UInt64(min=1, description="Judged pairs")


class PooledPairs(Contract):
    """A pair that somebody should judge."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in its snapshot"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in its snapshot"
    )
    rank = dy.UInt32(min=1, description="Best rank in any run")
    runs = count("Runs that retrieved it within the depth", minimum=1)
    stratum = dy.String(description="Ranks of the stratum it was drawn from")
    share = dy.Float64(min=0, max=1, description="Probability with which the stratum is sampled")


class Judgements(Contract):
    """A pair judged by a person."""

    query_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the query in its snapshot"
    )
    doc_id = dy.String(
        primary_key=True, regex=RELEASE_ID_PATTERN, description="Id of the document in its snapshot"
    )
    assessor = dy.String(
        primary_key=True, regex=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Who judged it"
    )
    grade = dy.UInt8(max=2, description="0 not, 1 relevant, 2 highly relevant")


class PairStatistics(Contract):
    """A click model's view of one query and URL, from a log alone."""

    query = dy.String(primary_key=True, description="Query as it stands in the log")
    url = dy.String(primary_key=True, description="URL as it stands in the log")
    impressions = count("Times shown", minimum=1)
    examinations = count("Times shown at or above the last click")
    clicks = count("Times clicked")
    last_clicks = count("Times clicked last")
    attractiveness = probability("Estimate of a; null where the model has none")
    satisfaction = probability("Estimate of s; null where the model has none")
    relevance = probability("Estimate by which the model ranks; null where it has none")

    @dy.rule()
    def counts_are_nested(cls) -> pl.Expr:  # noqa: N805
        """Last clicks <= clicks <= examinations <= impressions."""
        return (
            (pl.col("last_clicks") <= pl.col("clicks"))
            & (pl.col("clicks") <= pl.col("examinations"))
            & (pl.col("examinations") <= pl.col("impressions"))
        )
