"""Formats the help of `longeval` and its groups: commands by section, with full summaries."""

from itertools import chain
from typing import Any

from typer.core import TyperGroup

SECTIONS: dict[str, tuple[str, ...]] = {
    "Get started": ("demo", "doctor", "new", "simulate"),
    "Select queries and collect judgements": (
        *("topics", "queries", "clicks", "pool", "assess", "translate"),
    ),
    "Build and validate": ("build", "validate", "schema"),
    "Publish": ("export", "import", "diff"),
    "Analyze changes": ("explore", "drift", "changes", "attribute", "sanity"),
    "Create and evaluate runs": (
        *("baseline", "dense", "boost", "fuse", "rerank", "runs", "evaluate"),
        *("reproducibility", "trend"),
    ),
    "Other tasks": ("filtering", "summarization", "classification"),
}
"""Top-level commands by section of the help; a test checks that no command is missing."""
MAX_SUMMARY_CHARS = 200
"""Maximum length of the summary of a command, in characters."""


class CommandGroup(TyperGroup):
    """Command group whose help prints the summary of each command in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list of all commands and their summaries."""
        self.write_section(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_section(self, ctx: Any, formatter: Any, title: str, command_names: list[str]) -> None:
        """Write a titled list of commands and their summaries."""
        width = max(map(len, self.list_commands(ctx)))
        commands = {name: self.get_command(ctx, name) for name in command_names}
        rows = [
            (name.ljust(width), command.get_short_help_str(limit=MAX_SUMMARY_CHARS))
            for name, command in commands.items()
            if command is not None
        ]
        with formatter.section(title):
            formatter.write_dl(rows)


class SectionedCommandGroup(CommandGroup):
    """Command group whose help lists the commands by section."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - signature of the base class
        """Return the names of all commands, in the order of the sections."""
        return list(chain.from_iterable(SECTIONS.values()))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every section with its commands and their summaries."""
        for title, names in SECTIONS.items():
            self.write_section(ctx, formatter, title, list(names))
