"""Arguments and options that several commands share."""

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

    from builder.runtime.limits import ResourceLimits
    from builder.runtime.progress import Progress


ModelT = TypeVar("ModelT", bound="BaseModel")
MAX_ROWS = 2**31 - 1
"""Maximum value of options that limit the number of rows."""
MAX_THREADS = 1024
"""Maximum value of --threads; libraries abort if they cannot start that many threads."""


class OutputFormat(StrEnum):
    """Output format of most commands."""

    TEXT = "text"
    JSON = "json"


CollectionFolder = Annotated[
    Path,
    typer.Argument(
        help="Version folder, such as mine/1.0.0, or collection folder, such as mine (its highest "
        "version is used)."
    ),
]
RunPaths = Annotated[
    list[Path],
    typer.Argument(
        help="TREC run files, folders of run files, or zip files of run files. The name of the "
        "file or folder must contain the snapshot name."
    ),
]
ScoredRuns = Annotated[
    list[Path],
    typer.Argument(
        help="TREC run files, folders of run files, zip files of run files, or score tables "
        "(`trec_eval -q`, CSV). The name of the file or folder must contain the snapshot name."
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(help="Measures such as P@10; repeatable or comma-separated. Default: nDCG@10."),
]
Splits = Annotated[
    list[str] | None,
    typer.Option(
        "--split",
        help="Evaluate only queries of this split, such as test; repeatable or comma-separated.",
    ),
]
EvaluationDepth = Annotated[
    int, typer.Option(min=1, help="Maximum number of documents evaluated per query.")
]
RunDepth = Annotated[
    int, typer.Option(min=1, help="Maximum number of documents per query in the run.")
]
Pivot = Annotated[
    str | None,
    typer.Option(help="Name of the pivot, the system with which all other systems are compared."),
]
RboPersistence = Annotated[float, typer.Option(help="Persistence p of rank-biased overlap (RBO).")]
Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]
Memory = Annotated[str, typer.Option(help="Memory limit, such as 4GiB.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]
DefinitionFile = Annotated[
    Path | None,
    typer.Option(
        "--definition",
        help="TOML file whose section `[crawl]` (for crawls) or `[log]` (for logs) describes the "
        "input format.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, max=MAX_THREADS, help="Number of worker threads; default: all cores."),
]


def parse_options(parameter_class: type[ModelT], **options: object) -> ModelT:
    """Validate command-line options and return them as an instance of a parameter class.

    Raises:
        UsageError: An option has an invalid value; the message names the option.
    """
    from pydantic import ValidationError

    try:
        return parameter_class.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise UsageError(f"{option}: {first['msg']}, found {first['input']}") from None


@contextmanager
def limits_with_temporary_folder(memory: str) -> "Iterator[ResourceLimits]":
    """Context manager that yields resource limits with a temporary folder, deleted on exit.

    Args:
        memory: Memory limit, such as `4GiB`.
    """
    from builder.runtime.limits import ResourceLimits, parse_memory

    with tempfile.TemporaryDirectory(prefix="longeval-") as scratch:
        yield ResourceLimits(Path(scratch), memory=parse_memory(memory))


def create_progress_bar(quiet: bool) -> "Progress":
    """Return a progress bar for the terminal, or a silent one if `quiet` is true."""
    from builder.runtime.progress import NoProgress, ProgressBar

    return NoProgress() if quiet else ProgressBar()
