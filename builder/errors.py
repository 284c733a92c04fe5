"""Exceptions raised for expected errors, and a helper for spelling suggestions.

```
LongEvalError                 any expected error; printed without a traceback
|-- UsageError                invalid argument, option or definition      exit 2
|   |-- DefinitionError       an invalid workflow definition
|   `-- MissingExtraError     an optional dependency is not installed
`-- DataError                 invalid data, or a failed stage             exit 1
    |-- FormatError           a file does not conform to its format
    |-- DiskError             a disk is full or read-only
    |-- SchemaError           a table does not match its schema in `schemas/`
    `-- LedgerError           rows in != rows out + rejects
```
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

__all__ = [
    "DataError",
    "DefinitionError",
    "DiskError",
    "FormatError",
    "LedgerError",
    "LongEvalError",
    "MissingExtraError",
    "SchemaError",
    "UsageError",
    "suggest",
]


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return a hint for a misspelled word: the most similar choice, or all if none is similar."""
    words = list(choices)
    matches = get_close_matches(word, words, n=1)
    return f"did you mean {matches[0]!r}?" if matches else f"expected one of {', '.join(words)}"


class LongEvalError(Exception):
    """Base class of all expected errors.

    The message states what was expected, what was found, where, and how to fix it.
    """

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its message, so that it can be raised in another process."""
        return _restore_error, (type(self), self.args, vars(self))


def _restore_error(
    error_type: type[LongEvalError], args: tuple[object, ...], attributes: dict[str, object]
) -> LongEvalError:
    error = error_type.__new__(error_type, *args)
    error.args = args
    vars(error).update(attributes)
    return error


class UsageError(LongEvalError):
    """A command or function was called with invalid arguments."""

    exit_code = 2


class DefinitionError(UsageError):
    """A workflow definition is invalid.

    Args:
        message: Description of the error and how to fix it.
        file: Path of the definition file.
        key: Dotted TOML key that caused the error; None if no single key caused it.
    """

    def __init__(self, message: str, file: Path | str, key: str | None = None) -> None:
        self.file = str(file)
        self.key = key
        where = f"{file}: {key}" if key else str(file)
        super().__init__(f"{where}: {message}")


class MissingExtraError(UsageError):
    """A feature needs an optional dependency that is not installed.

    Args:
        feature: Name of the requested feature, for the message.
        extra: Extra of this package that installs the dependency.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} requires the extra [{extra}]; install it with: "
            f"pip install 'longeval-builder[{extra}]'"
        )


class DataError(LongEvalError):
    """Input data is invalid, or a pipeline stage failed."""


class DiskError(DataError):
    """A disk is full or read-only."""


class FormatError(DataError):
    """A file does not conform to its format.

    Args:
        message: What was expected and what was found.
        file: Path of the file.
        line: 1-based line number, if known.
    """

    def __init__(self, message: str, file: Path | str, line: int | None = None) -> None:
        self.file = str(file)
        self.line = line
        where = f"{file}, line {line}" if line is not None else str(file)
        super().__init__(f"{where}: {message}")


class SchemaError(DataError):
    """A table does not match its schema in `schemas/`."""


class LedgerError(DataError):
    """The row counts of a stage do not add up: rows in != rows out + rejects."""
