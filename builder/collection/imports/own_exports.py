"""Recognizes files of a release that `longeval export` wrote, at any folder depth.

The nearest `longeval-export.json` in the folders above a file describes the export it belongs to.
"""

from pathlib import Path

from builder.collection.export import METADATA
from builder.collection.export.markup import NOT_ESCAPED
from builder.collection.imports.files import read_metadata_value


def is_exported(path: Path) -> bool:
    """Whether a file belongs to an export of this package."""
    return _read_markup(path) is not None


def has_escaped_markup(path: Path) -> bool:
    """Whether a file belongs to an export of this package whose documents have escaped markup."""
    return _read_markup(path) not in (None, NOT_ESCAPED)


def _read_markup(path: Path) -> object:
    """Return how markup is escaped in the export that a file belongs to; None if there is none."""
    descriptions = (folder / METADATA for folder in path.resolve().parents)
    nearest = next((file for file in descriptions if file.is_file()), None)
    return None if nearest is None else read_metadata_value(nearest, "markup")
