"""Data classes for translated texts and for their sentences with quality flags."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schemas import SENTENCE_FLAGS


class TextKind(StrEnum):
    """Kind of text: running text of any number of lines, or a query, which is one sentence."""

    TEXT = "text"
    QUERY = "query"


@dataclass(frozen=True)
class TranslatedSentence:
    """Source sentence with its English translation.

    Args:
        source: Source sentence, normalized.
        english: Translation, or a copy of the source; may be empty.
        flags: Quality flags, in the order of `SENTENCE_FLAGS`.
    """

    source: str
    english: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """English translation of a text.

    Args:
        text: The translated text, with as many lines as the source.
        sentences: The sentences of the source, in order, each with its translation and flags.
    """

    text: str
    sentences: tuple[TranslatedSentence, ...]


def sort_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Sort flags in the order of `SENTENCE_FLAGS`."""
    present = frozenset(flags)
    return tuple(flag for flag in SENTENCE_FLAGS if flag in present) if present else ()
