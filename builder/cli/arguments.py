"""Rewrites arguments before they are parsed: options with several values, default commands.

`--measures nDCG P@10`, `--measures nDCG,P@10` and `--measures=nDCG,P@10` become
`--measures nDCG --measures P@10`, and `--over a.gz b.gz` likewise.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from builder.errors import UsageError


class DefaultGroup(TyperGroup):
    """A group with a default command, its first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command unless the first argument is a command or asks for help."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [next(iter(self.commands)), *args]
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
    *("--measures", "--split", "--cutoff", "--granularity", "--snapshot"),
    *("--select", "--ignore", "--severity", "--assessor", "--language", "--model"),
}
"""Options that may be repeated, or have several values separated by commas."""


def spread(arguments: list[str]) -> list[str]:
    """Repeat options before each of their values.

    Raises:
        UsageError: nothing follows an option of several words.
    """
    result: list[str] = []
    option, is_first = "", False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("--"):
            if is_first:
                break
            if equals and name in LISTS | SPREAD.keys():
                result += _repeated(name, value)
                option = ""
                continue
            option, is_first = argument, argument in SPREAD
            result += [] if is_first else [argument]
            continue
        if option in SPREAD and (is_first or SPREAD[option](argument)):
            result += _repeated(option, argument)
        elif option in LISTS and result and result[-1] == option:
            result[-1:] = _repeated(option, argument)
            option = ""
        else:
            option = ""
            result.append(argument)
        is_first = False
    if is_first:
        raise UsageError(f"{option}: expected at least one value after it")
    return result


def _repeated(option: str, word: str) -> list[str]:
    """The option before each value of a word."""
    return [part for value in _values(option, word) for part in (option, value)]


def _values(option: str, word: str) -> list[str]:
    """The values of a word; a path with a comma is one value."""
    if option not in LISTS or Path(word).exists():
        return [word]
    return [value for value in _COMMA.split(word) if value] or [word]
