"""Arguments before the parser sees them: options of several values, commands that may be left out.

`--measures nDCG P@10`, `--measures nDCG,P@10` and `--measures=nDCG,P@10` become
`--measures nDCG --measures P@10`, and `--over a.gz b.gz` likewise.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from builder.errors import UsageError


class DefaultGroup(TyperGroup):
    """A group whose command `run` is meant where no other command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before arguments that begin with no command of the group."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


_MEASURE = re.compile(r"(ir_measures:)?[A-Za-z]\w*(\([^()/]*\))?(@[\d.]+)?(\([^()/]*\))?")
_COMMA = re.compile(r",(?![^()]*\))")
"""A comma that is not within parentheses, as in `nDCG(rel=1,max=4)`."""


def _are_measures(word: str) -> bool:
    names = _COMMA.split(word)
    return not Path(word).exists() and all(map(_MEASURE.fullmatch, names))


SPREAD: dict[str, Callable[[str], bool]] = {
    "--measures": _are_measures,
    "--over": lambda word: Path(word).is_file(),
}
"""Options that may be followed by several words, and which words after the first are values."""

LISTS = {
    *("--measures", "--split", "--cutoff", "--granularities", "--snapshot"),
    *("--select", "--ignore", "--severity", "--assessor", "--language", "--model"),
}
"""Options that may be repeated, or have several values separated by commas."""


def spread(arguments: list[str]) -> list[str]:
    """Repeat options before each of their values.

    Raises:
        UsageError: nothing follows an option of several words.
    """
    result: list[str] = []
    option, first = "", False
    for argument in _without_equals(arguments):
        if argument.startswith("--"):
            if first:
                break
            option, first = argument, argument in SPREAD
            if not first:
                result.append(argument)
            continue
        if option in SPREAD and (first or SPREAD[option](argument)):
            result += [part for value in _values(option, argument) for part in (option, value)]
        elif option in LISTS and result and result[-1] == option:
            values = list(_values(option, argument))
            result += [values[0], *(p for value in values[1:] for p in (option, value))]
            option = ""
        else:
            option = ""
            result.append(argument)
        first = False
    if first:
        raise UsageError(f"{option}: expected at least one value after it")
    return result


def _without_equals(arguments: list[str]) -> Iterator[str]:
    """The arguments, with `--option=value` in two for options of several values."""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        yield from (option, value) if equals and option in LISTS | SPREAD.keys() else (argument,)


def _values(option: str, word: str) -> list[str]:
    """The values of a word; a path with a comma is one value."""
    if option not in LISTS or Path(word).exists():
        return [word]
    return [value for value in _COMMA.split(word) if value] or [word]
