"""Sections `[clicks]` and `[qrels]`: parameters of the click model and of grading."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from builder.errors import suggest
from builder.parameters.section import Positive, Section
from builder.plugins import find_plugins

CLICK_MODELS = {
    "sdbn": "builder.clicks.models.sdbn:fit_sdbn",
    "dbn": "builder.clicks.models.dbn:fit_dbn",
    "dcm": "builder.clicks.models.dcm:fit_dcm",
    "ccm": "builder.clicks.models.ccm:fit_ccm",
    "ubm": "builder.clicks.models.ubm:fit_ubm",
    "cascade": "builder.clicks.models.cascade:fit_cascade",
    "pbm": "builder.clicks.models.pbm:fit_pbm",
    "global-ctr": "builder.clicks.models.ctr:fit_global_ctr",
    "rank-ctr": "builder.clicks.models.ctr:fit_rank_ctr",
    "document-ctr": "builder.clicks.models.ctr:fit_document_ctr",
    "dbn-pyclick": "builder.clicks.models.dbn_pyclick:fit_dbn_pyclick",
    "ccm-pyclick": "builder.clicks.models.ccm_pyclick:fit_ccm_pyclick",
}
"""Import path of the training function of each click model (`FitFunction`)."""

NO_SATISFACTION = frozenset({"dcm", "ubm", "pbm", "document-ctr", "global-ctr", "rank-ctr"})
"""Click models without a satisfaction parameter."""

NO_ATTRACTIVENESS = frozenset({"rank-ctr"})
"""Click models that estimate nothing per document, and so cannot be used for grading."""


class ClickParameters(Section):
    """Section `[clicks]`: the click model, and how clicks are counted."""

    model: str = Field(
        default="sdbn",
        description="Click model: sdbn (simplified dynamic Bayesian network, Chapelle & Zhang "
        "2009), dbn, dcm, ccm, ubm, cascade, pbm, global-ctr, document-ctr, dbn-pyclick, "
        "ccm-pyclick, or the name of a plug-in",
    )
    iterations: Positive = Field(
        default=50,
        description="Number of iterations of models trained by expectation-maximization",
    )
    no_click: Literal["all_examined", "skip"] = Field(
        default="all_examined",
        description="How to treat impressions without clicks. all_examined: every result counts as "
        "examined; skip: the impression is ignored",
    )
    last: Literal["rank", "time"] = Field(
        default="rank",
        description="Which click of an impression counts as the last. rank: the click furthest "
        "down the result list; time: the latest click",
    )
    votes: Literal["impression", "user"] = Field(
        default="impression",
        description="What is counted. impression: every impression; user: every user once per "
        "query and result, which limits click spam",
    )
    pages: Literal["separate", "joined"] = Field(
        default="separate",
        description="How to treat the second and later result pages of a search. separate: each "
        "page is a separate result list; joined: the next impression of the same user and query "
        "with other results continues the list",
    )
    prior: Literal["empirical_bayes", "beta"] = Field(
        default="empirical_bayes",
        description="Beta priors on attractiveness and satisfaction. empirical_bayes: fitted to "
        "the snapshot; beta: given by `prior_alpha` and `prior_beta`",
    )
    prior_alpha: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="Number of pseudo-clicks if `prior` is beta",
    )
    prior_beta: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="Number of pseudo-skips (examinations without a click) if `prior` is beta",
    )

    @field_validator("model")
    @classmethod
    def _validate_click_model(cls, model: str) -> str:
        """Reject a name that is neither a built-in click model nor an installed plug-in."""
        if model not in CLICK_MODELS and model not in (plugins := find_plugins("click_models")):
            raise ValueError(f"unknown click model; {suggest(model, (*CLICK_MODELS, *plugins))}")
        return model

    @model_validator(mode="after")
    def _validate_votes_and_pages(self) -> "ClickParameters":
        """Reject values of `votes` and `pages` that the click model does not support."""
        validate_votes_and_pages(self.model, self.votes, self.pages)
        return self


def validate_votes_and_pages(model: str, votes: str, pages: str) -> None:
    """Raise a ValueError if a click model does not support the values of `votes` and `pages`."""
    if model != "sdbn" and (votes, pages) != ("impression", "separate"):
        raise ValueError(
            f'votes = "user" and pages = "joined" are only supported by the click model sdbn, '
            f'found {model}; set votes = "impression" and pages = "separate", or model = "sdbn"'
        )


class QrelParameters(Section):
    """Section `[qrels]`: how scores of the click model are mapped to relevance grades."""

    score: Literal["attractiveness", "relevance"] = Field(
        default="attractiveness",
        description="Score that determines the grade: attractiveness, or relevance "
        "(attractiveness * satisfaction)",
    )
    policy: Literal["fixed", "target_shares", "credible"] = Field(
        default="fixed",
        description="How scores are mapped to grades. fixed: by `cuts`; target_shares: by the cuts "
        "that yield `shares` on the first snapshot, which are reused for later snapshots; "
        "credible: by `cuts`, but grade 2 requires a posterior probability of at least "
        "`credibility`",
    )
    cuts: tuple[float, float] = Field(
        default=(0.15, 0.4), description="Minimum scores for the grades 1 and 2"
    )
    shares: (
        Literal["longeval-2023-train", "longeval-2024-train", "longeval-2025-2022-06"]
        | tuple[float, float, float]
    ) = Field(
        default="longeval-2023-train",
        description="Shares of the grades 0, 1 and 2 if `policy` is target_shares, such as [0.7, "
        "0.2, 0.1], or a release with these shares: longeval-2023-train, longeval-2024-train or "
        "longeval-2025-2022-06",
    )
    credibility: float = Field(
        default=0.9,
        gt=0.5,
        lt=1,
        description="Probability that a published credible interval contains the true score; if "
        "`policy` is credible, also the minimum posterior probability of grade 2",
    )
    min_examinations: Positive = Field(
        default=3,
        description="Minimum number of examinations of a query-document pair; pairs "
        "with fewer get no grade from clicks",
    )
    min_judged: Positive = Field(
        default=3,
        description="Minimum number of judged documents of a query; queries with "
        "fewer are left out",
    )
    manual: Literal["wins", "fills_gaps"] = Field(
        default="wins",
        description="Which grade to use for pairs with both a manual and a click-based grade. "
        "wins: the manual grade; fills_gaps: the click-based grade",
    )

    @model_validator(mode="after")
    def _validate_thresholds(self) -> "QrelParameters":
        """Reject `cuts` that are not ascending in (0, 1], and `shares` that do not sum to 1."""
        if not 0 < self.cuts[0] < self.cuts[1] <= 1:
            found = ", ".join(map(str, self.cuts))
            raise ValueError(
                "expected two cuts in strictly ascending order, above 0 and at most 1, "
                f"found {found}"
            )
        if not isinstance(self.shares, str) and not (
            min(self.shares) >= 0 and abs(sum(self.shares) - 1) < 1e-6
        ):
            raise ValueError("expected three shares from 0 to 1 with a sum of 1")
        return self


def validate_grading(clicks: ClickParameters, qrels: QrelParameters) -> None:
    """Raise a ValueError if the click model does not estimate what the grading settings require."""
    if clicks.model in NO_ATTRACTIVENESS:
        raise ValueError(
            f"clicks.model = {clicks.model!r} has no estimates per document and cannot be used for "
            "grading; use another model, such as sdbn"
        )
    if qrels.score == "relevance" and clicks.model in NO_SATISFACTION:
        raise ValueError(
            'qrels.score = "relevance" needs a click model that estimates satisfaction, but '
            f'clicks.model = {clicks.model!r} does not; set qrels.score = "attractiveness", or use '
            "sdbn, dbn or ccm"
        )
    if qrels.policy == "credible" and clicks.model != "sdbn":
        raise ValueError(
            'qrels.policy = "credible" requires a click model that estimates posteriors, but '
            f"clicks.model = {clicks.model!r} yields only point estimates; set qrels.policy = "
            '"fixed" or "target_shares", or clicks.model = "sdbn"'
        )
