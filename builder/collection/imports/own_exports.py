"""Detects files of a release that were written by `longeval export`, at any folder depth.

The nearest `longeval-export.json` in the folders above a file describes the export that contains
the file.
"""

from pathlib import Path

from builder.collection.export import METADATA
from builder.collection.export.markup import NOT_ESCAPED
from builder.collection.imports.files import read_metadata_value


def is_own_export(path: Path) -> bool:
    """Whether a file belongs to an export of this package."""
    return _read_export_entry(path, "markup") is not None


def has_escaped_markup(path: Path) -> bool:
    """Whether a file belongs to an export of this package that escapes markup in texts."""
    return _read_export_entry(path, "markup") not in (None, NOT_ESCAPED)


def exported_language(path: Path) -> str | None:
    """Return the language of the export of this package that contains a file.

    Returns:
        Language code; None if no export contains the file, or if the export has several languages.
    """
    languages = _read_export_entry(path, "languages")
    return str(languages[0]) if isinstance(languages, list) and len(languages) == 1 else None


def _read_export_entry(path: Path, key: str) -> object:
    """Return an entry of the `longeval-export.json` that describes a file; None if not found."""
    descriptions = (folder / METADATA for folder in path.resolve().parents)
    nearest = next((file for file in descriptions if file.is_file()), None)
    return None if nearest is None else read_metadata_value(nearest, key)
