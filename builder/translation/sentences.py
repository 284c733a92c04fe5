"""What a translation is: its sentences, what stands for each, and what is to be known of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schemas import SENTENCE_FLAGS


class Form(StrEnum):
    """What a text is: any number of lines, or one sentence that a user typed."""

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
    """A text in English, in the lines of its source, and its sentences in order."""

    text: str
    sentences: tuple[Sentence, ...]


def ordered(flags: Iterable[str]) -> tuple[str, ...]:
    """Flags in the order of `SENTENCE_FLAGS`."""
    present = frozenset(flags)
    return tuple(flag for flag in SENTENCE_FLAGS if flag in present) if present else ()
