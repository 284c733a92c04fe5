"""Definition of a classification collection, read from a TOML file.

```toml
posts = ["posts/*.jsonl.gz"]

[collection]
name = "posts"
version = "0.1.0"

[intervals]
train = {start = 2016-01-01, end = 2017-01-01}
short = {start = 2017-01-01, end = 2018-01-01}
long = {start = 2021-01-01, end = 2022-01-01}
```

All other keys have defaults. Intervals follow task 2 of LongEval 2023: the splits train, dev and
within lie in period t, short up to a year after t, and long more than a year after t.
"""

import re
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from builder.definition.files import read_definition
from builder.io.sources import Interval
from builder.parameters import Section
from builder.text.names import NAME_PATTERN, VERSION_PATTERN

LABELED_SPLITS = ("train", "dev", "within", "short", "long")
SPLITS = (*LABELED_SPLITS, "unlabelled")
TEST_SPLITS = ("within", "short", "long")
SPLIT_INTERVALS = {"train": "t", "dev": "t", "within": "t", "short": "short", "long": "long"}
DAY = 86_400

Share = Annotated[float, Field(ge=0, le=1)]
MaxPosts = Annotated[int, Field(ge=1)] | None


class CollectionSection(Section):
    """Section `[collection]`: name, version and licence."""

    name: str = Field(pattern=NAME_PATTERN, description="Short name of the collection")
    version: str = Field(
        pattern=VERSION_PATTERN,
        description="Semantic version; drafts (0.x and pre-releases) can be overwritten",
    )
    licence: str = Field(default="not stated", description="Licence of the posts")

    @property
    def is_draft(self) -> bool:
        """Whether the version is a draft, which later builds may replace."""
        return self.version.startswith("0.") or not re.fullmatch(r"\d+\.\d+\.\d+", self.version)


class Period(Section):
    """Half-open time interval [start, end) in UTC."""

    start: datetime | date = Field(description="Start of the period, as a date or a timestamp")
    end: datetime | date = Field(
        description="Exclusive end of the period, as a timestamp or as the date after the last day"
    )

    @property
    def interval(self) -> Interval:
        """Start and end of the period in Unix seconds."""
        return Interval.from_dates(self.start, self.end)


class IntervalsSection(Section):
    """Section `[intervals]`: the periods of the training, short-term and long-term splits."""

    train: Period = Field(
        description="Period t of training, development and within-time test posts"
    )
    short: Period = Field(description="Period t' of short-term test posts")
    long: Period = Field(description="Period t'' of long-term test posts")
    short_days: int = Field(
        default=365,
        ge=1,
        description="Number of days after the training period t within which the short-term "
        "period t' must end and before which the long-term period t'' must not start",
    )

    @model_validator(mode="after")
    def _check_interval_order(self) -> "IntervalsSection":
        train, short, long = (period.interval for period in (self.train, self.short, self.long))
        for name, interval in (("train", train), ("short", short), ("long", long)):
            if interval.start >= interval.stop:
                raise ValueError(f"{name}: end must be after start")
        limit = train.stop + self.short_days * DAY
        if not train.stop <= short.start or not short.stop <= limit:
            raise ValueError(
                f"`short` must lie within the {self.short_days} days after the end of `train`"
            )
        if not limit <= long.start:
            raise ValueError(
                f"`long` must start at least {self.short_days} days after the end of `train`"
            )
        return self

    def intervals_by_name(self) -> dict[str, Interval]:
        """Return the time intervals by period name: `t`, `short` and `long`."""
        periods = {"t": self.train, "short": self.short, "long": self.long}
        return {name: period.interval for name, period in periods.items()}


class LabelsSection(Section):
    """Section `[labels]`: markers that yield distant labels, and files of human labels."""

    markers: str | None = Field(
        default=None,
        description="Marker list (TSV), relative to this file; default: the built-in list",
    )
    strip_markers: bool = Field(default=True, description="Whether to remove markers from texts")
    annotations: tuple[str, ...] = Field(
        default=(),
        description="Human labels (TSV) of development and test posts, relative to this file",
    )


class AuthorsSection(Section):
    """Section `[authors]`: share of authors in each split; authors are assigned by hash."""

    train: Share = Field(
        default=0.35, description="Fraction of authors assigned to the training set"
    )
    dev: Share = Field(
        default=0.05, description="Fraction of authors assigned to the development set"
    )
    within: Share = Field(
        default=0.1, description="Fraction of authors assigned to the within-time test set"
    )
    short: Share = Field(
        default=0.15, description="Fraction of authors assigned to the short-term test set"
    )
    long: Share = Field(
        default=0.15, description="Fraction of authors assigned to the long-term test set"
    )
    unlabelled: Share = Field(
        default=0.2, description="Fraction of authors assigned to the unlabeled corpus"
    )

    @model_validator(mode="after")
    def _check_shares(self) -> "AuthorsSection":
        total = sum(getattr(self, split) for split in SPLITS)
        if abs(total - 1) > 1e-9:
            raise ValueError(f"expected shares of authors that sum to 1, found {total:.6g}")
        return self


class SamplingSection(Section):
    """Section `[sampling]`: maximum number of posts in each split; posts are sampled by hash."""

    kind: Literal["balanced", "natural"] = Field(
        default="balanced",
        description="Distribution of the final labels in each labeled split. `balanced`: equal "
        "numbers of positive and negative posts; `natural`: the distribution in the input",
    )
    train: MaxPosts = Field(
        default=None, description="Maximum number of training posts; default: all"
    )
    dev: MaxPosts = Field(
        default=None, description="Maximum number of development posts; default: all"
    )
    within: MaxPosts = Field(
        default=None, description="Maximum number of within-time test posts; default: all"
    )
    short: MaxPosts = Field(
        default=None, description="Maximum number of short-term test posts; default: all"
    )
    long: MaxPosts = Field(
        default=None, description="Maximum number of long-term test posts; default: all"
    )
    unlabelled: MaxPosts = Field(
        default=None, description="Maximum number of unlabeled posts; default: all"
    )


class TextSection(Section):
    """Section `[text]`: similarity of near-duplicate texts, and minimum length of texts."""

    near_duplicate: float = Field(
        default=0.6,
        gt=0.5,
        le=1,
        description="Minimum Jaccard similarity of the sets of word bigrams of two near-duplicates",
    )
    min_words: int = Field(
        default=1, ge=1, description="Minimum number of words in a text, not counting markers"
    )


class ClassificationDefinition(Section):
    """Definition of a classification collection."""

    posts: tuple[str, ...] = Field(
        min_length=1, description="Files of posts (JSON lines or Parquet), or folders or globs"
    )
    seed: str = Field(
        default="longeval-builder",
        description="Seed of the hashes that assign authors to splits and sample posts",
    )
    collection: CollectionSection
    intervals: IntervalsSection
    labels: LabelsSection = LabelsSection()
    authors: AuthorsSection = AuthorsSection()
    sampling: SamplingSection = SamplingSection()
    text: TextSection = TextSection()


def load_definition(path: Path) -> ClassificationDefinition:
    """Read and validate a definition file.

    Raises:
        DefinitionError: the file is missing or not TOML, or a key is unknown or has a wrong value.
    """
    return read_definition(path, ClassificationDefinition)
