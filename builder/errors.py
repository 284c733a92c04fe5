"""All exceptions for users, as one tree.

```
LongEvalError                 any expected error; printed without a traceback
|-- UsageError                wrong usage or wrong definition             exit 2
|   |-- DefinitionError       a definition that cannot be built
|   `-- MissingExtraError     a feature whose extra is not installed
`-- DataError                 invalid data, or a failed stage             exit 1
    |-- FormatError           a file violates its format
    |-- DiskError             a disk is full or read-only
    |-- ContractError         a table violates its contract in `schemas/`
    `-- LedgerError           rows in != rows out + rejects
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
    """Suggestion for a misspelt word: the nearest known word, else all known words."""
    words = list(known)
    near = get_close_matches(word, words, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(words)}"


class LongEvalError(Exception):
    """An error whose message says what was expected, what was found, where, and what to do."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the message when a worker's exception is pickled."""
        return _again, (type(self), self.args, vars(self))


def _again(
    kind: type[LongEvalError], arguments: tuple[object, ...], fields: dict[str, object]
) -> LongEvalError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error


class UsageError(LongEvalError):
    """Wrong usage of a command or function."""

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
        feature: The feature that was asked for.
        extra: The extra of this distribution that provides it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra [{extra}]; install it with: "
            f"pip install 'longeval-builder[{extra}]'"
        )


class DataError(LongEvalError):
    """The data is invalid or a stage failed on it."""


class DiskError(DataError):
    """A disk is full or read-only."""


class FormatError(DataError):
    """A file violates its format.

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
    """A table violates its contract in `schemas/`."""


class LedgerError(DataError):
    """Rows in != rows out + rejects."""
