"""Plug-ins: objects of other installed packages, found by their entry points.

A package names them in its `pyproject.toml`, and nothing of it is loaded before it is asked for:

    [project.entry-points."longeval_builder.checks"]
    my_check = "my_package:CHECK"

Groups: `verdicts` (queries, users, documents), `click_models`, `checks`.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from builder.errors import UsageError

PREFIX = "longeval_builder."
GROUPS = ("verdicts", "click_models", "checks")


def installed(group: str) -> Mapping[str, EntryPoint]:
    """The plug-ins of a group by name, in order; none of them is loaded."""
    return {point.name: point for point in sorted(entry_points(group=PREFIX + group))}


def load(group: str, name: str) -> Any:
    """A plug-in.

    Raises:
        UsageError: it is not installed, or its package cannot be imported.
    """
    known = installed(group)
    if name not in known:
        others = ", ".join(known) or "none"
        raise UsageError(
            f"{group}: {name!r} is not installed (entry points of {PREFIX}{group}: {others}); "
            "install the package that brings it"
        )
    try:
        return known[name].load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{group}: {name!r} ({known[name].value}) does not load: {error}"
        ) from None
