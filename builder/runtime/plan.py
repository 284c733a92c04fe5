"""Plans a run: the steps to run, their order and their dependencies.

A step is a stage applied to a snapshot, a pair of snapshots or the collection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from builder.definition.model import Workflow
from builder.errors import UsageError, suggest
from builder.runtime.scope import Scope, split_pair_key
from builder.runtime.stage import Stage


@dataclass(frozen=True)
class Step:
    """Step of a build: a stage applied to a snapshot, a pair of snapshots, or the collection."""

    stage: Stage
    key: str

    def __str__(self) -> str:
        return f"{self.stage.name} {self.key}"

    @property
    def store_key(self) -> tuple[str, str]:
        """Key of the step in the store, a pair of the stage name and the key of the step."""
        return self.stage.name, self.key


@dataclass(frozen=True)
class Pipeline:
    """Stages of a pipeline in order of execution.

    Args:
        stages: Stages, with producers of tables before their consumers.
        published: Names of the tables whose content hashes go into the manifest.
    """

    stages: tuple[Stage, ...]
    published: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that every table is written by a single stage that precedes its readers.

        Raises:
            TypeError: A table has no writer or several writers, or is read before it is written.
        """
        written: set[str] = set()
        for stage in self.stages:
            if duplicates := written & stage.output_schemas.keys():
                raise TypeError(
                    f"stage {stage.name} writes {sorted(duplicates)}, which an earlier stage writes"
                )
            written |= stage.output_schemas.keys()
            if missing := {read.table_name for read in stage.signature.tables} - written:
                raise TypeError(
                    f"stage {stage.name} reads {sorted(missing)}, which no earlier stage writes"
                )

    @cached_property
    def producer_by_table(self) -> dict[str, Stage]:
        """Stage that writes each table, by table name."""
        return {table: stage for stage in self.stages for table in stage.output_schemas}

    def upstream_steps(self, step: Step, workflow: Workflow) -> list[Step]:
        """Return the steps that write the input tables of a step."""
        steps = [
            Step(self.producer_by_table[read.table_name], key)
            for read in step.stage.signature.tables
            for key in read.resolve_keys(workflow, step.key)
        ]
        return list(dict.fromkeys(steps))

    def plan_steps(
        self, workflow: Workflow, snapshots: Sequence[str] = (), until: str | None = None
    ) -> list[Step]:
        """Return the steps of a run in the order of the pipeline.

        Args:
            workflow: Definition of the collection.
            snapshots: Snapshots to build, including their dependencies; empty for all.
            until: Name of the last stage; None for all stages.

        Raises:
            UsageError: `until` is not a stage, or the given snapshots have no step of that stage.
        """
        last = len(self.stages) if until is None else self._stage_index(until) + 1
        steps = [Step(s, key) for s in self.stages[:last] for key in s.scope.keys(workflow)]
        if not snapshots:
            return steps
        required: set[Step] = set()
        pending = [step for step in steps if _belongs_to_snapshots(step, snapshots)]
        if until is not None and until not in {step.stage.name for step in pending}:
            raise UsageError(
                f"--until: stage {until!r} cannot run for only {' and '.join(snapshots)}; omit "
                "--snapshot, or repeat it for both snapshots of a pair"
            )
        while pending:
            step = pending.pop()
            if step not in required:
                required.add(step)
                pending += self.upstream_steps(step, workflow)
        return [step for step in steps if step in required]

    def _stage_index(self, name: str) -> int:
        names = [stage.name for stage in self.stages]
        if name not in names:
            raise UsageError(f"--until: unknown stage {name!r}; {suggest(name, names)}")
        return names.index(name)


def _belongs_to_snapshots(step: Step, snapshots: Sequence[str]) -> bool:
    """Whether a step runs on one of the given snapshots, or on a pair of two given snapshots."""
    if step.stage.scope is Scope.SNAPSHOT:
        return step.key in snapshots
    return step.stage.scope is Scope.PAIR and all(
        name in snapshots for name in split_pair_key(step.key)
    )
