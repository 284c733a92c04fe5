"""`[clicks]` and `[qrels]`: from clicks to grades."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from builder.errors import suggest
from builder.parameters.section import Positive, Section
from builder.plugins import find_plugins

CLICK_MODELS = {
    "sdbn": "builder.clicks.models.sdbn:sdbn",
    "dbn": "builder.clicks.models.dbn:dbn",
    "dcm": "builder.clicks.models.dcm:dcm",
    "ccm": "builder.clicks.models.ccm:ccm",
    "ubm": "builder.clicks.models.ubm:ubm",
    "cascade": "builder.clicks.models.cascade:cascade",
    "pbm": "builder.clicks.models.pbm:pbm",
    "global-ctr": "builder.clicks.models.ctr:global_ctr",
    "rank-ctr": "builder.clicks.models.ctr:rank_ctr",
    "document-ctr": "builder.clicks.models.ctr:document_ctr",
    "dbn-pyclick": "builder.clicks.models.dbn_pyclick:dbn_pyclick",
    "ccm-pyclick": "builder.clicks.models.ccm_pyclick:ccm_pyclick",
}
"""Click models by name, each with the function that trains it (`builder.clicks.models.Fit`)."""

NO_SATISFACTION = frozenset({"dcm", "ubm", "pbm", "document-ctr", "global-ctr", "rank-ctr"})
"""Models that have no satisfaction: their relevance is the attractiveness, if anything."""

NO_ATTRACTIVENESS = frozenset({"rank-ctr"})
"""Models that cannot tell documents apart: there is nothing to grade."""


class ClickParameters(Section):
    """`[clicks]`: the click model."""

    model: str = Field(
        default="sdbn",
        description="sdbn (simplified dynamic Bayesian network, Chapelle & Zhang 2009), any other "
        "model of `longeval clicks`, or the name of a plug-in",
    )
    iterations: Positive = Field(
        default=50, description="Steps of expectation-maximisation, for models that need them"
    )
    no_click: Literal["all_examined", "skip"] = Field(
        default="all_examined",
        description="An impression without a click: every rank examined, or no evidence at all",
    )
    last: Literal["rank", "time"] = Field(
        default="rank", description="The last click: the deepest rank, or the latest in time"
    )
    votes: Literal["impression", "user"] = Field(
        default="impression",
        description="Every impression counts, or each user once per query and result (spam)",
    )
    pages: Literal["separate", "joined"] = Field(
        default="separate",
        description="joined: a user's next impression of the same query with other results is the "
        "next page of one result list",
    )
    prior: Literal["empirical_bayes", "beta"] = Field(
        default="empirical_bayes",
        description="Beta priors of a and s: fitted to the snapshot, or fixed as below",
    )
    prior_alpha: float = Field(default=1.0, gt=0, description="Prior pseudo-clicks under beta")
    prior_beta: float = Field(default=1.0, gt=0, description="Prior pseudo-skips under beta")

    @field_validator("model")
    @classmethod
    def _model_is_known(cls, value: str) -> str:
        if value not in CLICK_MODELS and value not in (others := find_plugins("click_models")):
            raise ValueError(f"unknown click model; {suggest(value, (*CLICK_MODELS, *others))}")
        return value

    @model_validator(mode="after")
    def _model_can_count_so(self) -> "ClickParameters":
        check_counting(self.model, self.votes, self.pages)
        return self


def check_counting(model: str, votes: str, pages: str) -> None:
    """Raise a ValueError when a model cannot count votes or pages in such a way."""
    if model != "sdbn" and (votes, pages) != ("impression", "separate"):
        raise ValueError(
            f'votes = "user" and pages = "joined" are counted for sdbn alone, and the model is '
            f'{model}; take votes = "impression" and pages = "separate", or sdbn'
        )


class QrelParameters(Section):
    """`[qrels]`: how scores become grades."""

    score: Literal["attractiveness", "relevance"] = Field(
        default="attractiveness", description="What is cut: a, or a*s"
    )
    policy: Literal["fixed", "target_shares", "credible"] = Field(
        default="fixed",
        description="fixed cuts; cuts that give the shares on the first snapshot, then frozen; "
        "or fixed cuts with grade 2 only where the posterior is sure",
    )
    cuts: tuple[float, float] = Field(
        default=(0.15, 0.4), description="Least score of grade 1 and of grade 2"
    )
    shares: (
        Literal["longeval-2023-train", "longeval-2024-train", "longeval-2025-2022-06"]
        | tuple[float, float, float]
    ) = Field(
        default="longeval-2023-train",
        description="Under target_shares: shares of the grades 0, 1, 2, or a release that had them",
    )
    credibility: float = Field(
        default=0.9,
        gt=0.5,
        lt=1,
        description="Posterior probability that a grade 2 needs under credible, and that the "
        "published intervals of scores hold",
    )
    min_examinations: Positive = Field(default=3, description="Evidence that a grade needs")
    min_judged: Positive = Field(default=3, description="Judged documents that a query needs")
    manual: Literal["wins", "fills_gaps"] = Field(
        default="wins",
        description="A manual grade beside one by clicks: it wins, or it is kept out",
    )

    @model_validator(mode="after")
    def _cuts_ascend(self) -> "QrelParameters":
        if not 0 < self.cuts[0] < self.cuts[1] <= 1:
            raise ValueError("cuts must ascend within (0, 1]")
        if not isinstance(self.shares, str) and not (
            min(self.shares) >= 0 and abs(sum(self.shares) - 1) < 1e-6
        ):
            raise ValueError("shares must be three numbers that sum to 1, not percentages")
        return self


def check_grading(clicks: ClickParameters, qrels: QrelParameters) -> None:
    """Raise a ValueError when the click model does not estimate what the grades are made of."""
    if clicks.model in NO_ATTRACTIVENESS:
        raise ValueError(
            f"clicks.model = {clicks.model!r} says nothing about single documents, so that nothing "
            "can be graded; take another model, such as sdbn"
        )
    if qrels.score == "relevance" and clicks.model in NO_SATISFACTION:
        raise ValueError(
            f'qrels.score = "relevance" needs a model with satisfaction, and clicks.model = '
            f'{clicks.model!r} has none; set qrels.score = "attractiveness", or take sdbn, dbn or '
            "ccm"
        )
    if qrels.policy == "credible" and clicks.model != "sdbn":
        raise ValueError(
            f'qrels.policy = "credible" needs the posterior of a score, and clicks.model = '
            f'{clicks.model!r} gives a point estimate; set qrels.policy = "fixed" or '
            '"target_shares", or clicks.model = "sdbn"'
        )
