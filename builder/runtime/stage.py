"""What a stage is: a plain function, the tables it reads and writes, its scope and version.

The words in which `pipeline.py` is written. A stage reads tables by name; where a table is found
follows from the scopes: of the same snapshot, of both sides of a pair, of every snapshot.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any

import schemas
from builder.definition.model import Workflow
from builder.runtime.ledger import Ledger
from schemas import Contract

CONTRACTS: dict[str, type[Contract]] = {
    **schemas.TABLES,
    "gathered": schemas.Documents,
    "page_verdicts": schemas.Verdicts,
    "kept_candidates": schemas.Candidates,
    "graded_pairs": schemas.Qrels,
    "graded_queries": schemas.JudgedQueries,
    "split_queries": schemas.Queries,
}
"""Contract of every table of the pipeline, the unpublished ones included."""

Places = str | tuple[str, ...] | dict[Any, str]
"""Where a table is read: one unit, several, or several by name."""


class Scope(Enum):
    """How often a stage runs."""

    SNAPSHOT = "snapshot"
    PAIR = "pair"
    COLLECTION = "collection"

    def keys(self, workflow: Workflow) -> tuple[str, ...]:
        """The units of this scope: snapshot names, pair names, or `all`."""
        names = workflow.names
        if self is Scope.SNAPSHOT:
            return names
        if self is Scope.PAIR:
            return tuple(f"{a}_{b}" for a, b in pairwise(names))
        return ("all",)


def pair(key: str) -> tuple[str, str]:
    """The two snapshots of a pair's key `2022-06_2022-09`."""
    first, second = key.split("_")
    return first, second


@dataclass(frozen=True)
class Read:
    """A table that a stage reads.

    Args:
        argument: Name of the stage function's argument.
        table: Name of the table.
        places: From the workflow and the unit's key, the units whose table is read.
    """

    argument: str
    table: str
    places: Callable[[Workflow, str], Places]


@dataclass(frozen=True)
class Raw:
    """Raw files that a stage reads.

    Args:
        argument: Name of the stage function's argument.
        patterns: Paths, folders and globs of the definition.
        single: Whether the function takes one file instead of a sequence.
        hidden: Whether the files only count for the identity; a parameter names them.
    """

    argument: str
    patterns: Callable[[Workflow, str], tuple[str, ...]]
    single: bool = False
    hidden: bool = False


def raw(
    argument: str,
    patterns: Callable[[Workflow, str], tuple[str, ...]],
    *,
    single: bool = False,
    hidden: bool = False,
) -> Raw:
    """Raw files of the definition."""
    return Raw(argument, patterns, single, hidden)


def same(table: str, argument: str | None = None) -> Read:
    """The table of the same snapshot, or of the same pair."""
    return Read(argument or table, table, lambda _, key: key)


def one(table: str) -> Read:
    """The one table of the collection."""
    return Read(table, table, lambda *_: "all")


def sides(table: str) -> tuple[Read, Read]:
    """The tables of both snapshots of a pair, as `<table>_from` and `<table>_to`."""
    return (
        Read(f"{table}_from", table, lambda _, key: pair(key)[0]),
        Read(f"{table}_to", table, lambda _, key: pair(key)[1]),
    )


def before(argument: str, table: str) -> Read:
    """The tables of the snapshots before a pair."""
    return Read(argument, table, lambda w, key: w.names[: w.names.index(pair(key)[0])])


def until(argument: str, table: str) -> Read:
    """The tables of the snapshots up to the earlier one of a pair, by name."""
    return Read(
        argument,
        table,
        lambda w, key: {name: name for name in w.names[: w.names.index(pair(key)[0]) + 1]},
    )


def earlier(argument: str, table: str) -> Read:
    """The tables of the snapshots before a snapshot."""
    return Read(argument, table, lambda w, key: w.names[: w.names.index(key)])


def training(argument: str, table: str) -> Read:
    """The tables of the training snapshots; for one of them, of those before it."""

    def places(workflow: Workflow, key: str) -> tuple[str, ...]:
        names = workflow.training
        return names[: names.index(key)] if key in names else names

    return Read(argument, table, places)


def each(table: str) -> Read:
    """The tables of all snapshots, by name."""
    return Read(table, table, lambda w, _: {name: name for name in w.names})


def pairs(table: str) -> Read:
    """The tables of all pairs of consecutive snapshots, by (from, to)."""
    return Read(table, table, lambda w, _: {pair(key): key for key in Scope.PAIR.keys(w)})


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    Args:
        name: Name, also of its work folder.
        version: Raised when its code changes what it writes.
        scope: How often it runs.
        work: The function; see `Ledger` for what it returns.
        reads: Tables and raw files.
        writes: Names of the tables it writes, beside `rejects`.
        section: Section of the definition with its parameters.
        context: Further keyword arguments from the workflow and the unit's key.
        keeps: Argument that receives a folder which outlives the run, such as a memory.
        plugins: Plug-ins that it uses, by name, with package and version.
    """

    name: str
    version: str
    scope: Scope
    work: Callable[..., Ledger]
    reads: tuple[Read | Raw, ...]
    writes: tuple[str, ...]
    section: str | None = None
    context: Callable[[Workflow, str], Mapping[str, Any]] = field(default=lambda *_: {})
    keeps: str | None = None
    plugins: Callable[[Workflow], Mapping[str, str]] = field(default=lambda _: {})

    @property
    def reads_snapshots(self) -> bool:
        """Whether the stage reads any table, and not raw files alone."""
        return any(isinstance(read, Read) for read in self.reads)
