"""The definition of a classification collection: a TOML file in, a frozen typed model out.

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

Everything else has a default, written here. Intervals follow LongEval 2023, task 2: train, dev and
within at t, short less than a year after t, long more than a year after t, none of them touching.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from builder.definition.files import read_definition
from builder.errors import DefinitionError
from builder.io.sources import Interval, Source
from builder.parameters import Section
from builder.text.names import NAME_PATTERN, VERSION_PATTERN

LABELLED = ("train", "dev", "within", "short", "long")
SPLITS = (*LABELLED, "unlabelled")
TESTS = ("within", "short", "long")
INTERVAL_OF = {"train": "t", "dev": "t", "within": "t", "short": "short", "long": "long"}
DAY = 86_400

Share = Annotated[float, Field(ge=0, le=1)]
Size = Annotated[int, Field(ge=1)] | None


class CollectionSection(Section):
    """`[collection]`: what is being made."""

    name: str = Field(pattern=NAME_PATTERN, description="Short name")
    version: str = Field(
        pattern=VERSION_PATTERN,
        description="Semantic version; drafts (0.x and pre-releases) may be replaced",
    )
    licence: str = Field(default="not stated", description="Licence of the posts")

    @property
    def is_draft(self) -> bool:
        """Whether a build may replace a published folder of this version."""
        return self.version.startswith("0.") or not re.fullmatch(r"\d+\.\d+\.\d+", self.version)


class Period(Section):
    """A half-open interval of days or moments, in UTC."""

    start: datetime | date = Field(description="First day, or a moment")
    end: datetime | date = Field(description="Day after the last one, or a moment")

    @property
    def interval(self) -> Interval:
        """The interval in unix seconds."""
        return Interval(_unix(self.start), _unix(self.end))


class IntervalsSection(Section):
    """`[intervals]`: t, t' and t''."""

    train: Period = Field(description="t: training, development and within-time test posts")
    short: Period = Field(description="t': short-term test posts")
    long: Period = Field(description="t'': long-term test posts")
    short_days: int = Field(
        default=365, ge=1, description="Short is at most, long at least, so many days after t"
    )

    @model_validator(mode="after")
    def _in_order(self) -> "IntervalsSection":
        train, short, long = (period.interval for period in (self.train, self.short, self.long))
        for name, interval in (("train", train), ("short", short), ("long", long)):
            if interval.start >= interval.stop:
                raise ValueError(f"{name} is empty: end must be after start")
        limit = train.stop + self.short_days * DAY
        if not train.stop <= short.start or not short.stop <= limit:
            raise ValueError(f"short must lie within {self.short_days} days after the end of train")
        if not max(limit, short.stop) <= long.start:
            raise ValueError(f"long must start {self.short_days} days or more after train ends")
        return self

    def named(self) -> dict[str, Interval]:
        """The intervals by name: t, short, long."""
        periods = {"t": self.train, "short": self.short, "long": self.long}
        return {name: period.interval for name, period in periods.items()}


class LabelsSection(Section):
    """`[labels]`: distant and human labels."""

    markers: str | None = Field(
        default=None, description="List of markers, relative to this file; absent: our own"
    )
    strip_markers: bool = Field(default=True, description="Whether texts lose their markers")
    annotations: tuple[str, ...] = Field(
        default=(), description="Human labels of dev and test posts, relative to this file"
    )


class AuthorsSection(Section):
    """`[authors]`: the share of authors of each split, by keyed hash of the author."""

    train: Share = Field(default=0.35, description="Share of authors of the training set")
    dev: Share = Field(default=0.05, description="Share of authors of the development set")
    within: Share = Field(default=0.1, description="Share of authors of the within-time test set")
    short: Share = Field(default=0.15, description="Share of authors of the short-term test set")
    long: Share = Field(default=0.15, description="Share of authors of the long-term test set")
    unlabelled: Share = Field(default=0.2, description="Share of authors of the unlabelled corpus")

    @model_validator(mode="after")
    def _sum(self) -> "AuthorsSection":
        if abs(sum(getattr(self, split) for split in SPLITS) - 1) > 1e-9:
            raise ValueError("the shares must add up to 1")
        return self


class SamplingSection(Section):
    """`[sampling]`: how many posts of each split, by keyed hash of the post id."""

    kind: Literal["balanced", "natural"] = Field(
        default="balanced", description="As many positive as negative posts, or as they come"
    )
    train: Size = Field(default=None, description="Most training posts; absent: all")
    dev: Size = Field(default=None, description="Most development posts")
    within: Size = Field(default=None, description="Most within-time test posts")
    short: Size = Field(default=None, description="Most short-term test posts")
    long: Size = Field(default=None, description="Most long-term test posts")
    unlabelled: Size = Field(default=None, description="Most unlabelled posts")


class TextSection(Section):
    """`[text]`: when two texts are the same."""

    near_duplicate: float = Field(
        default=0.6,
        gt=0.5,
        le=1,
        description="Jaccard similarity of word-bigram sets from which texts of two splits clash",
    )
    min_words: int = Field(default=1, ge=1, description="Words that a text needs without markers")


class ClassificationDefinition(Section):
    """A whole definition."""

    posts: tuple[str, ...] = Field(min_length=1, description="JSON lines or Parquet: files, globs")
    seed: str = Field(default="longeval-builder", description="Key of all hashes")
    collection: CollectionSection
    intervals: IntervalsSection
    labels: LabelsSection = LabelsSection()
    authors: AuthorsSection = AuthorsSection()
    sampling: SamplingSection = SamplingSection()
    text: TextSection = TextSection()


def _unix(day: date) -> int:
    moment = day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)  # noqa: DTZ001
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def load_definition(path: Path) -> ClassificationDefinition:
    """Read and check a definition.

    Raises:
        DefinitionError: the file is missing, is not TOML, or has an unknown or wrong key.
    """
    return read_definition(path, ClassificationDefinition)


def expand(patterns: Sequence[str], file: Path, key: str) -> list[Source]:
    """The files that paths and globs of a definition name, relative to its folder, in order.

    Raises:
        DefinitionError: a pattern names no file.
    """
    sources: list[Source] = []
    for pattern in patterns:
        path = file.parent / pattern
        found = [path] if path.is_file() else sorted(_glob(file.parent, pattern))
        if not found:
            raise DefinitionError(f"no such file: {pattern}", file, key)
        sources.extend(Source(p, _relative(p, file.parent)) for p in found)
    return sources


def _glob(folder: Path, pattern: str) -> list[Path]:
    relative = not Path(pattern).is_absolute() and any(sign in pattern for sign in "*?[")
    return [path for path in folder.glob(pattern) if path.is_file()] if relative else []


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
