"""Preprocesses command-line arguments: expands lists of values and inserts default commands.

`--measures nDCG P@10`, `--measures nDCG,P@10` and `--measures=nDCG,P@10` become
`--measures nDCG --measures P@10`; `--over a.gz b.gz` is expanded in the same way.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from builder.cli.help import CommandGroup
from builder.errors import UsageError


class DefaultCommandGroup(CommandGroup):
    """Command group that runs a default command if the arguments name no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command unless the first argument is a command or a help option.

        A misspelt command is left as it is, so that the error suggests the correct spelling.
        """
        if args and not (
            args[0] in {*self.commands, *ctx.help_option_names} or self._is_misspelt(args[0])
        ):
            args = [self.default_command(args), *args]
        return super().parse_args(ctx, args)

    def default_command(self, args: list[str]) -> str:  # noqa: ARG002 - subclasses read it
        """Return the name of the default command, which is the first one unless overridden."""
        return next(iter(self.commands))

    def _is_misspelt(self, argument: str) -> bool:
        return not Path(argument).exists() and bool(get_close_matches(argument, self.commands))


_MEASURE = re.compile(r"(ir_measures:)?[A-Za-z]\w*(\([^()/]*\))?(@[\d.]+)?(\([^()/]*\))?")
_COMMA = re.compile(r",(?![^()]*\))")
"""Matches a comma outside parentheses, and so not the comma in `nDCG(rel=1,max=4)`."""


def _is_measure_list(argument: str) -> bool:
    names = _COMMA.split(argument)
    return not Path(argument).exists() and all(map(_MEASURE.fullmatch, names))


VARIADIC_OPTIONS: dict[str, Callable[[str], bool]] = {
    "--measures": _is_measure_list,
    "--over": lambda argument: Path(argument).is_file(),
}
"""Options that take one or more values, each with a function that recognizes further values."""

COMMA_SEPARATED_OPTIONS = {
    *("--measures", "--split", "--cutoff", "--granularity", "--snapshot"),
    *("--select", "--ignore", "--severity", "--assessor", "--language", "--model"),
}
"""Repeatable options that also accept comma-separated values."""


def expand_arguments(arguments: list[str]) -> list[str]:
    """Repeat an option before each of its values: `--over a b` becomes `--over a --over b`.

    Raises:
        UsageError: An option in `VARIADIC_OPTIONS` has no value.
    """
    result: list[str] = []
    option, needs_value = "", False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("--"):
            if needs_value:
                break
            if equals and name in COMMA_SEPARATED_OPTIONS | VARIADIC_OPTIONS.keys():
                result += _repeat_option(name, value)
                option = ""
                continue
            option, needs_value = argument, argument in VARIADIC_OPTIONS
            result += [] if needs_value else [argument]
            continue
        if option in VARIADIC_OPTIONS and (needs_value or VARIADIC_OPTIONS[option](argument)):
            result += _repeat_option(option, argument)
        elif option in COMMA_SEPARATED_OPTIONS and result and result[-1] == option:
            result[-1:] = _repeat_option(option, argument)
            option = ""
        else:
            option = ""
            result.append(argument)
        needs_value = False
    if needs_value:
        raise UsageError(f"{option}: expected at least one value, found none")
    return result


def _repeat_option(option: str, argument: str) -> list[str]:
    """Split an argument at commas and return the values, each preceded by the option."""
    return [part for value in _split_values(option, argument) for part in (option, value)]


def _split_values(option: str, argument: str) -> list[str]:
    """Split an argument at commas.

    An existing path, or the argument of an option that takes no list, is returned whole.
    """
    if option not in COMMA_SEPARATED_OPTIONS or Path(argument).exists():
        return [argument]
    return [value for value in _COMMA.split(argument) if value] or [argument]
