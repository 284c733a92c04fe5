"""How the arguments of a stage are annotated, so that its signature says where they come from.

A table is named by its contract and found by its scope: `Same[Impressions]` is the table
`impressions` of the snapshot (or pair) that the stage runs on. `Files` and `Setting` mark arguments
that come from the definition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from builder.definition.model import Workflow
from builder.io.sources import Interval
from builder.io.tables import Table, TableContract
from builder.parameters import Parameters, VerdictFilter
from builder.runtime.scope import Scope, pair
from schemas import Contract

Units = str | tuple[str, ...] | dict[Any, str]
"""Keys of the units whose table is read: one unit, several, or several by name."""


@dataclass(frozen=True)
class Located:
    """Marks a table argument.

    Args:
        units: From the definition and the unit's key, the units whose table is read.
    """

    units: Callable[[Workflow, str], Units]


@dataclass(frozen=True)
class Files:
    """Marks an argument of raw files, a `Source` or a sequence of them.

    Args:
        patterns: Paths, folders and globs of the definition.
    """

    patterns: Callable[[Workflow, str], tuple[str, ...]]


@dataclass(frozen=True)
class Setting:
    """Marks an argument that is computed from the definition and the unit's key."""

    value: Callable[[Workflow, str], Any]


@dataclass(frozen=True)
class Cache:
    """Marks an argument that receives a folder kept between runs."""


def _before(workflow: Workflow, key: str) -> tuple[str, ...]:
    """Snapshots before a snapshot, or before the first snapshot of a pair."""
    return workflow.snapshot_names[: workflow.snapshot_names.index(pair(key)[0])]


def _until(workflow: Workflow, key: str) -> dict[Any, str]:
    first = workflow.snapshot_names.index(pair(key)[0])
    return {name: name for name in workflow.snapshot_names[: first + 1]}


def _training(workflow: Workflow, key: str) -> tuple[str, ...]:
    names = workflow.training_snapshots
    return names[: names.index(key)] if key in names else names


Same = Annotated[Table[TableContract], Located(lambda _, key: key)]
"""The table of the same snapshot, or of the same pair."""
Collection = Annotated[Table[TableContract], Located(lambda *_: "all")]
"""The table of a stage that runs once for the collection."""
Before = Annotated[Sequence[Table[TableContract]], Located(_before)]
"""The tables of the snapshots before this snapshot, or before this pair."""
Until = Annotated[Mapping[str, Table[TableContract]], Located(_until)]
"""The tables of the snapshots up to the first one of the pair, by snapshot."""
From = Annotated[Table[TableContract], Located(lambda _, key: pair(key)[0])]
"""The table of the first snapshot of the pair."""
To = Annotated[Table[TableContract], Located(lambda _, key: pair(key)[1])]
"""The table of the second snapshot of the pair."""
Training = Annotated[Sequence[Table[TableContract]], Located(_training)]
"""The tables of the training snapshots; of those before this one, if it is one of them."""
All = Annotated[
    Mapping[str, Table[TableContract]],
    Located(lambda w, _: {name: name for name in w.snapshot_names}),
]
"""The tables of all snapshots, by snapshot."""
Pairs = Annotated[
    Mapping[tuple[str, str], Table[TableContract]],
    Located(lambda w, _: {pair(key): key for key in Scope.PAIR.keys(w)}),
]
"""The tables of all pairs of consecutive snapshots, by (from, to)."""

SnapshotInterval = Annotated[Interval, Setting(lambda w, key: w.snapshot(key).interval)]
FromName = Annotated[str, Setting(lambda _, key: pair(key)[0])]
ToName = Annotated[str, Setting(lambda _, key: pair(key)[1])]
Filters = Annotated[Sequence[VerdictFilter], Setting(lambda w, _: w.verdicts.filters)]
DocumentFilters = Annotated[
    Sequence[VerdictFilter],
    Setting(lambda w, _: tuple(f for f in w.verdicts.filters if f.kind == "document")),
]
CacheFolder = Annotated[Path, Cache()]


@dataclass(frozen=True)
class TableInput:
    """A table that a stage reads: its argument, its contract, and the units it is read from."""

    argument: str
    contract: type[Contract]
    units: Callable[[Workflow, str], Units]

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.contract.table_name()

    def keys(self, workflow: Workflow, key: str) -> tuple[str, ...]:
        """Keys of the units whose table is read, in order."""
        found = self.units(workflow, key)
        if isinstance(found, str):
            return (found,)
        return tuple(found.values()) if isinstance(found, dict) else found


@dataclass(frozen=True)
class FileInput:
    """Raw files that a stage reads; `single`: the function takes one file, not a sequence."""

    argument: str
    patterns: Callable[[Workflow, str], tuple[str, ...]]
    single: bool = False


@dataclass(frozen=True)
class Signature:
    """The arguments of a stage's function, by origin.

    Args:
        tables: Tables, in the order of the arguments.
        files: Raw files, in the order of the arguments.
        settings: Functions that compute an argument from the definition and the unit's key.
        section: Section of the definition passed as `params`; None if there is no such argument.
        cache: Argument that receives the cache folder; None if there is no such argument.
    """

    tables: tuple[TableInput, ...]
    files: tuple[FileInput, ...]
    settings: Mapping[str, Callable[[Workflow, str], Any]]
    section: str | None
    cache: str | None


PROVIDED = ("out", "limits", "progress", "return")
"""Arguments that every stage is given."""


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the annotations of a stage's function.

    Raises:
        TypeError: an argument has no annotation of this module.
    """
    tables, files, cache = [], [], []
    settings: dict[str, Callable[[Workflow, str], Any]] = {}
    section = None
    for argument, hint in get_type_hints(function, include_extras=True).items():
        kind, mark = _marker_of(hint)
        match mark:
            case Located():
                tables.append(TableInput(argument, _contract(kind), mark.units))
            case Files():
                files.append(FileInput(argument, mark.patterns, get_origin(kind) is None))
            case Setting():
                settings[argument] = mark.value
            case Cache():
                cache.append(argument)
            case None if argument == "params":
                section = _section(hint)
            case None if argument not in PROVIDED:
                raise TypeError(
                    f"{function.__qualname__}: argument {argument!r} is neither a table, files, "
                    "a setting nor `params`; annotate it as in builder.runtime.references"
                )
    return Signature(tuple(tables), tuple(files), settings, section, cache[0] if cache else None)


def _marker_of(hint: Any) -> tuple[Any, Any]:
    """The bare type and the mark of an annotation; of `X | None` those of X."""
    options = [hint, *(option for option in get_args(hint) if get_origin(hint) is not Annotated)]
    for option in options:
        if get_origin(option) is Annotated:
            kind, *marks = get_args(option)
            return kind, marks[0]
    return hint, None


def _contract(kind: Any) -> type[Contract]:
    """The contract in `Table[C]`, or in a sequence or mapping of it."""
    while get_origin(kind) is not Table:
        kind = get_args(kind)[-1]
    contract: type[Contract] = get_args(kind)[0]
    return contract


def _section(kind: Any) -> str:
    """The section of the definition whose parameters have this type."""
    for name, field in Parameters.model_fields.items():
        if field.annotation is kind:
            return name
    raise TypeError(f"{kind!r} is not a section of builder.parameters.Parameters")
