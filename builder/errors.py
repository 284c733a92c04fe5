"""Every error a person can meet, as one tree.

```
LongEvalError                 anything expected; the command prints it without a traceback
|-- UsageError                wrong use or wrong definition file          exit 2
|   |-- DefinitionError       a workflow file that cannot be built
|   `-- MissingExtraError     a feature whose optional dependency is absent
`-- DataError                 the data is invalid, or a stage failed      exit 1
    |-- FormatError           a file is not what its format says
    |-- DiskError             a disk is full, or may not be written to
    |-- ContractError         a table does not keep its contract in `schemas/`
    `-- LedgerError           rows went missing: rows in != rows out + rejects
```
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

__all__ = [
    "ContractError",
    "DataError",
    "DefinitionError",
    "DiskError",
    "FormatError",
    "LedgerError",
    "LongEvalError",
    "MissingExtraError",
    "UsageError",
    "meant",
]


def meant(word: str, known: Iterable[str]) -> str:
    """The known word that a misspelt one is near to, as a question; else all known ones."""
    words = list(known)
    near = get_close_matches(word, words, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(words)}"


class LongEvalError(Exception):
    """An error whose message says what was expected, what was found, where, and what to do."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """The same message on the other side, when an error of a worker crosses to its caller."""
        return _again, (type(self), self.args, vars(self))


def _again(
    kind: type[LongEvalError], arguments: tuple[object, ...], fields: dict[str, object]
) -> LongEvalError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error


class UsageError(LongEvalError):
    """The command or function was used in a way that cannot work."""

    exit_code = 2


class DefinitionError(UsageError):
    """A workflow definition is wrong.

    Args:
        message: What is wrong and what to do.
        file: The definition file.
        key: The dotted TOML key at fault, when there is one.
    """

    def __init__(self, message: str, file: Path | str, key: str | None = None) -> None:
        self.file = str(file)
        self.key = key
        where = f"{file}: {key}" if key else str(file)
        super().__init__(f"{where}: {message}")


class MissingExtraError(UsageError):
    """An optional dependency is needed.

    Args:
        feature: What the user asked for.
        extra: The extra of this distribution that brings it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra [{extra}]; install it with: "
            f"pip install 'longeval-builder[{extra}]'"
        )


class DataError(LongEvalError):
    """The data is invalid or a stage failed on it."""


class DiskError(DataError):
    """A disk is full, or may not be written to."""


class FormatError(DataError):
    """A file is not what its format says.

    Args:
        message: What was expected and what was found.
        file: The file.
        line: The 1-based line, when known.
    """

    def __init__(self, message: str, file: Path | str, line: int | None = None) -> None:
        self.file = str(file)
        self.line = line
        where = f"{file}, line {line}" if line is not None else str(file)
        super().__init__(f"{where}: {message}")


class ContractError(DataError):
    """A table does not keep the contract that `schemas/` states for it."""


class LedgerError(DataError):
    """The rows of a stage do not add up: rows in != rows out + rejects."""
