"""Patterns of valid names, versions and language codes, and their descriptions in messages.

Since names are used as folder names, no pattern permits a path separator or a leading dot.
"""

import re
from collections.abc import Sequence

from builder.errors import DataError
from schemas import SNAPSHOT_PATTERN

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"
LABEL_PATTERN = r"^[a-z0-9_]+$"
VERSION_PATTERN = r"^\d+\.\d+\.\d+([a-z0-9.+-]*)$"
LANGUAGE_PATTERN = r"^[a-z]{2,3}$"
NUMBERED_SNAPSHOT = r"(?i)(?<![a-z\d])snapshot[-_]?(\d{1,3})(?!\d)"
"""Pattern of the snapshot number in a file or folder name, such as `snapshot-2`."""

PATTERN_DESCRIPTIONS = {
    NAME_PATTERN: "a name of at most 64 lowercase letters, digits, '.', '_' and '-'",
    LABEL_PATTERN: "a name of lowercase letters, digits and '_'",
    VERSION_PATTERN: "a version such as 1.0.0",
    LANGUAGE_PATTERN: "an ISO 639 code such as fr",
    SNAPSHOT_PATTERN: "a month such as 2022-06 or a day such as 2022-06-13",
}

FRENCH, ENGLISH = "fr", "en"
SOURCE_SUFFIX, ENGLISH_SUFFIX = "", "_en"
"""Suffixes of the names of text columns, for the source language and for English."""


def to_valid_unicode(name: str) -> str:
    """Convert a file name to valid Unicode; escape bytes that are not UTF-8.

    Python represents such bytes as lone surrogates, which Arrow rejects.
    """
    return name.encode("utf-8", "backslashreplace").decode()


def natural_sort_key(name: str) -> list[str | int]:
    """Return a key for natural sorting, which puts `round2` before `round10`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def column_suffixes(languages: Sequence[str]) -> dict[str, str]:
    """Return the column suffix for each language of a collection.

    Args:
        languages: Language codes, source language first; empty if French is the only language.

    Raises:
        DataError: there are more than two languages, or a language is repeated.
    """
    if len(languages) > 2 or len({*languages}) < len(languages):
        raise DataError(f"expected one or two distinct languages, found {', '.join(languages)}")
    suffixes = (SOURCE_SUFFIX, ENGLISH_SUFFIX)
    return dict(zip(languages or [FRENCH], suffixes, strict=False))
