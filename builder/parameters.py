"""Every parameter of every stage, with its default: the one place where a default is written.

Each class is one section of a workflow definition. A section is frozen, refuses unknown keys, and
is recorded in the manifest of what was built with it.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen section of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LogParameters(Section):
    """`[log]`: how query logs become impressions."""

    max_query_chars: Positive = Field(
        default=500, description="Longer queries are rejected (a published one had 3,947)"
    )
    max_results: Positive = Field(default=1000, description="Longer result lists are rejected")


class CrawlParameters(Section):
    """`[crawl]`: how crawls become pages."""

    interval: Literal["enforce", "ignore"] = Field(
        default="enforce", description="Reject pages fetched outside the snapshot's interval"
    )
    max_text_chars: Positive = Field(
        default=1_000_000, description="Longer texts are cut there and flagged"
    )
    max_record_bytes: Positive = Field(
        default=64 * 2**20, description="Larger records are rejected unread"
    )


class SelectParameters(Section):
    """`[select]`: which queries of a log may enter the collection."""

    min_users: Positive = Field(
        default=5, description="k of k-anonymity: distinct users a query and its text need"
    )
    min_impressions: Positive = Field(default=5, description="Times a query must be shown")
    matching: Literal["word", "substring"] = Field(
        default="word", description="Topic in query as whole words, or anywhere (LongEval 2023)"
    )
    max_words: Positive = Field(default=15, description="Longer queries are left out")


class ClickParameters(Section):
    """`[clicks]`: the click model."""

    model: Literal["sdbn"] = Field(
        default="sdbn", description="Simplified dynamic Bayesian network (Chapelle & Zhang 2009)"
    )
    no_click: Literal["all_examined", "skip"] = Field(
        default="all_examined",
        description="An impression without a click: every rank examined, or no evidence at all",
    )
    prior_alpha: float = Field(default=1.0, gt=0, description="Prior pseudo-clicks")
    prior_beta: float = Field(default=1.0, gt=0, description="Prior pseudo-skips")


class DocumentParameters(Section):
    """`[documents]`: which pages of the index enter the collection."""

    sample_share: Share = Field(
        default=0.2, description="Part of the index taken by keyed hash of the document id"
    )
    sample_seed: str = Field(default="longeval-builder", description="Key of that hash")


class QrelParameters(Section):
    """`[qrels]`: how scores become grades."""

    score: Literal["attractiveness", "relevance"] = Field(
        default="attractiveness", description="What is cut: a, or a*s"
    )
    cuts: tuple[float, float] = Field(
        default=(0.15, 0.4), description="Least score of grade 1 and of grade 2"
    )
    min_examinations: Positive = Field(default=3, description="Evidence that a grade needs")
    min_judged: Positive = Field(default=3, description="Judged documents that a query needs")

    @model_validator(mode="after")
    def _cuts_ascend(self) -> "QrelParameters":
        if not 0 < self.cuts[0] < self.cuts[1] <= 1:
            raise ValueError("cuts must ascend within (0, 1]")
        return self


class SplitParameters(Section):
    """`[split]`: which queries are for training."""

    heldout_share: Share = Field(
        default=0.2, description="Part of the queries at t held out, by keyed hash of the query id"
    )
    seed: str = Field(default="longeval-builder", description="Key of that hash")


class TranslateParameters(Section):
    """`[translate]`: French to English."""

    model: Path | None = Field(
        default=None, description="CTranslate2 model folder; absent: translation is off"
    )
    compute_type: str = Field(default="int8", description="CTranslate2 compute type")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="Where the model runs")
    beam_size: Positive = Field(default=1, description="Beam width; 1 is greedy")
    max_source_pieces: Positive = Field(
        default=250, description="Longer sentences are split at clause boundaries"
    )
    max_target_pieces: Positive = Field(default=400, description="Longest output of a sentence")
    batch_tokens: Positive = Field(default=1024, description="Source pieces in a batch")


class ChangeParameters(Section):
    """`[changes]`: how much an updated document changed."""

    shingle: Positive = Field(default=5, description="Words in a shingle")
    cosmetic: Share = Field(default=0.9, description="Shingle Jaccard from which a change is small")
    rewritten: Share = Field(default=0.3, description="Shingle Jaccard below which little is left")


class ExportParameters(Section):
    """`[export]`: which layouts a published version carries."""

    trec: bool = Field(default=True, description="Write TREC documents, topics and qrels")


class Parameters(Section):
    """All sections of parameters, one for each stage."""

    log: LogParameters = LogParameters()
    crawl: CrawlParameters = CrawlParameters()
    select: SelectParameters = SelectParameters()
    clicks: ClickParameters = ClickParameters()
    documents: DocumentParameters = DocumentParameters()
    qrels: QrelParameters = QrelParameters()
    split: SplitParameters = SplitParameters()
    translate: TranslateParameters = TranslateParameters()
    changes: ChangeParameters = ChangeParameters()
    export: ExportParameters = ExportParameters()
