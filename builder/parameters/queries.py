"""`[select]`, `[verdicts]`, `[variants]` and `[split]`: which queries, and on which side."""

from typing import Literal

from pydantic import Field, model_validator

from builder.parameters.section import Positive, Section, Share
from builder.text.names import LABEL_PATTERN


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

    name: str = Field(pattern=LABEL_PATTERN, description="Name of the rule in the funnel")
    kind: Literal["query", "user", "document"] = Field(description="What is left out")
    label: str = Field(pattern=LABEL_PATTERN, description="Label such as adult or bot")
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


class SplitParameters(Section):
    """`[split]`: which queries are for training."""

    heldout_share: Share = Field(
        default=0.2, description="Part of the queries at t held out, by keyed hash of the query id"
    )
    seed: str = Field(default="longeval-builder", description="Key of that hash")
    near: Literal["together", "listed"] = Field(
        default="together",
        description="Spellings of one query (`variants.threshold`) on both sides: put them on one, "
        "or leave them where they are; what is left is in `near_leaks`",
    )
