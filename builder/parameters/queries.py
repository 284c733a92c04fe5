"""Sections `[select]`, `[verdicts]`, `[variants]` and `[split]`: parameters of query selection."""

from typing import Literal

from pydantic import Field, model_validator

from builder.parameters.section import Positive, Section, Share
from builder.text.names import LABEL_PATTERN


class SelectionParameters(Section):
    """Section `[select]`: rules for the queries that enter the collection."""

    anonymity: Literal["users", "impressions"] = Field(
        default="users",
        description="What k-anonymity counts. users: distinct users; impressions: impressions, for "
        "logs from which user identifiers were removed",
    )
    min_users: Positive = Field(
        default=5,
        description="Minimum number of distinct users of a query (the k of k-anonymity). The "
        "published spelling must also have this many users",
    )
    min_impressions: Positive = Field(
        default=5, description="Minimum number of impressions of a query"
    )
    min_clicks: int = Field(
        default=0, ge=0, strict=True, description="Minimum number of clicked results of a query"
    )
    max_words: Positive = Field(default=15, description="Maximum number of words in a query")
    max_chars: Positive = Field(default=150, description="Maximum number of characters in a query")
    operators: Literal["drop", "keep"] = Field(
        default="drop",
        description="Whether to drop or keep queries with search operators such as site: or inurl:",
    )
    url_like: Literal["drop", "keep"] = Field(
        default="drop",
        description="Whether to drop or keep queries that consist of a URL or a host name",
    )
    navigational_share: Share | None = Field(
        default=None,
        description="Drop a query as navigational if its most clicked document receives at least "
        "this share of its clicks; default: keep navigational queries",
    )
    navigational_clicks: Positive = Field(
        default=20,
        description="`navigational_share` applies only to queries with at least this many clicks",
    )
    stop_lists: tuple[str, ...] = Field(
        default=(),
        description="Files with one query or word to exclude per line; # starts a comment",
    )
    stop_matching: Literal["query", "word"] = Field(
        default="query",
        description="Which queries a line of a stop list excludes. query: queries that equal the "
        "line; word: queries that contain the line as whole words",
    )
    matching: Literal["word", "substring", "stem"] = Field(
        default="word",
        description="How topics are matched in queries. word: as whole words; substring: anywhere, "
        "as in LongEval 2023; stem: as whole words, ignoring plural endings",
    )


class VerdictFilter(Section):
    """Section `[[verdicts.filters]]`: excludes queries, users or documents by their verdicts."""

    name: str = Field(
        pattern=LABEL_PATTERN, description="Name of the filter, used in reject reasons"
    )
    kind: Literal["query", "user", "document"] = Field(
        description="What the filter excludes: query, user or document"
    )
    label: str = Field(
        pattern=LABEL_PATTERN, description="Label that is excluded, such as adult or bot"
    )
    min_score: Share = Field(
        default=0.5, description="Minimum score of a label for the filter to apply"
    )
    source: str | None = Field(
        default=None,
        description="Source of the labels to which the filter applies: a value of the column "
        "`source` of the files, or the name of a plug-in; default: any source",
    )


class VerdictFilterParameters(Section):
    """Section `[verdicts]`: labels of queries, users and documents, and filters that use them."""

    files: tuple[str, ...] = Field(
        default=(), description="TSV files with the header kind, key, label, score, source, version"
    )
    plugins: tuple[str, ...] = Field(
        default=(),
        description="Names of installed plug-ins that assign labels (entry points "
        "longeval_builder.verdicts)",
    )
    filters: tuple[VerdictFilter, ...] = Field(
        default=(),
        description="One section `[[verdicts.filters]]` per filter, applied in this order",
    )

    @model_validator(mode="after")
    def _validate_filter_names(self) -> "VerdictFilterParameters":
        """Reject two filters with the same name."""
        names = [verdict_filter.name for verdict_filter in self.filters]
        if len(set(names)) < len(names):
            raise ValueError("expected distinct filter names, found two filters with the same name")
        return self


class VariantParameters(Section):
    """Section `[variants]`: how query variants are detected and merged."""

    sets: Literal["off", "signature", "edit"] = Field(
        default="signature",
        description="Which queries form a variant set. off: no sets; signature: queries with the "
        "same content words; edit: also queries that differ in the spelling of one word",
    )
    threshold: float = Field(
        default=0.8,
        ge=0.5,
        le=1,
        description="Minimum similarity of two spellings of one word: 1 - edit distance / length "
        "of the longer word",
    )
    files: tuple[str, ...] = Field(
        default=(),
        description="TSV files that define variant sets manually, with a set name and a query on "
        "each line; not allowed if `sets` is off",
    )
    merge: Literal["clicks", "labels", "none"] = Field(
        default="clicks",
        description="How a variant set is published. clicks: as one query with the clicks of all "
        "members; labels: as one query with the merged grades of all members; none: as separate "
        "queries. As in LongEval, grades 1 and 2 for the same document are merged to 1, and the "
        "document is dropped if it has both grade 0 and a higher grade",
    )

    @model_validator(mode="after")
    def _require_sets_for_files(self) -> "VariantParameters":
        """Reject files that define sets of query variants if the parameter `sets` is `off`."""
        if self.files and self.sets == "off":
            raise ValueError(
                'files: manually defined sets have no effect with sets = "off"; use "signature" or '
                '"edit", or remove the files'
            )
        return self


class SplitParameters(Section):
    """Section `[split]`: how queries are divided into training and held-out queries."""

    heldout_share: Share = Field(
        default=0.2,
        description="Fraction of the queries of training snapshots that are held out, selected by "
        "a keyed hash. All queries of a variant set are in the same split",
    )
    seed: str = Field(
        default="longeval-builder",
        description="Key of the hash that assigns queries to splits",
    )
    near: Literal["together", "listed"] = Field(
        default="together",
        description="How to treat queries with near-identical spelling (see `variants.threshold`). "
        "together: assign them to the same split; listed: split them independently and list them "
        "in `near_leaks`",
    )
