"""Translations: the source sentences, their English, and their quality flags."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schemas import SENTENCE_FLAGS


class TextKind(StrEnum):
    """Kind of a text: running text on any number of lines, or a query, which is one sentence."""

    TEXT = "text"
    QUERY = "query"


@dataclass(frozen=True)
class Sentence:
    """A source sentence and its English rendering.

    Args:
        source: The sentence, normalised.
        english: Its translation, or the copied source; may be empty.
        flags: Quality flags, in the order of `SENTENCE_FLAGS`.
    """

    source: str
    english: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """An English text with the lines of its source, and its sentences in order."""

    text: str
    sentences: tuple[Sentence, ...]


def ordered(flags: Iterable[str]) -> tuple[str, ...]:
    """Sort flags in the order of `SENTENCE_FLAGS`."""
    present = frozenset(flags)
    return tuple(flag for flag in SENTENCE_FLAGS if flag in present) if present else ()
