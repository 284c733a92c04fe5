"""Plan a run: its units, their order and their dependencies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from builder.definition.model import Workflow
from builder.errors import UsageError, suggest
from builder.runtime.scope import Scope, pair
from builder.runtime.stage import Stage


@dataclass(frozen=True)
class Unit:
    """One stage on one snapshot, on one pair of snapshots, or on the collection."""

    stage: Stage
    key: str

    def __str__(self) -> str:
        return f"{self.stage.name} {self.key}"

    @property
    def name(self) -> tuple[str, str]:
        """Stage name and unit key, which locate the outputs in the store."""
        return self.stage.name, self.key


@dataclass(frozen=True)
class Pipeline:
    """Stages in the order in which data flows through them.

    Args:
        stages: The stages, producers before consumers.
        published: Names of the tables whose content hashes go into the manifest.
    """

    stages: tuple[Stage, ...]
    published: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that every table is written by one stage, which stands before its readers.

        Raises:
            TypeError: a table has no writer, two, or a later one.
        """
        written: set[str] = set()
        for stage in self.stages:
            if twice := written & stage.outputs.keys():
                raise TypeError(f"stage {stage.name}: {sorted(twice)} has another writer")
            written |= stage.outputs.keys()
            if absent := {read.table for read in stage.signature.tables} - written:
                raise TypeError(f"stage {stage.name}: no earlier stage writes {sorted(absent)}")

    @cached_property
    def producers(self) -> dict[str, Stage]:
        """The stage that writes each table."""
        return {table: stage for stage in self.stages for table in stage.outputs}

    def upstream(self, unit: Unit, workflow: Workflow) -> list[Unit]:
        """The distinct units whose tables a unit reads, in the order of its arguments."""
        found = [
            Unit(self.producers[read.table], key)
            for read in unit.stage.signature.tables
            for key in read.keys(workflow, unit.key)
        ]
        return list(dict.fromkeys(found))

    def plan(
        self, workflow: Workflow, snapshots: Sequence[str] = (), until: str | None = None
    ) -> list[Unit]:
        """The units of a run in the order of the pipeline.

        Args:
            workflow: The definition.
            snapshots: Snapshots to build, with their dependencies; empty: all.
            until: Name of the last stage; None: all stages.

        Raises:
            UsageError: `until` is not a stage.
        """
        last = len(self.stages) if until is None else self._index(until) + 1
        units = [Unit(s, key) for s in self.stages[:last] for key in s.scope.keys(workflow)]
        if not snapshots:
            return units
        wanted: set[Unit] = set()
        pending = [unit for unit in units if _concerns(unit, snapshots)]
        while pending:
            unit = pending.pop()
            if unit not in wanted:
                wanted.add(unit)
                pending += self.upstream(unit, workflow)
        return [unit for unit in units if unit in wanted]

    def _index(self, name: str) -> int:
        names = [stage.name for stage in self.stages]
        if name not in names:
            raise UsageError(f"--until: unknown stage {name!r}; {suggest(name, names)}")
        return names.index(name)


def _concerns(unit: Unit, snapshots: Sequence[str]) -> bool:
    """Whether a unit concerns the given snapshots only."""
    if unit.stage.scope is Scope.SNAPSHOT:
        return unit.key in snapshots
    return unit.stage.scope is Scope.PAIR and all(name in snapshots for name in pair(unit.key))
