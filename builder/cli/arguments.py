"""Rewrites arguments before they are parsed: options with several values, default commands."""

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


MEASURE = r"[A-Za-z]+(\([^()]*\))?(@\d+)?(\([^()]*\))?"
MEASURES = re.compile(rf"{MEASURE}(,{MEASURE})*", re.ASCII)
SPREAD: dict[str, Callable[[str], bool]] = {
    "--measures": lambda word: bool(MEASURES.fullmatch(word)) and not Path(word).exists(),
    "--over": lambda word: Path(word).is_file(),
}
"""Options that take several words, and whether a word after the first is still a value."""


def spread(arguments: list[str]) -> list[str]:
    """Repeat an option of `SPREAD` before each of its values.

    `--measures A B`, `--measures A,B` and `--measures=A,B` all become `--measures A --measures B`.

    Raises:
        UsageError: no value follows the option.
    """
    result: list[str] = []
    option, is_first = "", False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in SPREAD:
            option, is_first = name, not equals
            result += _repeated(name, value) if equals else []
            option = "" if equals else option
            continue
        if option and not argument.startswith("-") and (is_first or SPREAD[option](argument)):
            result += _repeated(option, argument)
        else:
            if is_first:
                break
            option = ""
            result.append(argument)
        is_first = False
    if is_first:
        raise UsageError(f"{option}: expected at least one value after it")
    return result


def _repeated(option: str, value: str) -> list[str]:
    """The option before each value; measures are separated by commas outside parentheses."""
    words = re.split(r",(?![^(]*\))", value) if option == "--measures" else [value]
    return [part for word in words if word for part in (option, word)]
