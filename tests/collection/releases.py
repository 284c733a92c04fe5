"""Releases that tests write, and what becomes of them."""

from pathlib import Path

import builder
from builder.collection.imports import import_release
from builder.collection.imports.release import ImportReport
from builder.collection.read import Collection
from builder.runtime.limits import ResourceLimits
from builder.text.keys import key64, query_id


def write(path: Path, data: str | bytes) -> None:
    """A file, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def imported(release: Path, layout: str) -> ImportReport:
    """A release as a collection beside it."""
    scratch = release.with_name("scratch")
    scratch.mkdir()
    return import_release(release, layout, release.with_name("out"), limits=ResourceLimits(scratch))


def opened(report: ImportReport) -> Collection:
    """The collection that an import made."""
    return builder.open_collection(report.version)


def query_of(text: str) -> str:
    """The id of a query."""
    return query_id(key64(text))
