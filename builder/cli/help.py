"""The list of verbs that `longeval --help` prints: in the order of the work, nothing cut off."""

from itertools import chain
from typing import Any

from typer.core import TyperGroup

SECTIONS: dict[str, tuple[str, ...]] = {
    "Begin": ("demo", "doctor", "new", "simulate"),
    "Choose queries and judge": ("topics", "queries", "clicks", "pool", "assess", "translate"),
    "Build and check": ("build", "validate", "schema"),
    "Publish": ("export", "import", "diff"),
    "See what changed": ("explore", "drift", "changes", "attribute", "sanity"),
    "Evaluate over time": (
        *("baseline", "dense", "boost", "fuse", "rerank", "runs", "evaluate"),
        *("reproducibility", "trend"),
        *("filtering", "summarization", "classification"),
    ),
}
"""Every verb, once; a test compares."""


class Verbs(TyperGroup):
    """A command group that lists subcommands by section, each with its first sentence."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the name that is called
        """The verbs in the order of the sections."""
        return list(chain.from_iterable(SECTIONS.values()))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        width = max(map(len, self.list_commands(ctx)))
        for title, names in SECTIONS.items():
            verbs = {name: self.get_command(ctx, name) for name in names}
            rows = [
                (name.ljust(width), verb.get_short_help_str(limit=200))
                for name, verb in verbs.items()
                if verb is not None
            ]
            with formatter.section(title):
                formatter.write_dl(rows)
