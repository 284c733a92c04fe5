"""Plug-ins: objects of other installed packages, found by entry points and loaded on use.

A package declares them in its `pyproject.toml`:

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
    """Entry points of a group, sorted by name; none is loaded.

    Raises:
        UsageError: two packages declare a plug-in with the same name.
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
    """A folder of installed packages with its modification time."""
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
    """Entry points of a group, cached because scanning the installed packages is slow."""
    return find(group=PREFIX + group)


def package(point: EntryPoint) -> str:
    """Name and version of the package that declares a plug-in."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def described(group: str, names: Iterable[str]) -> dict[str, str]:
    """Package and version of the given plug-ins, by name; built-ins are omitted."""
    known = installed(group)
    return {name: package(known[name]) for name in names if name in known}


def load(group: str, name: str) -> Any:
    """Load a plug-in.

    Raises:
        UsageError: it is not installed, or importing it raised an exception.
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
