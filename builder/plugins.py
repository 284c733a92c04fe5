"""Plug-ins: objects of other installed packages, found by their entry points.

A package names them in its `pyproject.toml`, and nothing of it is loaded before it is asked for:

    [project.entry-points."longeval_builder.checks"]
    my_check = "my_package:CHECK"

Groups: `log_readers`, `verdicts` (queries, users, documents), `click_models`, `translators`,
`checks`, `measures`.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any

from builder.errors import UsageError

PREFIX = "longeval_builder."
GROUPS = ("log_readers", "verdicts", "click_models", "translators", "checks", "measures")


def installed(group: str) -> Mapping[str, EntryPoint]:
    """The plug-ins of a group by name, in order; none of them is loaded.

    Raises:
        UsageError: two packages bring a plug-in of one name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(_points(entry_points, group, tuple(map(_dated, sys.path)))):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise UsageError(
                f"{group}: {point.name!r} is brought by {package(other)} and by {package(point)}; "
                "uninstall one of them"
            )
    return found


def _dated(folder: str) -> tuple[str, int]:
    """A folder and when something in it was last installed."""
    try:
        return folder, Path(folder or ".").stat().st_mtime_ns
    except OSError:
        return folder, 0


@lru_cache(maxsize=len(GROUPS))
def _points(
    find: Callable[..., EntryPoints],
    group: str,
    folders: tuple[tuple[str, int], ...],  # noqa: ARG001 - they date what is kept
) -> EntryPoints:
    """The entry points of a group; looking through the installed packages takes a while."""
    return find(group=PREFIX + group)


def package(point: EntryPoint) -> str:
    """Name and version of the package that a plug-in comes with."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def described(group: str, names: Iterable[str]) -> dict[str, str]:
    """Package and version of some plug-ins, by name; those that are not installed are left out."""
    known = installed(group)
    return {name: package(known[name]) for name in names if name in known}


def load(group: str, name: str) -> Any:
    """A plug-in.

    Raises:
        UsageError: it is not installed, or its package cannot be imported, whatever that raises.
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
    except Exception as error:  # whatever the module of a stranger does
        raise UsageError(
            f"{group}: {name!r} of {package(known[name])} does not load: "
            f"{type(error).__name__}: {error}; repair or uninstall that package"
        ) from error
