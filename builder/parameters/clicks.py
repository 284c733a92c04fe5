"""`[clicks]` and `[qrels]`: from clicks to grades."""

from typing import Literal

from pydantic import Field, model_validator

from builder.parameters.section import Positive, Section


class ClickParameters(Section):
    """`[clicks]`: the click model."""

    model: Literal["sdbn"] = Field(
        default="sdbn", description="Simplified dynamic Bayesian network (Chapelle & Zhang 2009)"
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
