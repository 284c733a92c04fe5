"""Stages: functions with declarations of the tables and files that they read and write.

The decorator `@stage` declares the name, the version, the scope and the schemas of the tables that
a stage writes; the annotations of its arguments declare what it reads (see `references`). A stage
can still be called like a function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, update_wrapper
from typing import Generic, ParamSpec

import typing_extensions

from builder.definition.model import Workflow
from builder.runtime.ledger import RowLedger
from builder.runtime.references import (
    FileInput,
    FileReference,
    StageSignature,
    read_stage_signature,
)
from builder.runtime.scope import Scope
from schemas import INTERMEDIATE_TABLES, TABLES, TableSchema

Arguments = typing_extensions.ParamSpec("Arguments", default=...)
Declared = ParamSpec("Declared")

SCHEMAS: dict[str, type[TableSchema]] = {**TABLES, **INTERMEDIATE_TABLES}
"""Schema of every table of the pipeline, including unpublished tables."""


@dataclass(eq=False)
class Stage(Generic[Arguments]):
    """Stage of the pipeline: a function with its declared inputs and outputs.

    Args:
        function: Function of the stage, which returns the `RowLedger` of its row counts.
        name: Name of the stage and of its work folder.
        version: Version of the code; must change whenever the output may change.
        scope: Whether the stage runs per snapshot, per pair of snapshots, or per collection.
        schemas: Schemas of the tables that the stage writes, except `rejects`.
        fingerprinted_files: Files that affect the output but are not passed as arguments, by the
            label under which their hashes are recorded.
        plugins: Function that returns the package and version of each plug-in that a definition
            uses, by plug-in name.
    """

    function: Callable[Arguments, RowLedger]
    name: str
    version: str
    scope: Scope
    schemas: tuple[type[TableSchema], ...]
    fingerprinted_files: Mapping[str, FileReference]
    plugins: Callable[[Workflow], Mapping[str, str]]
    signature: StageSignature = field(init=False)

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)
        self.signature = read_stage_signature(self.function)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> RowLedger:
        """Call the function of the stage, and return its ledger of row counts."""
        return self.function(*args, **kwargs)

    @cached_property
    def output_schemas(self) -> dict[str, type[TableSchema]]:
        """Schema of each table that the stage writes, by table name."""
        return {schema.table_name(): schema for schema in self.schemas}

    @property
    def output_tables(self) -> tuple[str, ...]:
        """Names of the tables that the stage writes."""
        return tuple(self.output_schemas)

    @property
    def raw_files(self) -> tuple[FileInput, ...]:
        """Raw files that affect the stage's outputs, including files that are not arguments."""
        hidden = (
            FileInput(label, mark.patterns) for label, mark in self.fingerprinted_files.items()
        )
        return (*self.signature.files, *hidden)


def _no_plugins(_: Workflow) -> Mapping[str, str]:
    return {}


def stage(
    name: str,
    *,
    version: str,
    scope: Scope = Scope.SNAPSHOT,
    writes: tuple[type[TableSchema], ...] = (),
    fingerprinted_files: Mapping[str, FileReference] | None = None,
    plugins: Callable[[Workflow], Mapping[str, str]] = _no_plugins,
) -> Callable[[Callable[Declared, RowLedger]], Stage[Declared]]:
    """Return a decorator that turns a function into a stage.

    The argument `writes` becomes `Stage.schemas`; see `Stage` for the other arguments.
    """

    def declare_stage(function: Callable[Declared, RowLedger]) -> Stage[Declared]:
        return Stage(function, name, version, scope, writes, fingerprinted_files or {}, plugins)

    return declare_stage
