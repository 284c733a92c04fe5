"""Sections `[crawl]`, `[documents]` and `[changes]`: parameters for documents."""

from typing import Literal

from pydantic import Field, model_validator

from builder.parameters.raw import RawDataParameters
from builder.parameters.section import Positive, Section, Share


class PageFields(Section):
    """Section `[crawl.fields]`: names of a page's fields in the crawl; `a.b` is a nested field."""

    url: str = Field(
        default="url",
        description="Field with the URL of the page; in all fields, "
        "`a.b` is field `b` of object `a`",
    )
    time: str | tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Field with the time of the fetch, or a list of fields; the first non-null "
        "field is used. Default: timestamp, last_updated_at, created_at",
    )
    title: str = Field(default="title", description="Field with the title of the page; optional")
    text: str | tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Field with the text of the page, or a list of fields; the first non-null "
        "field is used. Default: text, content",
    )


class CrawlParameters(RawDataParameters):
    """Section `[crawl]`: how crawled pages are read."""

    format_keys = RawDataParameters.format_keys | {"fields", "format"}
    overridable = format_keys | {"text_format", "undated"}

    format: Literal["auto", "jsonl", "parquet", "warc", "csv", "tsv"] = Field(
        default="auto",
        description="File format: jsonl, parquet, warc, csv or tsv; auto: detected from the "
        "first bytes of each file",
    )
    fields: PageFields = PageFields()

    interval: Literal["enforce", "ignore"] = Field(
        default="enforce",
        description="How to treat pages fetched outside the interval of the snapshot. enforce: "
        "reject them; ignore: accept them",
    )
    undated: Literal["reject", "start"] = Field(
        default="reject",
        description="How to treat pages without a time. reject: reject them; start: set their time "
        "to the start of the snapshot",
    )
    text_format: Literal["plain", "html"] = Field(
        default="plain",
        description="Format of the texts, except in WARC files. plain: plain text; html: HTML from "
        "which the main text is extracted",
    )
    max_text_chars: Positive = Field(
        default=1_000_000,
        description="Maximum number of characters in a text; longer texts are truncated and "
        "flagged",
    )
    max_record_bytes: Positive = Field(
        default=64 * 2**20,
        description="Maximum size of a record in bytes; larger records are rejected",
    )


class DocumentParameters(Section):
    """Section `[documents]`: which crawled pages enter the collection."""

    sample_share: Share = Field(
        default=0.2,
        description="Fraction of the crawled pages that are sampled by a keyed hash of the "
        "document id. Sampled pages enter the collection even if no user saw them",
    )
    sample_seed: str = Field(
        default="longeval-builder", description="Key of the hash that samples pages"
    )
    deny: tuple[str, ...] = Field(
        default=(), description="Files with hosts and URLs whose pages are excluded"
    )
    allow: tuple[str, ...] = Field(
        default=(),
        description="Files with hosts and URLs whose pages are never excluded by `deny` or by "
        "verdicts",
    )
    duplicates: Literal["keep", "keep_first", "drop"] = Field(
        default="keep",
        description="How to treat pages with identical text. keep: keep and flag them; keep_first: "
        "keep one page per group; drop: drop the whole group",
    )
    near_duplicates: Literal["off", "keep", "keep_first", "drop"] = Field(
        default="keep",
        description="How to treat pages with nearly identical text. off: do not detect them; keep, "
        "keep_first and drop have the same meaning as for `duplicates`",
    )
    near_threshold: float = Field(
        default=0.9,
        ge=0.5,
        le=1,
        description="Minimum Jaccard coefficient of the shingle sets (five words per shingle) of "
        "two near-duplicate texts",
    )


class ChangeParameters(Section):
    """Section `[changes]`: how changes in documents between snapshots are classified."""

    shingle: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Number of words per shingle. The Jaccard coefficients below compare the "
        "sets of shingles of two texts",
    )
    cosmetic: Share = Field(
        default=0.9, description="Minimum Jaccard coefficient at which a change is cosmetic"
    )
    rewritten: Share = Field(
        default=0.3, description="Jaccard coefficient below which a change is a rewrite"
    )
    moved: Share = Field(
        default=0.9,
        description="Minimum Jaccard coefficient at which a removed page and an added page count "
        "as one page that moved",
    )
    moved_tokens: Positive = Field(
        default=20, description="Minimum number of words that a page needs to be matched as moved"
    )

    @model_validator(mode="after")
    def _validate_change_thresholds(self) -> "ChangeParameters":
        """Reject a `rewritten` threshold that is greater than the `cosmetic` threshold."""
        if self.rewritten > self.cosmetic:
            raise ValueError(
                "expected the threshold `rewritten` to be at most the threshold `cosmetic`"
            )
        return self
