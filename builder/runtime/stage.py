"""What a stage is: a plain function whose signature names the tables that it joins.

`@stage` stands above the function and adds its name, version, scope and the contracts of the tables
that it writes; everything that it reads is in the annotations (see `references`). A stage can still
be called as the function that it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, update_wrapper
from typing import Generic, ParamSpec

import typing_extensions

from builder.definition.model import Workflow
from builder.runtime.ledger import Ledger
from builder.runtime.references import FileInput, Files, Signature, read_signature
from builder.runtime.scope import Scope
from schemas import INTERMEDIATE_TABLES, TABLES, Contract

Arguments = typing_extensions.ParamSpec("Arguments", default=...)
Declared = ParamSpec("Declared")

CONTRACTS: dict[str, type[Contract]] = {**TABLES, **INTERMEDIATE_TABLES}
"""Contract of every table of the pipeline, the unpublished ones included."""


@dataclass(eq=False)
class Stage(Generic[Arguments]):
    """One stage of the pipeline.

    Args:
        work: The function; see `Ledger` for what it returns.
        name: Name, also of its work folder.
        version: Raised when a change of the code alters the output.
        scope: How often it runs.
        contracts: Contracts of the tables that it writes, besides `rejects`.
        fingerprints: Files that affect the output but are not passed as arguments, by label.
        plugins: Function from a definition to the plug-ins used, by name, with package and version.
    """

    work: Callable[Arguments, Ledger]
    name: str
    version: str
    scope: Scope
    contracts: tuple[type[Contract], ...]
    fingerprints: Mapping[str, Files]
    plugins: Callable[[Workflow], Mapping[str, str]]
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        update_wrapper(self, self.work)
        self.signature = read_signature(self.work)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Ledger:
        """Run the function; the runner does so for every unit."""
        return self.work(*args, **kwargs)

    @cached_property
    def outputs(self) -> dict[str, type[Contract]]:
        """Contract of each table that the stage writes, by name."""
        return {contract.table_name(): contract for contract in self.contracts}

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the tables that the stage writes."""
        return tuple(self.outputs)

    @property
    def files(self) -> tuple[FileInput, ...]:
        """Raw files that affect the output, including those not passed as arguments."""
        hidden = (FileInput(label, mark.patterns) for label, mark in self.fingerprints.items())
        return (*self.signature.files, *hidden)


def _no_plugins(_: Workflow) -> Mapping[str, str]:
    return {}


def stage(
    name: str,
    *,
    version: str,
    scope: Scope = Scope.SNAPSHOT,
    writes: tuple[type[Contract], ...] = (),
    fingerprints: Mapping[str, Files] | None = None,
    plugins: Callable[[Workflow], Mapping[str, str]] = _no_plugins,
) -> Callable[[Callable[Declared, Ledger]], Stage[Declared]]:
    """Decorator that declares a function as a stage; the arguments are those of `Stage`."""

    def declare(work: Callable[Declared, Ledger]) -> Stage[Declared]:
        return Stage(work, name, version, scope, writes, fingerprints or {}, plugins)

    return declare
