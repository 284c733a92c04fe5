"""Check the installation and the machine: `longeval doctor`."""

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
from builder.models import embedded_model
from builder.plugins import GROUPS, installed, load, package
from builder.runtime.limits import Limits, usable_cores, usable_memory

Status = Literal["good", "note", "bad"]
PACKAGE = "longeval-builder"
LEAST_PYTHON = (3, 11)
LEAST_MEMORY = 4 * 2**30
LEAST_DISK = 10 * 2**30


@dataclass(frozen=True)
class Diagnosis:
    """Result of one check.

    Args:
        name: What was checked.
        status: `good`, `note` (works with limitations) or `bad` (does not work).
        detail: What was found, and how to fix it.
    """

    name: str
    status: Status
    detail: str


def doctor(folder: Path | str = ".") -> list[Diagnosis]:
    """Check Python, packages, machine, translation model and extras.

    Args:
        folder: Folder in which collections will be built.
    """
    found = [_python(), _machine(), *_disks(Path(folder)), *_packages(), _model()]
    return [*found, *_extras(), *_plugins()]


def _python() -> Diagnosis:
    good = sys.version_info[:2] >= LEAST_PYTHON
    detail = f"{platform.python_version()} ({platform.machine()}, {platform.system()})"
    return Diagnosis("python", "good" if good else "bad", detail)


def _machine() -> Diagnosis:
    cores = usable_cores()
    memory = usable_memory()
    if memory is None:
        return Diagnosis("machine", "note", f"{cores} cores; the memory is not known")
    detail = f"{cores} cores, {memory / 2**30:.1f} GiB of memory"
    if memory < LEAST_MEMORY:
        return Diagnosis("machine", "note", f"{detail}; build with --memory {memory // 2**21}MiB")
    return Diagnosis("machine", "good", detail)


def _disks(folder: Path) -> Iterator[Diagnosis]:
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
            yield Diagnosis(name, "bad", f"{path}: may not be written to")
        else:
            detail = f"{path.resolve()}: {free / 2**30:.0f} GiB free"
            few = "; a month of LongEval needs 30 GiB" if free < LEAST_DISK else ""
            yield Diagnosis(name, "note" if few else "good", detail + few)


def _requirements(extra: str | None) -> list[str]:
    """Names of the packages that the core or an extra requires."""
    names = []
    for line in requires(PACKAGE) or ():
        requirement, _, condition = line.partition(";")
        marker = re.search(r"extra == ['\"]([^'\"]+)", condition)
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name is not None and (marker[1] if marker else None) == extra:
            names.append(name[0])
    return names


def _packages() -> Iterator[Diagnosis]:
    missing = [name for name in _requirements(None) if not _version(name)]
    if missing:
        advice = "python -m pip install longeval-builder"
        yield Diagnosis("packages", "bad", f"{', '.join(missing)} missing: {advice}")
        return
    engines = ("polars", "duckdb", "pyarrow", "ctranslate2")
    yield Diagnosis("packages", "good", ", ".join(f"{n} {_version(n)}" for n in engines))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _model() -> Diagnosis:
    from builder.parameters import TranslateParameters
    from builder.translation import check_model

    try:
        with tempfile.TemporaryDirectory(prefix="longeval-") as scratch:
            params = TranslateParameters(model=embedded_model(), compute_type="int8")
            found = check_model(params, Limits(Path(scratch), threads=1))
    except (LongEvalError, RuntimeError, OSError) as error:
        return Diagnosis("embedded model", "bad", f"{error}")
    source, english = next(iter(found["examples"].items()))
    return Diagnosis("embedded model", "good", f"{source} -> {english}")


def _extras() -> Iterator[Diagnosis]:
    for extra in sorted(distribution(PACKAGE).metadata.get_all("Provides-Extra") or ()):
        missing = [name for name in _requirements(extra) if not _version(name)]
        if missing:
            advice = f'python -m pip install "longeval-builder[{extra}]"'
            detail = f"{', '.join(missing)} not installed: {advice}"
            yield Diagnosis(f"extra {extra}", "note", detail)
        else:
            yield Diagnosis(f"extra {extra}", "good", "installed")


def _plugins() -> Iterator[Diagnosis]:
    """Load every installed plug-in and report the result."""
    for group in GROUPS:
        try:
            points = installed(group)
        except LongEvalError as error:
            yield Diagnosis(f"plug-ins {group}", "bad", str(error))
            continue
        for name, point in points.items():
            try:
                load(group, name)
            except LongEvalError as error:
                yield Diagnosis(f"plug-in {name}", "bad", str(error))
            else:
                yield Diagnosis(f"plug-in {name}", "good", f"{group}, of {package(point)}")
