"""Reads a workflow definition from a TOML file into a frozen, validated Pydantic model.

All errors in a definition are raised when it is loaded, before any stage runs, and name the file
and the key.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from builder.definition.files import read_definition
from builder.definition.source_files import expand_patterns, find_matching_files, find_source_files
from builder.errors import DefinitionError
from builder.io.sources import Interval, Source
from builder.models import BUNDLED, bundled_model_folder, is_bundled
from builder.parameters import CrawlParameters, LogParameters, Section, StageParameters
from builder.text.names import ENGLISH, FRENCH, LANGUAGE_PATTERN, NAME_PATTERN, VERSION_PATTERN
from schemas import SNAPSHOT_PATTERN

FILE_NOT_FOUND = "definition file not found; create one with `longeval new DIR`"


class CollectionDefinition(Section):
    """Section `[collection]`: name, version and metadata of the collection."""

    name: str = Field(
        pattern=NAME_PATTERN, description="Short name, also used as the name of the output folder"
    )
    version: str = Field(
        pattern=VERSION_PATTERN,
        description="Semantic version. Versions 0.x and pre-releases are drafts that a build may "
        "replace; any other version is immutable once published",
    )
    languages: tuple[Annotated[str, Field(pattern=LANGUAGE_PATTERN)], ...] = Field(
        default=(),
        max_length=2,
        description="Language of the source texts, followed by `en` if they are translated; "
        "default: `fr`, plus `en` if `translate.model` is set",
    )
    topics: str = Field(
        description="Path of the topic table, a TSV file with the column `label` and optionally "
        "`topic_id`, `aliases` (separated by `|`), `language`, `source`"
    )
    train: tuple[str, ...] = Field(
        default=(), description="Names of the training snapshots; default: the first snapshot"
    )
    licence: str = Field(
        default="not stated", description="License of the data; shown on the dataset card"
    )
    citation: str = Field(
        default="", description="How to cite the collection; shown on the dataset card"
    )
    url: str = Field(
        default="", description="URL where the collection is published, used in `croissant.json`"
    )

    @property
    def is_draft(self) -> bool:
        """Whether the version is a draft, which later builds may replace."""
        return is_draft(self.version)


def is_draft(version: str) -> bool:
    """Return whether a version is a draft (0.x or a pre-release), which a build may replace."""
    return version.startswith("0.") or not re.fullmatch(r"\d+\.\d+\.\d+", version)


class SnapshotOverrides(Section):
    """Section `[snapshots.overrides]`: input format settings that apply to one snapshot only."""

    log: LogParameters = LogParameters()
    crawl: CrawlParameters = CrawlParameters()

    @field_validator("log", "crawl")
    @classmethod
    def _check_overridden_keys(cls, value: Section, info: ValidationInfo) -> Section:
        """Raise a ValueError if the overrides contain a key that must be equal in all snapshots."""
        rules = sorted(value.model_fields_set - value.overridable)
        if rules:
            raise ValueError(
                f"cannot override {', '.join(rules)} for one snapshot, because the rules that "
                f"decide which records are kept must be the same for all snapshots; use section "
                f"[{info.field_name}] instead. Keys that can be overridden: "
                f"{', '.join(sorted(value.overridable))}"
            )
        return value


class SnapshotDefinition(Section):
    """Section `[[snapshots]]`: name, time interval and input files of one snapshot."""

    name: str = Field(pattern=SNAPSHOT_PATTERN, description="Snapshot name, such as 2022-06")
    start: datetime | date = Field(
        description="Start of the interval (inclusive): a date in UTC or a timestamp"
    )
    end: datetime | date = Field(
        description="End of the interval (exclusive): a date in UTC or a timestamp"
    )
    log: tuple[str, ...] = Field(
        min_length=1, description="Query log files: paths, folders or globs"
    )
    crawl: tuple[str, ...] = Field(min_length=1, description="Crawl files: paths, folders or globs")
    judgements: tuple[str, ...] = Field(
        default=(),
        description="Files with manual relevance judgements for this snapshot: judging sheets "
        "(TSV) or Parquet files written by `longeval assess import`",
    )

    overrides: SnapshotOverrides | None = Field(
        default=None,
        description="Values that replace those in `[log]` and `[crawl]` for this snapshot only; "
        "set in the sections `[snapshots.overrides.log]` and `[snapshots.overrides.crawl]`",
    )

    @field_validator("start", "end", mode="before")
    @classmethod
    def _require_toml_date(cls, value: object) -> object:
        if not isinstance(value, date):
            raise ValueError("expected a TOML date such as 2022-06-01, without quotes")
        return value

    @property
    def interval(self) -> Interval:
        """Time interval of the snapshot: half-open, in Unix seconds."""
        return Interval.from_dates(self.start, self.end)


class Workflow(StageParameters):
    """Content of a definition file: the collection, its snapshots and all stage parameters."""

    collection: CollectionDefinition
    snapshots: tuple[SnapshotDefinition, ...] = Field(min_length=1)

    def snapshot(self, name: str) -> SnapshotDefinition:
        """Return the definition of a snapshot by name; the snapshot must exist."""
        return next(s for s in self.snapshots if s.name == name)

    def section(self, name: str, snapshot: str | None = None) -> Section:
        """Return a parameter section; if a snapshot is given, its overrides are applied."""
        section: Section = getattr(self, name)
        named = [s for s in self.snapshots if s.name == snapshot and s.overrides is not None]
        overrides = [getattr(s.overrides, name, None) for s in named]
        return section.with_overrides(overrides[0]) if overrides and overrides[0] else section

    @property
    def log_formats(self) -> tuple[str, ...]:
        """Distinct log formats of all snapshots."""
        formats = (self.section("log", name).format for name in self.snapshot_names)  # type: ignore[attr-defined]
        return tuple(dict.fromkeys(formats))

    @property
    def snapshot_names(self) -> tuple[str, ...]:
        """Snapshot names in chronological order."""
        return tuple(s.name for s in self.snapshots)

    @property
    def training_snapshots(self) -> tuple[str, ...]:
        """Names of the training snapshots in chronological order."""
        return (
            tuple(n for n in self.snapshot_names if n in self.collection.train)
            or self.snapshot_names[:1]
        )


class Definition(BaseModel):
    """A validated workflow definition and the path of its file."""

    model_config = {"frozen": True}

    file: Path
    workflow: Workflow

    @classmethod
    def load(cls, file: Path | str) -> Self:
        """Read a definition file and validate it.

        Raises:
            DefinitionError: The file is missing or not TOML, has an unknown or invalid key,
                refers to an input file that does not exist, or has overlapping snapshots.
        """
        path = Path(file)
        definition = cls(
            file=path,
            workflow=_derive_languages_and_model(
                read_definition(path, Workflow, FILE_NOT_FOUND), path
            ),
        )
        definition._check_snapshots()
        definition._check_files()
        return definition

    def expand_sources(self, patterns: Sequence[str]) -> tuple[Source, ...]:
        """Return the files that match paths, folders and glob patterns of the definition.

        The pattern `embedded` expands to the files of the bundled translation model.
        """
        if list(patterns) == [BUNDLED]:
            model = sorted(path for path in bundled_model_folder().iterdir() if path.is_file())
            return tuple(Source(path, f"{BUNDLED}/{path.name}") for path in model)
        return expand_patterns(self.file.parent, patterns)

    def section(self, name: str, snapshot: str | None = None) -> Section:
        """Return a parameter section with its relative paths resolved.

        Args:
            name: Name of the section.
            snapshot: Snapshot whose overrides are applied; None applies no overrides.
        """
        section = self.workflow.section(name, snapshot)
        paths = {
            field: bundled_model_folder() if is_bundled(value) else self.resolve_path(value)
            for field, value in section
            if isinstance(value, Path)
        }
        return section.model_copy(update=paths)

    def resolve_path(self, path: str | Path) -> Path:
        """Resolve a path relative to the folder of the definition file."""
        return self.file.parent / path

    def _check_snapshots(self) -> None:
        snapshots = self.workflow.snapshots
        for index, snapshot in enumerate(snapshots):
            if snapshot.interval.start >= snapshot.interval.stop:
                self._raise_snapshot_error("empty interval: end must be after start", index, "end")
            if index and snapshot.interval.start < snapshots[index - 1].interval.stop:
                before = snapshots[index - 1]
                self._raise_snapshot_error(
                    f"snapshot {snapshot.name} ({snapshot.start} to {snapshot.end}) overlaps or "
                    f"precedes {before.name} ({before.start} to {before.end}); snapshots must be "
                    "disjoint and listed in chronological order",
                    index,
                    "start",
                )
            if snapshot.name in self.workflow.snapshot_names[:index]:
                self._raise_snapshot_error(
                    f"duplicate snapshot name {snapshot.name}", index, "name"
                )
        self.check_snapshot_names(self.workflow.collection.train, "collection.train")

    def check_snapshot_names(self, names: Iterable[str], key: str) -> None:
        """Raise a DefinitionError if any name is not a snapshot of the definition."""
        for name in names:
            if name not in self.workflow.snapshot_names:
                known = ", ".join(self.workflow.snapshot_names)
                raise DefinitionError(
                    f"unknown snapshot {name!r}; expected one of {known}", self.file, key
                )

    def _check_files(self) -> None:
        found = find_matching_files(self.file, self.workflow.collection.topics, "collection.topics")
        if len(found) > 1:
            names = ", ".join(source.name for source in found)
            message = (
                f"expected one topic table, found {len(found)} files ({names:.80}); "
                "specify one of them"
            )
            raise DefinitionError(message, self.file, "collection.topics")
        for index, snapshot in enumerate(self.workflow.snapshots):
            for kind in ("log", "crawl", "judgements"):
                find_source_files(self.file, getattr(snapshot, kind), f"snapshots[{index}].{kind}")
        for key in (
            "select.stop_lists",
            "verdicts.files",
            "variants.files",
            "documents.deny",
            "documents.allow",
        ):
            section, field = key.split(".")
            find_source_files(self.file, getattr(self.section(section), field), key)
        model = self.workflow.translate.model
        if model is not None and not is_bundled(model) and not self.resolve_path(model).is_dir():
            raise DefinitionError(
                f"no such folder: {self.resolve_path(model)}", self.file, "translate.model"
            )

    def _raise_snapshot_error(self, message: str, index: int, key: str) -> None:
        raise DefinitionError(message, self.file, f"snapshots[{index}].{key}")


def _derive_languages_and_model(workflow: Workflow, file: Path) -> Workflow:
    """Derive a missing `collection.languages` or `translate.model` from the other key.

    Raises:
        DefinitionError: The two keys contradict each other.
    """
    languages, model = workflow.collection.languages, workflow.translate.model
    if not languages:
        languages = (FRENCH,) if model is None else (FRENCH, ENGLISH)
    if languages == (ENGLISH, ENGLISH):
        message = "expected two distinct languages, found 'en' twice"
        raise DefinitionError(message, file, "collection.languages")
    if languages[1:] not in ((), (ENGLISH,)):
        message = f"expected the target language {ENGLISH!r}, found {languages[1]!r}"
        raise DefinitionError(message, file, "collection.languages")
    if model is not None and ENGLISH not in languages[1:]:
        message = (
            "expected two languages because translate.model is set; "
            "add 'en' or remove translate.model"
        )
        raise DefinitionError(message, file, "collection.languages")
    if model is None and languages[1:]:
        if languages[0] != FRENCH:
            message = (
                f"expected a model, found none; the bundled model does not support "
                f"{languages[0]!r}, so set translate.model to the folder of another model"
            )
            raise DefinitionError(message, file, "translate.model")
        model = Path(BUNDLED)
    collection = workflow.collection.model_copy(update={"languages": languages})
    translate = workflow.translate.model_copy(update={"model": model})
    return workflow.model_copy(update={"collection": collection, "translate": translate})
