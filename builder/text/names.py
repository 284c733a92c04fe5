"""Patterns of names, versions and language codes, with their descriptions for messages.

Names become folder names, so no pattern admits a path separator or a leading dot.
"""

from collections.abc import Sequence

from builder.errors import DataError
from schemas import SNAPSHOT_PATTERN

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"
LABEL_PATTERN = r"^[a-z0-9_]+$"
VERSION_PATTERN = r"^\d+\.\d+\.\d+([a-z0-9.+-]*)$"
LANGUAGE_PATTERN = r"^[a-z]{2,3}$"

IN_WORDS = {
    NAME_PATTERN: "a name of lower-case letters, digits, '.', '_' and '-', at most 64 of them",
    LABEL_PATTERN: "a name of lower-case letters, digits and '_'",
    VERSION_PATTERN: "a version such as 1.0.0",
    LANGUAGE_PATTERN: "a code of ISO 639 such as fr",
    SNAPSHOT_PATTERN: "a month such as 2022-06, or a day such as 2022-06-13",
}

FRENCH, ENGLISH = "fr", "en"
SOURCE_SUFFIX, ENGLISH_SUFFIX = "", "_en"
"""Of the columns of texts: as they were found, and as they were translated."""


def written(name: str) -> str:
    """A file name as valid text, with bytes that are not UTF-8 escaped.

    Python represents those bytes as lone surrogates, which Arrow refuses.
    """
    return name.encode("utf-8", "backslashreplace").decode()


def suffixes_of(languages: Sequence[str]) -> dict[str, str]:
    """Column suffix of each language of a collection, source language first.

    Raises:
        DataError: there are more than two.
    """
    if len(languages) > 2 or len({*languages}) < len(languages):
        raise DataError(f"expected a language, or two, found {', '.join(languages)}")
    suffixes = (SOURCE_SUFFIX, ENGLISH_SUFFIX)
    return dict(zip(languages or [FRENCH], suffixes, strict=False))
