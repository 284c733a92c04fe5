"""A collection definition: a TOML file in, a frozen typed model out.

All errors in a definition are found here, before any stage runs, and named by file and key.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from builder.definition.files import read_definition
from builder.errors import DefinitionError
from builder.io.sources import Interval, Source
from builder.models import EMBEDDED, embedded_model, is_embedded
from builder.parameters import CrawlParameters, LogParameters, Parameters, Section
from builder.text.names import ENGLISH, FRENCH, LANGUAGE_PATTERN, NAME_PATTERN, VERSION_PATTERN
from schemas import SNAPSHOT_PATTERN

ABSENT = "no such definition file; `longeval new DIR` writes one to begin with"


class CollectionDefinition(Section):
    """`[collection]`: name, version and metadata of the collection."""

    name: str = Field(pattern=NAME_PATTERN, description="Short name, also a folder name")
    version: str = Field(
        pattern=VERSION_PATTERN,
        description="Semantic version. 0.x and pre-releases are drafts that a build may replace; "
        "any other version is immutable once published",
    )
    languages: tuple[Annotated[str, Field(pattern=LANGUAGE_PATTERN)], ...] = Field(
        default=(),
        max_length=2,
        description="Source language, then `en` for a translation; absent: French, and English "
        "where `translate.model` is given",
    )
    topics: str = Field(
        description="Topic table, relative to this file: TSV with `label`, and any of `topic_id`, "
        "`aliases` (between bars), `language`, `source`"
    )
    train: tuple[str, ...] = Field(
        default=(), description="Training snapshots; absent: the first snapshot"
    )
    licence: str = Field(default="not stated", description="Licence of the data, for the card")
    citation: str = Field(default="", description="How to cite the data, for the card")
    url: str = Field(default="", description="Where the data is published, for the card")

    @property
    def is_draft(self) -> bool:
        """Whether a build may replace a published folder of this version."""
        return is_draft(self.version)


def is_draft(version: str) -> bool:
    """Whether a version is a draft, which a build may replace: 0.x or a pre-release."""
    return version.startswith("0.") or not re.fullmatch(r"\d+\.\d+\.\d+", version)


class SnapshotOverrides(Section):
    """`[snapshots.overrides]`: how the raw files of one snapshot differ from the others."""

    log: LogParameters = LogParameters()
    crawl: CrawlParameters = CrawlParameters()

    @field_validator("log", "crawl")
    @classmethod
    def _rules_are_the_same(cls, value: Section, info: ValidationInfo) -> Section:
        """Refuse overrides of rules: which records are kept must not depend on the snapshot."""
        rules = sorted(value.model_fields_set - value.overridable)
        if rules:
            raise ValueError(
                f"{', '.join(rules)} decides which records are kept and must be the same for all "
                f"snapshots; set it in [{info.field_name}]. A snapshot may override "
                f"{', '.join(sorted(value.overridable))}"
            )
        return value


class SnapshotDefinition(Section):
    """`[[snapshots]]`: one point in time."""

    name: str = Field(pattern=SNAPSHOT_PATTERN, description="Name such as 2022-06")
    start: datetime | date = Field(description="First day (UTC), or a timestamp")
    end: datetime | date = Field(description="Day after the last one (UTC), or a timestamp")
    log: tuple[str, ...] = Field(min_length=1, description="Query logs: files, folders, globs")
    crawl: tuple[str, ...] = Field(min_length=1, description="Crawls: files, folders, globs")
    judgements: tuple[str, ...] = Field(
        default=(),
        description="Judgements by people on this snapshot: sheets (TSV) or Parquet of "
        "`longeval assess import`",
    )

    overrides: SnapshotOverrides | None = Field(
        default=None,
        description="Keys of `[log]` and `[crawl]` that differ in this snapshot: "
        "`[snapshots.overrides.log]`, `[snapshots.overrides.crawl]`",
    )

    @field_validator("start", "end", mode="before")
    @classmethod
    def _keep_timestamps(cls, value: object) -> object:
        if not isinstance(value, date):
            raise ValueError("expected a TOML date such as 2022-06-01, without quotes")
        return value

    @property
    def interval(self) -> Interval:
        """The half-open interval in unix seconds."""
        return Interval(_unix(self.start), _unix(self.end))


def _unix(day: date) -> int:
    moment = day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)  # noqa: DTZ001
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


class Workflow(Parameters):
    """A whole definition: the collection, its snapshots, and the parameters of the stages."""

    collection: CollectionDefinition
    snapshots: tuple[SnapshotDefinition, ...] = Field(min_length=1)

    def snapshot(self, name: str) -> SnapshotDefinition:
        """The snapshot with this name, which must exist."""
        return next(s for s in self.snapshots if s.name == name)

    def section(self, name: str, snapshot: str | None = None) -> Section:
        """A section of parameters with the overrides of a snapshot applied."""
        section: Section = getattr(self, name)
        named = [s for s in self.snapshots if s.name == snapshot and s.overrides is not None]
        overrides = [getattr(s.overrides, name, None) for s in named]
        return section.override(overrides[0]) if overrides and overrides[0] else section

    @property
    def log_formats(self) -> tuple[str, ...]:
        """The distinct log formats of all snapshots."""
        formats = (self.section("log", name).format for name in self.names)  # type: ignore[attr-defined]
        return tuple(dict.fromkeys(formats))

    @property
    def names(self) -> tuple[str, ...]:
        """Snapshot names in chronological order."""
        return tuple(s.name for s in self.snapshots)

    @property
    def training(self) -> tuple[str, ...]:
        """Names of the training snapshots in chronological order."""
        return tuple(n for n in self.names if n in self.collection.train) or self.names[:1]


class Definition(BaseModel):
    """A validated definition and the file that it was read from."""

    model_config = {"frozen": True}

    file: Path
    workflow: Workflow

    @classmethod
    def load(cls, file: Path | str) -> Self:
        """Read and validate a definition.

        Raises:
            DefinitionError: the file is missing, is not TOML, has an unknown or wrong key, names
                a missing input, or its snapshots overlap.
        """
        path = Path(file)
        definition = cls(
            file=path, workflow=_settled(read_definition(path, Workflow, ABSENT), path)
        )
        definition._check_snapshots()
        definition._check_files()
        return definition

    def sources(self, patterns: Sequence[str]) -> tuple[Source, ...]:
        """Expand paths, folders and globs of the definition to files, in order.

        Files of a folder are sorted by name; names that start with `_` or `.` are skipped. The word
        `embedded` stands for the embedded translation model.
        """
        return tuple(source for pattern in patterns for source in self._expand(pattern))

    def section(self, name: str, snapshot: str | None = None) -> Section:
        """A section of parameters with its paths resolved against the definition's folder.

        Args:
            name: Name of the section.
            snapshot: The snapshot whose overrides apply; None: none.
        """
        section = self.workflow.section(name, snapshot)
        paths = {
            field: embedded_model() if is_embedded(value) else self.resolve(value)
            for field, value in section
            if isinstance(value, Path)
        }
        return section.model_copy(update=paths)

    def resolve(self, path: str | Path) -> Path:
        """Resolve a path against the definition's folder."""
        return self.file.parent / path

    def _expand(self, pattern: str) -> list[Source]:
        if pattern == EMBEDDED:
            model = sorted(path for path in embedded_model().iterdir() if path.is_file())
            return [Source(path, f"{EMBEDDED}/{path.name}") for path in model]
        folder = self.file.parent
        path = folder / pattern
        found: Iterable[Path] = [path]
        try:
            if path.is_dir():
                found = (p for p in path.rglob("*") if p.is_file() and p.name[0] not in "_.")
            elif not path.is_file():
                found = _glob(folder, pattern)
            return [Source(p, _name(p, folder)) for p in sorted(found)]
        except (OSError, ValueError):  # a name that no file can have
            return []

    def _check_snapshots(self) -> None:
        snapshots = self.workflow.snapshots
        for index, snapshot in enumerate(snapshots):
            if snapshot.interval.start >= snapshot.interval.stop:
                self._fail("the interval is empty: end must be after start", index, "end")
            if index and snapshot.interval.start < snapshots[index - 1].interval.stop:
                before = snapshots[index - 1]
                self._fail(
                    f"{snapshot.name} ({snapshot.start} to {snapshot.end}) overlaps or precedes "
                    f"{before.name} ({before.start} to {before.end}); intervals must be disjoint "
                    "and snapshots listed in order of time",
                    index,
                    "start",
                )
            if snapshot.name in self.workflow.names[:index]:
                self._fail(f"snapshot {snapshot.name} is listed twice", index, "name")
        self.check_names(self.workflow.collection.train, "collection.train")

    def check_names(self, names: Iterable[str], key: str) -> None:
        """Raise a DefinitionError if a name is not a snapshot of the definition."""
        for name in names:
            if name not in self.workflow.names:
                known = ", ".join(self.workflow.names)
                raise DefinitionError(
                    f"unknown snapshot {name!r}; the definition has {known}", self.file, key
                )

    def _check_files(self) -> None:
        wanted = [("collection.topics", self.workflow.collection.topics)]
        for index, snapshot in enumerate(self.workflow.snapshots):
            for kind in ("log", "crawl", "judgements"):
                for number, pattern in enumerate(getattr(snapshot, kind)):
                    wanted.append((f"snapshots[{index}].{kind}[{number}]", pattern))
        for key in (
            "select.stop_lists",
            "verdicts.files",
            "variants.files",
            "documents.deny",
            "documents.allow",
        ):
            section, field = key.split(".")
            patterns = getattr(self.section(section), field)
            wanted += [(f"{key}[{number}]", pattern) for number, pattern in enumerate(patterns)]
        for key, pattern in wanted:
            if not self._expand(pattern):
                raise DefinitionError(f"no such file: {self.resolve(pattern)}", self.file, key)
        model = self.workflow.translate.model
        if model is not None and not is_embedded(model) and not self.resolve(model).is_dir():
            raise DefinitionError(
                f"no such folder: {self.resolve(model)}", self.file, "translate.model"
            )

    def _fail(self, message: str, index: int, key: str) -> None:
        raise DefinitionError(message, self.file, f"snapshots[{index}].{key}")


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _glob(folder: Path, pattern: str) -> Iterable[Path]:
    if not any(character in pattern for character in "*?["):
        return ()
    path = Path(pattern)
    base, relative = (
        (Path(path.anchor), path.relative_to(path.anchor)) if path.anchor else (folder, path)
    )
    return (p for p in base.glob(str(relative)) if p.is_file())


def _settled(workflow: Workflow, file: Path) -> Workflow:
    """Fill in the defaults of languages and translation model, which depend on each other.

    Raises:
        DefinitionError: they contradict each other.
    """
    languages, model = workflow.collection.languages, workflow.translate.model
    if not languages:
        languages = (FRENCH,) if model is None else (FRENCH, ENGLISH)
    if languages == (ENGLISH, ENGLISH):
        message = "expected another language than that of the translation, found 'en' twice"
        raise DefinitionError(message, file, "collection.languages")
    if languages[1:] not in ((), (ENGLISH,)):
        message = f"expected {ENGLISH!r} as the language to translate to, found {languages[1]!r}"
        raise DefinitionError(message, file, "collection.languages")
    if model is not None and ENGLISH not in languages[1:]:
        message = (
            "expected two languages, since translate.model is given; add 'en', or leave it out"
        )
        raise DefinitionError(message, file, "collection.languages")
    if model is None and languages[1:]:
        if languages[0] != FRENCH:
            message = f"expected a model: the one that is shipped does not know {languages[0]!r}"
            raise DefinitionError(message, file, "translate.model")
        model = Path(EMBEDDED)
    collection = workflow.collection.model_copy(update={"languages": languages})
    translate = workflow.translate.model_copy(update={"model": model})
    return workflow.model_copy(update={"collection": collection, "translate": translate})
