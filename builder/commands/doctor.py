"""Diagnoses the installation and the machine: `longeval doctor`."""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path
from typing import Literal

from builder.errors import LongEvalError
from builder.models import bundled_model_folder
from builder.plugins import GROUPS, describe_package, find_plugins, load_plugin
from builder.runtime.limits import ResourceLimits, count_usable_cores, usable_memory_bytes

Status = Literal["good", "note", "bad"]
PACKAGE = "longeval-builder"
MIN_PYTHON = (3, 11)
MIN_MEMORY = 4 * 2**30
MIN_DISK = 10 * 2**30


@dataclass(frozen=True)
class Diagnosis:
    """Result of one check of the installation.

    Args:
        name: Name of the checked component, such as `python` or `disk`.
        status: `good`, `note` (works with limitations) or `bad` (does not work).
        detail: Measured value or error message, and how to fix a problem.
    """

    name: str
    status: Status
    detail: str


def doctor(folder: Path | str = ".") -> list[Diagnosis]:
    """Check Python, memory, disks, packages, the bundled translation model, extras and plug-ins.

    Args:
        folder: Folder in which collections will be built; its disk is checked.
    """
    return [
        _check_python(),
        _check_cores_and_memory(),
        *_check_folders_and_disk_space(Path(folder)),
        *_check_packages(),
        _check_bundled_model(),
        *_check_extras(),
        *_check_plugins(),
    ]


def _check_python() -> Diagnosis:
    good = sys.version_info[:2] >= MIN_PYTHON
    detail = f"{platform.python_version()} ({platform.machine()}, {platform.system()})"
    return Diagnosis("python", "good" if good else "bad", detail)


def _check_cores_and_memory() -> Diagnosis:
    cores = count_usable_cores()
    memory = usable_memory_bytes()
    if memory is None:
        return Diagnosis("machine", "note", f"{cores} cores; memory size could not be determined")
    detail = f"{cores} cores, {memory / 2**30:.1f} GiB of memory"
    if memory < MIN_MEMORY:
        return Diagnosis("machine", "note", f"{detail}; build with --memory {memory // 2**21}MiB")
    return Diagnosis("machine", "good", detail)


def _check_folders_and_disk_space(folder: Path) -> Iterator[Diagnosis]:
    for name, path in (("disk", folder), ("temporary files", Path(tempfile.gettempdir()))):
        if path.exists() and not path.is_dir():
            yield Diagnosis(name, "bad", f"{path}: expected a folder, found a file")
            continue
        try:
            free = shutil.disk_usage(path).free
        except OSError as error:
            yield Diagnosis(name, "bad", f"{path}: {error.strerror}")
            continue
        if not os.access(path, os.W_OK):
            yield Diagnosis(name, "bad", f"{path}: no write permission")
        else:
            detail = f"{path.resolve()}: {free / 2**30:.0f} GiB free"
            warning = "; one monthly LongEval snapshot needs 30 GiB" if free < MIN_DISK else ""
            yield Diagnosis(name, "note" if warning else "good", detail + warning)


def _required_packages(extra: str | None) -> list[str]:
    """Return the packages that an extra requires; for None, those that are always required."""
    names = []
    for line in requires(PACKAGE) or ():
        requirement, _, condition = line.partition(";")
        marker = re.search(r"extra == ['\"]([^'\"]+)", condition)
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name is not None and (marker[1] if marker else None) == extra:
            names.append(name[0])
    return names


def _check_packages() -> Iterator[Diagnosis]:
    missing = [name for name in _required_packages(None) if not _installed_version(name)]
    if missing:
        advice = "python -m pip install longeval-builder"
        yield Diagnosis("packages", "bad", f"{', '.join(missing)} missing: {advice}")
        return
    engines = ("polars", "duckdb", "pyarrow", "ctranslate2")
    yield Diagnosis("packages", "good", ", ".join(f"{n} {_installed_version(n)}" for n in engines))


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_bundled_model() -> Diagnosis:
    from builder.parameters import TranslationParameters
    from builder.translation import check_model

    try:
        with tempfile.TemporaryDirectory(prefix="longeval-") as scratch:
            params = TranslationParameters(model=bundled_model_folder(), compute_type="int8")
            found = check_model(params, ResourceLimits(Path(scratch), threads=1))
    except (LongEvalError, RuntimeError, OSError) as error:
        return Diagnosis("bundled model", "bad", f"{error}")
    source, english = next(iter(found["examples"].items()))
    return Diagnosis("bundled model", "good", f"{source} -> {english}")


def _check_extras() -> Iterator[Diagnosis]:
    for extra in sorted(distribution(PACKAGE).metadata.get_all("Provides-Extra") or ()):
        missing = [name for name in _required_packages(extra) if not _installed_version(name)]
        if missing:
            advice = f'python -m pip install "longeval-builder[{extra}]"'
            detail = f"{', '.join(missing)} not installed: {advice}"
            yield Diagnosis(f"extra {extra}", "note", detail)
        else:
            yield Diagnosis(f"extra {extra}", "good", "installed")


def _check_plugins() -> Iterator[Diagnosis]:
    """Load every installed plug-in and yield one diagnosis for each."""
    for group in GROUPS:
        try:
            points = find_plugins(group)
        except LongEvalError as error:
            yield Diagnosis(f"plug-ins {group}", "bad", str(error))
            continue
        for name, point in points.items():
            try:
                load_plugin(group, name)
            except LongEvalError as error:
                yield Diagnosis(f"plug-in {name}", "bad", str(error))
            else:
                yield Diagnosis(
                    f"plug-in {name}", "good", f"{group}, from {describe_package(point)}"
                )
