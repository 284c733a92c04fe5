"""Options that many verbs have."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from builder.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from builder.runtime.limits import Limits
    from builder.runtime.progress import Progress


Values = TypeVar("Values", bound="BaseModel")
MOST = 2**31 - 1
"""Rows to show or to keep: as many as any table has."""
MOST_THREADS = 1024
"""More than a machine has; engines break off where they cannot have as many."""


class PlainFormat(StrEnum):
    """Text for people, JSON for machines."""

    TEXT = "text"
    JSON = "json"


Format = Annotated[PlainFormat, typer.Option("--format", help="Output format.")]
Memory = Annotated[str, typer.Option(help="What may be held in memory.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Definition = Annotated[
    Path | None,
    typer.Option(help="A TOML file that says how it is read."),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_THREADS, help="Worker threads; default: all cores."),
]


def from_options(kind: type[Values], **given: object) -> Values:
    """Parameters of the options that a person gave.

    Raises:
        UsageError: one is out of its bounds; says which option it is.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise UsageError(f"{option}: {first['msg']}, found {first['input']}") from None


@contextmanager
def working_limits(memory: str) -> "Iterator[Limits]":
    """Yield limits with a temporary scratch folder that is deleted on exit."""
    from builder.runtime.limits import Limits, parse_memory

    with tempfile.TemporaryDirectory(prefix="longeval-") as scratch:
        yield Limits(Path(scratch), memory=parse_memory(memory))


def progress_bar(quiet: bool) -> "Progress":
    """Progress on the terminal, or none."""
    from builder.runtime.progress import SilentProgress, TerminalProgress

    return SilentProgress() if quiet else TerminalProgress()
