"""Annotations of stage arguments, which say which tables, files and settings a stage reads.

A table argument is annotated with its schema and the steps to read: `Same[Impressions]` is the
table `impressions` of the snapshot (or pair) that the stage runs on. `FileReference` and
`SettingReference` mark arguments that come from the definition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from builder.definition.model import Workflow
from builder.io.sources import Interval
from builder.io.tables import SchemaType, Table
from builder.parameters import StageParameters, VerdictFilter
from builder.runtime.scope import Scope, split_pair_key
from builder.text.names import FRENCH
from schemas import TableSchema

StepKeys = str | tuple[str, ...] | dict[Any, str]
"""Keys of the steps whose table is read: one key, a tuple of keys, or a dict of keys by name."""


@dataclass(frozen=True)
class TableReference:
    """Annotation of a table argument.

    Args:
        step_keys: Function that returns the keys of the steps that wrote the tables, given the
            definition and the key of the step that reads the tables.
    """

    step_keys: Callable[[Workflow, str], StepKeys]


@dataclass(frozen=True)
class FileReference:
    """Annotation of an argument that receives raw files: a `Source` or a sequence of them.

    Args:
        patterns: Function that returns paths, folders and globs, given the definition and the
            step's key.
    """

    patterns: Callable[[Workflow, str], tuple[str, ...]]


@dataclass(frozen=True)
class SettingReference:
    """Annotation of an argument computed from the definition, such as the interval of a snapshot.

    Args:
        value: Function that returns the argument, given the definition and the step's key.
    """

    value: Callable[[Workflow, str], Any]


@dataclass(frozen=True)
class CacheReference:
    """Annotation of an argument that receives the path of a persistent cache folder."""


def _earlier_snapshots(workflow: Workflow, key: str) -> tuple[str, ...]:
    """Return the snapshots before a snapshot, or before the first snapshot of a pair."""
    return workflow.snapshot_names[: workflow.snapshot_names.index(split_pair_key(key)[0])]


def _snapshots_until(workflow: Workflow, key: str) -> dict[Any, str]:
    first = workflow.snapshot_names.index(split_pair_key(key)[0])
    return {name: name for name in workflow.snapshot_names[: first + 1]}


def _training_snapshots(workflow: Workflow, key: str) -> tuple[str, ...]:
    names = workflow.training_snapshots
    return names[: names.index(key)] if key in names else names


Same = Annotated[Table[SchemaType], TableReference(lambda _, key: key)]
"""Table of the snapshot or pair on which the stage runs."""
Collection = Annotated[Table[SchemaType], TableReference(lambda *_: "all")]
"""Table written by a stage that runs once per collection."""
Before = Annotated[Sequence[Table[SchemaType]], TableReference(_earlier_snapshots)]
"""Tables of all snapshots before the snapshot or pair on which the stage runs."""
Until = Annotated[Mapping[str, Table[SchemaType]], TableReference(_snapshots_until)]
"""Tables, by snapshot name, of the first snapshot of the pair and all snapshots before it."""
From = Annotated[Table[SchemaType], TableReference(lambda _, key: split_pair_key(key)[0])]
"""Table of the first snapshot of the pair."""
To = Annotated[Table[SchemaType], TableReference(lambda _, key: split_pair_key(key)[1])]
"""Table of the second snapshot of the pair."""
Training = Annotated[Sequence[Table[SchemaType]], TableReference(_training_snapshots)]
"""Tables of the training snapshots; in a training snapshot, only of the earlier ones."""
All = Annotated[
    Mapping[str, Table[SchemaType]],
    TableReference(lambda w, _: {name: name for name in w.snapshot_names}),
]
"""Tables of all snapshots, keyed by snapshot name."""
Pairs = Annotated[
    Mapping[tuple[str, str], Table[SchemaType]],
    TableReference(lambda w, _: {split_pair_key(key): key for key in Scope.PAIR.keys(w)}),
]
"""Tables of all pairs of consecutive snapshots, keyed by (earlier, later) snapshot name."""

SnapshotInterval = Annotated[Interval, SettingReference(lambda w, key: w.snapshot(key).interval)]
FromName = Annotated[str, SettingReference(lambda _, key: split_pair_key(key)[0])]
ToName = Annotated[str, SettingReference(lambda _, key: split_pair_key(key)[1])]
HasFrench = Annotated[bool, SettingReference(lambda w, _: FRENCH in w.collection.languages)]
"""Whether French is a language of the collection."""
Filters = Annotated[Sequence[VerdictFilter], SettingReference(lambda w, _: w.verdicts.filters)]
DocumentFilters = Annotated[
    Sequence[VerdictFilter],
    SettingReference(lambda w, _: tuple(f for f in w.verdicts.filters if f.kind == "document")),
]
CacheFolder = Annotated[Path, CacheReference()]


@dataclass(frozen=True)
class TableInput:
    """Table that a stage reads: argument name, schema, and steps that write the table."""

    argument: str
    schema: type[TableSchema]
    step_keys: Callable[[Workflow, str], StepKeys]

    @property
    def table_name(self) -> str:
        """Name of the table, as given by its schema."""
        return self.schema.table_name()

    def resolve_keys(self, workflow: Workflow, key: str) -> tuple[str, ...]:
        """Return the keys of the steps from which to read the table, in order."""
        keys = self.step_keys(workflow, key)
        if isinstance(keys, str):
            return (keys,)
        return tuple(keys.values()) if isinstance(keys, dict) else keys


@dataclass(frozen=True)
class FileInput:
    """Raw files that a stage reads, passed as a single `Source` or as a sequence."""

    argument: str
    patterns: Callable[[Workflow, str], tuple[str, ...]]
    single: bool = False


@dataclass(frozen=True)
class StageSignature:
    """Arguments of a stage's function, grouped by origin.

    Args:
        tables: Tables, in the order of the arguments.
        files: Raw files, in the order of the arguments.
        settings: Functions that compute an argument from the definition and the step's key, by
            argument name.
        section: Name of the definition's section passed as `params`; None if there is no such
            argument.
        cache: Argument that receives the cache folder; None if there is no such argument.
    """

    tables: tuple[TableInput, ...]
    files: tuple[FileInput, ...]
    settings: Mapping[str, Callable[[Workflow, str], Any]]
    section: str | None
    cache: str | None


PROVIDED = ("out", "limits", "progress", "return")
"""Type hints without a reference, for arguments that the runner passes and for the return value."""


def read_stage_signature(function: Callable[..., Any]) -> StageSignature:
    """Read the annotations of a stage's function, and group its arguments by origin.

    Raises:
        TypeError: An argument has no annotation from this module.
    """
    tables, files, cache = [], [], []
    settings: dict[str, Callable[[Workflow, str], Any]] = {}
    section = None
    for argument, hint in get_type_hints(function, include_extras=True).items():
        kind, mark = _unwrap_annotated(hint)
        match mark:
            case TableReference():
                tables.append(TableInput(argument, _find_schema(kind), mark.step_keys))
            case FileReference():
                files.append(FileInput(argument, mark.patterns, get_origin(kind) is None))
            case SettingReference():
                settings[argument] = mark.value
            case CacheReference():
                cache.append(argument)
            case None if argument == "params":
                section = _find_section_name(hint)
            case None if argument not in PROVIDED:
                raise TypeError(
                    f"{function.__qualname__}: argument {argument!r} is not a table, file or "
                    "setting; annotate it with a type from builder.runtime.references"
                )
    return StageSignature(
        tuple(tables), tuple(files), settings, section, cache[0] if cache else None
    )


def _unwrap_annotated(hint: Any) -> tuple[Any, Any]:
    """Return the type X and the metadata A of a hint such as `Annotated[X, A] | None`."""
    options = [hint, *(option for option in get_args(hint) if get_origin(hint) is not Annotated)]
    for option in options:
        if get_origin(option) is Annotated:
            kind, *marks = get_args(option)
            return kind, marks[0]
    return hint, None


def _find_schema(argument_type: Any) -> type[TableSchema]:
    """Return the schema S of a `Table[S]` argument, or of a sequence or mapping of `Table[S]`."""
    while get_origin(argument_type) is not Table:
        argument_type = get_args(argument_type)[-1]
    schema: type[TableSchema] = get_args(argument_type)[0]
    return schema


def _find_section_name(parameters_type: Any) -> str:
    """Return the name of the definition's section whose parameters have the given type."""
    for name, field in StageParameters.model_fields.items():
        if field.annotation is parameters_type:
            return name
    raise TypeError(f"{parameters_type!r} is not a section of builder.parameters.StageParameters")
