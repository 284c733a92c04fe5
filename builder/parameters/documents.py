"""`[crawl]`, `[documents]` and `[changes]`: pages, what enters of them, and how they change."""

from typing import Literal

from pydantic import Field, model_validator

from builder.parameters.raw import RawParameters
from builder.parameters.section import Positive, Section, Share


class PageFields(Section):
    """`[crawl.fields]`: what the fields of a page are called; dots lead into objects."""

    url: str = Field(default="url", description="Where the page was fetched")
    time: str | tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="When; of several the first that has a value; absent: timestamp, "
        "last_updated_at, created_at",
    )
    title: str = Field(default="title", description="Its title; may be missing")
    text: str | tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Its text; of several the first that has a value; absent: text, content",
    )


class CrawlParameters(RawParameters):
    """`[crawl]`: how crawls become pages."""

    describes_input = RawParameters.describes_input | {"fields", "format"}
    overridable = describes_input | {"text_format", "undated"}

    format: Literal["auto", "jsonl", "parquet", "warc", "csv", "tsv"] = Field(
        default="auto",
        description="Format of the files; auto: detected from the first bytes of each",
    )
    fields: PageFields = PageFields()

    interval: Literal["enforce", "ignore"] = Field(
        default="enforce", description="Reject pages fetched outside the snapshot's interval"
    )
    undated: Literal["reject", "start"] = Field(
        default="reject",
        description="Pages without a time: reject them, or date them at the snapshot's start",
    )
    text_format: Literal["plain", "html"] = Field(
        default="plain",
        description="Texts of records other than WARC: as they are, or pages of HTML to be read",
    )
    max_text_chars: Positive = Field(
        default=1_000_000, description="Longer texts are cut there and flagged"
    )
    max_record_bytes: Positive = Field(
        default=64 * 2**20, description="Larger records are rejected unread"
    )


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


class ChangeParameters(Section):
    """`[changes]`: how much an updated document changed."""

    shingle: int = Field(default=5, ge=1, le=100, description="Words in a shingle, at most 100")
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
