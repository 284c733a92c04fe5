"""Arguments before the parser sees them: options of several words, commands that may be left out.

`--measures nDCG P@10` becomes `--measures nDCG --measures P@10`, and `--over a.gz b.gz` likewise.
"""

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


SPREAD: dict[str, Callable[[str], bool]] = {
    "--measures": lambda word: not Path(word).exists(),
    "--over": lambda word: Path(word).is_file(),
}
"""Options with several values, and which words after the first still belong to them."""


def spread(arguments: list[str]) -> list[str]:
    """Repeat such an option before each of its words; a comma also separates words.

    Raises:
        UsageError: nothing follows the option.
    """
    result: list[str] = []
    option = ""
    first = False
    for argument in arguments:
        if argument in SPREAD:
            option, first = argument, True
            continue
        if option and not argument.startswith("-") and (first or SPREAD[option](argument)):
            words = argument.split(",") if option == "--measures" else [argument]
            result += [part for word in words for part in (option, word)]
        else:
            option = ""
            result.append(argument)
        first = False
    if arguments and arguments[-1] in SPREAD:
        raise UsageError(f"{arguments[-1]}: expected at least one value after it")
    return result
