"""Options that take no value from the user, and the numbers that they accept.

`golden/defaults.txt` lists the default and the limits of every option of every command. Whoever
changes one changes the results of all who do not give it.
"""

from collections.abc import Iterator
from pathlib import Path

import typer

from builder.cli import app

GOLDEN = Path(__file__).parent / "golden" / "defaults.txt"


def test_options_have_the_documented_defaults_and_limits() -> None:
    assert sorted(_options(typer.main.get_command(app), "")) == GOLDEN.read_text().splitlines()


def _options(command: object, path: str) -> Iterator[str]:
    """One line per option or argument that is required or has a default or limits."""
    for name, part in getattr(command, "commands", {}).items():
        yield from _options(part, f"{path}{name} ")
    for option in getattr(command, "params", []):
        limits = [getattr(option, bound, None) for bound in ("min", "max")]
        default = None if option.required else getattr(option.default, "value", option.default)
        values = {"default": default, "least": limits[0], "most": limits[1]}
        words = ["required"] if option.required else []
        words += [f"{word} {value}" for word, value in values.items() if value is not None]
        if words:
            yield f"{path}{option.opts[0]}: {', '.join(words)}"
