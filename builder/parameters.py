"""Every parameter of every stage, with its default: the one place where a default is written.

Each class is one section of a workflow definition. A section is frozen, refuses unknown keys, and
is recorded in the manifest of what was built with it.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from builder.errors import meant
from builder.plugins import installed

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
LOG_FORMATS = ("auto", "jsonl", "parquet", "csv", "tsv")
LOG_READERS = {
    "yandex": "builder.ingest.yandex:read_actions",
}
"""Formats that are read record by record, each with its reader (`builder.ingest.Reader`)."""
CTRANSLATE2 = "ctranslate2"
Outcome = Literal["keep", "source", "drop"]
"""What stands for a doubtful translation: itself, its source, or nothing. Always flagged."""


class Section(BaseModel):
    """A frozen section of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LogFields(Section):
    """`[log.fields]`: what the fields of an impression are called; dots lead into objects."""

    time: str = Field(default="time", description="When the page was shown")
    user: str = Field(default="user", description="Who searched: a user or a session")
    query: str = Field(default="query", description="What was typed")
    results: str = Field(default="results", description="URLs in rank order")
    clicks: str = Field(default="clicks", description="1-based ranks, or objects with rank or url")
    url: str = Field(default="url", description="Long form, one row a result: its URL")
    rank: str = Field(default="rank", description="Long form: its rank; absent: order of rows")
    clicked: str = Field(default="clicked", description="Long form: 1 or true where it was clicked")


class LogParameters(Section):
    """`[log]`: how query logs become impressions."""

    format: str = Field(
        default="auto",
        description="Format of the files: jsonl, parquet, csv, tsv, yandex, or the name of a "
        "plug-in; auto tells it by their first bytes",
    )
    fields: LogFields = LogFields()
    time_zone: str = Field(
        default="UTC", description="Zone of times without an offset, such as Europe/Paris"
    )
    time_unit: Literal["s", "ms"] = Field(
        default="s", description="Unit of times that are numbers, since 1970"
    )
    list_separator: str = Field(
        default=" ", min_length=1, description="Between URLs or ranks in a cell of CSV or TSV"
    )
    session_start: datetime | None = Field(
        default=None,
        description="yandex: the moment from which the times of sessions count; absent: the "
        "snapshot's start",
    )
    repeats: Literal["drop", "keep"] = Field(
        default="drop",
        description="Impressions of one user, query and second after the first of them",
    )
    bots: Literal["drop", "keep"] = Field(
        default="drop", description="Users whom the two rules below take for programs"
    )
    bot_rate: Positive = Field(
        default=200, description="Impressions of one user within an hour that no person reaches"
    )
    bot_alike: int = Field(
        default=15,
        ge=2,
        description="A user with so many impressions, all with the same two or more clicked ranks",
    )
    max_query_chars: Positive = Field(
        default=500, description="Longer queries are rejected (a published one had 3,947)"
    )
    max_results: Positive = Field(default=1000, description="Longer result lists are rejected")
    max_line_bytes: Positive = Field(
        default=8 * 2**20, description="Longer lines are rejected unread"
    )

    @field_validator("format")
    @classmethod
    def _format_is_known(cls, value: str) -> str:
        if value not in (*LOG_FORMATS, *LOG_READERS):
            others = installed("log_readers")
            if value not in others:
                known = (*LOG_FORMATS, *LOG_READERS, *others)
                raise ValueError(f"no such format; {meant(value, known)}")
        return value

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ValueError, OSError, KeyError):
            raise ValueError("expected a time zone such as Europe/Paris") from None
        return value


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
    """`[select]`: which queries of a log may enter the collection, one rule after the other."""

    anonymity: Literal["users", "impressions"] = Field(
        default="users",
        description="What k-anonymity counts: distinct users, or impressions where the log was "
        "stripped of users before it came here",
    )
    min_users: Positive = Field(
        default=5, description="k of k-anonymity: distinct users a query and its text need"
    )
    min_impressions: Positive = Field(default=5, description="Times a query must be shown")
    min_clicks: int = Field(default=0, ge=0, description="Clicked results a query needs")
    max_words: Positive = Field(default=15, description="Queries of more words are left out")
    max_chars: Positive = Field(default=150, description="Longer texts are left out")
    operators: Literal["drop", "keep"] = Field(
        default="drop", description="Queries with a search operator such as site: or inurl:"
    )
    url_like: Literal["drop", "keep"] = Field(
        default="drop", description="Queries that are an address or a host name"
    )
    navigational_share: Share | None = Field(
        default=None,
        description="Leave out queries with at least this share of clicks on one document; "
        "absent: keep them",
    )
    navigational_clicks: Positive = Field(
        default=20, description="Clicks that the navigational rule needs to judge a query"
    )
    stop_lists: tuple[str, ...] = Field(
        default=(), description="Files with one query or word to leave out on each line"
    )
    stop_matching: Literal["query", "word"] = Field(
        default="query", description="A stop-list line is a whole query, or words within one"
    )
    matching: Literal["word", "substring", "stem"] = Field(
        default="word",
        description="Topic in query as whole words, anywhere (LongEval 2023), or as whole words "
        "without plural endings",
    )


class VerdictFilter(Section):
    """`[[verdicts.filters]]`: what to leave out by the verdicts of lists and plug-ins."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="Name of the rule in the funnel")
    kind: Literal["query", "user", "document"] = Field(description="What is left out")
    label: str = Field(pattern=r"^[a-z0-9_]+$", description="Label such as adult or bot")
    min_score: Share = Field(default=0.5, description="Least score that counts")
    source: str | None = Field(default=None, description="One list or plug-in; absent: any")


class VerdictParameters(Section):
    """`[verdicts]`: labels for queries, users and documents."""

    files: tuple[str, ...] = Field(default=(), description="TSV files of verdicts")
    plugins: tuple[str, ...] = Field(
        default=(), description="Installed plug-ins: entry points of longeval_builder.verdicts"
    )
    filters: tuple[VerdictFilter, ...] = Field(default=(), description="In order of application")

    @model_validator(mode="after")
    def _names_differ(self) -> "VerdictParameters":
        names = [verdict_filter.name for verdict_filter in self.filters]
        if len(set(names)) < len(names):
            raise ValueError("two filters have the same name")
        return self


class VariantParameters(Section):
    """`[variants]`: which queries are variants of one query."""

    sets: Literal["off", "signature", "edit"] = Field(
        default="signature",
        description="No sets; queries of the same content words; and those with one word spelt "
        "nearly the same",
    )
    threshold: float = Field(
        default=0.8, ge=0.5, le=1, description="Edit similarity of two spellings of a word"
    )
    files: tuple[str, ...] = Field(
        default=(), description="Hand-made sets: TSV files of set name and query"
    )
    merge: Literal["clicks", "labels", "none"] = Field(
        default="clicks",
        description="Count the clicks of a set under its representative; grade every query of a "
        "set and merge the grades as LongEval did ({1, 2} -> 1, {0, >0} -> dropped); or publish "
        "every query of a set",
    )


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


class DocumentParameters(Section):
    """`[documents]`: which pages of the index enter the collection."""

    sample_share: Share = Field(
        default=0.2, description="Part of the index taken by keyed hash of the document id"
    )
    sample_seed: str = Field(default="longeval-builder", description="Key of that hash")
    deny: tuple[str, ...] = Field(
        default=(), description="Files of hosts and addresses whose pages are left out"
    )
    allow: tuple[str, ...] = Field(
        default=(), description="Files of hosts and addresses that no list or verdict leaves out"
    )
    duplicates: Literal["keep", "keep_first", "drop"] = Field(
        default="keep",
        description="Pages with the same text: flag them all, keep one of each group, or none",
    )
    near_duplicates: Literal["off", "keep", "keep_first", "drop"] = Field(
        default="keep",
        description="Pages with nearly the same text: do not look for them, or as for duplicates",
    )
    near_threshold: float = Field(
        default=0.9,
        ge=0.5,
        le=1,
        description="Jaccard coefficient of 5-token shingles from which texts are nearly the same",
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


class SplitParameters(Section):
    """`[split]`: which queries are for training."""

    heldout_share: Share = Field(
        default=0.2, description="Part of the queries at t held out, by keyed hash of the query id"
    )
    seed: str = Field(default="longeval-builder", description="Key of that hash")


class TranslateParameters(Section):
    """`[translate]`: French to English."""

    model: Path | None = Field(
        default=None,
        description="CTranslate2 model folder, or `embedded` for the one that is shipped; absent: "
        "translation is off",
    )
    engine: str = Field(
        default=CTRANSLATE2,
        description="What runs the model: ctranslate2, or the name of a plug-in",
    )
    compute_type: str = Field(default="int8", description="CTranslate2 compute type")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="Where the model runs")
    source_prefix: str | None = Field(
        default=None, description="First source piece of a multilingual model, such as fra_Latn"
    )
    target_prefix: str | None = Field(
        default=None, description="First target piece of a multilingual model, such as eng_Latn"
    )
    beam_size: Positive = Field(default=1, description="Beam width; 1 is greedy")
    max_source_pieces: int = Field(
        default=128, ge=8, description="Longer sentences are split at clause boundaries"
    )
    max_target_pieces: int = Field(
        default=256, ge=8, description="Longest output of a sentence or of a part of it"
    )
    batch_tokens: Positive = Field(default=2048, description="Source pieces in a batch")
    batching: Literal["exact", "fast"] = Field(
        default="exact",
        description="exact: no sentence depends on its neighbours, also where that needs batches "
        "of one (other compute types than int8); fast: it may, within rounding",
    )
    retry: bool = Field(
        default=True,
        description="Decode again, with a beam of 4 and no repeated 4-grams, what is empty, "
        "truncated, repetitive, of an abnormal length or still French",
    )
    on_english: Literal["source", "keep"] = Field(
        default="source", description="English sentences: copied, or translated all the same"
    )
    on_empty_output: Literal["source", "drop"] = Field(
        default="source", description="What stands where the model gives nothing"
    )
    on_truncated: Outcome = Field(default="source", description="What stands for a cut output")
    on_repetition: Outcome = Field(
        default="source", description="What stands for an output that repeats itself"
    )
    on_length_ratio: Outcome = Field(
        default="keep", description="What stands for an output of an abnormal length"
    )
    on_copied_source: Outcome = Field(
        default="keep", description="What stands for an output that is still French"
    )
    on_numbers_differ: Outcome = Field(
        default="keep", description="What stands for an output with other digits"
    )
    on_unknown_characters: Outcome = Field(
        default="keep", description="What stands for a sentence with pieces unknown to the model"
    )


class ChangeParameters(Section):
    """`[changes]`: how much an updated document changed."""

    shingle: Positive = Field(default=5, description="Words in a shingle")
    cosmetic: Share = Field(default=0.9, description="Shingle Jaccard from which a change is small")
    rewritten: Share = Field(default=0.3, description="Shingle Jaccard below which little is left")
    moved: Share = Field(
        default=0.9, description="Shingle Jaccard from which a new address is a moved page"
    )
    moved_tokens: Positive = Field(
        default=20, description="Tokens that a text needs to identify a moved page"
    )

    @model_validator(mode="after")
    def _bands_are_ordered(self) -> "ChangeParameters":
        if self.rewritten > self.cosmetic:
            raise ValueError("rewritten must not exceed cosmetic")
        return self


class ExportParameters(Section):
    """`[export]`: which layouts a published version carries."""

    trec: bool = Field(default=True, description="Write TREC documents, topics and qrels")
    max_file_bytes: int = Field(
        default=2**28, ge=2**10, description="A file of documents ends with the one that fills it"
    )


class Parameters(Section):
    """All sections of parameters, one for each stage."""

    log: LogParameters = LogParameters()
    crawl: CrawlParameters = CrawlParameters()
    select: SelectParameters = SelectParameters()
    verdicts: VerdictParameters = VerdictParameters()
    variants: VariantParameters = VariantParameters()
    clicks: ClickParameters = ClickParameters()
    documents: DocumentParameters = DocumentParameters()
    qrels: QrelParameters = QrelParameters()
    split: SplitParameters = SplitParameters()
    translate: TranslateParameters = TranslateParameters()
    changes: ChangeParameters = ChangeParameters()
    export: ExportParameters = ExportParameters()
