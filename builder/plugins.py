"""Finds and loads plug-ins, which other installed packages register as entry points.

A package declares a plug-in in its `pyproject.toml`:

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

GROUP_PREFIX = "longeval_builder."
GROUPS = ("log_readers", "verdicts", "click_models", "translators", "checks", "measures")


def find_plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a plug-in group by name, without loading the plug-ins.

    Raises:
        UsageError: Two packages declare a plug-in with the same name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(
        _cached_entry_points(entry_points, group, tuple(map(_folder_with_mtime, sys.path)))
    ):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise UsageError(
                f"{group}: plug-in {point.name!r} is declared by both {describe_package(other)} "
                f"and {describe_package(point)}; uninstall one of them"
            )
    return found


def _folder_with_mtime(folder: str) -> tuple[str, int]:
    """Return a folder and its modification time in nanoseconds (0 if the folder is missing)."""
    try:
        return folder, Path(folder or ".").stat().st_mtime_ns
    except OSError:
        return folder, 0


@lru_cache(maxsize=len(GROUPS))
def _cached_entry_points(
    find_entry_points: Callable[..., EntryPoints],
    group: str,
    folder_mtimes: tuple[tuple[str, int], ...],  # noqa: ARG001 - cache key: a new package changes it
) -> EntryPoints:
    """Return the entry points of a group from a cache, because scanning all packages is slow."""
    return find_entry_points(group=GROUP_PREFIX + group)


def describe_package(entry_point: EntryPoint) -> str:
    """Return the name and version of the package that declares a plug-in."""
    return (
        f"{entry_point.dist.name} {entry_point.dist.version}"
        if entry_point.dist
        else entry_point.value
    )


def plugin_packages(group: str, names: Iterable[str]) -> dict[str, str]:
    """Return a dict mapping each known plug-in in `names` to its package name and version."""
    known = find_plugins(group)
    return {name: describe_package(known[name]) for name in names if name in known}


def load_plugin(group: str, name: str) -> Any:
    """Import a plug-in and return the object that its entry point names.

    Raises:
        UsageError: The plug-in is not installed, or importing it raised an exception.
    """
    known = find_plugins(group)
    if name not in known:
        others = ", ".join(known) or "none"
        raise UsageError(
            f"{group}: plug-in {name!r} is not installed "
            f"(installed plug-ins of the group {GROUP_PREFIX}{group}: {others}); "
            "install the package that provides it"
        )
    try:
        return known[name].load()
    except Exception as error:  # third-party code may raise anything
        raise UsageError(
            f"{group}: plug-in {name!r} of {describe_package(known[name])} failed to load: "
            f"{type(error).__name__}: {error}; fix or uninstall that package"
        ) from error
