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
    found = sorted(_options(typer.main.get_command(app), ""))
    assert found == GOLDEN.read_text("utf-8").splitlines()


def _options(command: object, path: str) -> Iterator[str]:
    """One line per option that has a default or limits."""
    for name, part in getattr(command, "commands", {}).items():
        yield from _options(part, f"{path}{name} ")
    for option in getattr(command, "params", []):
        default = getattr(option.default, "value", option.default)
        limits = [getattr(option.type, bound, None) for bound in ("min", "max")]
        words = [] if default is None or option.required else [f"default {default}"]
        words += ["required"] if option.required else []
        words += [
            f"{word} {limit}"
            for word, limit in zip(("least", "most"), limits, strict=True)
            if limit is not None
        ]
        if words:
            yield f"{path}{option.opts[0]}: {', '.join(words)}"
