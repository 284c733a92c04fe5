"""Normalizes case before translation, and restores case and final punctuation afterwards.

A translation ends in a full stop only if its source does, is entirely in uppercase if the source
is, and begins in lowercase if the source does. The translation of a lowercase query is entirely in
lowercase, even names.
"""

import re

LEAST_LETTERS = 6
"""Minimum number of letters of an uppercase text; a shorter text is treated as an acronym."""
_STOPPED = re.compile(r"[.!?…:;][\"»”’)\]\s]*$")
_STOP = re.compile(r"(?<![.])\.$")
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\betc|\bvs|\bInc|\bLtd|\bNo|\bMr|\bDr|\bSt)\.$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def is_all_uppercase(text: str) -> bool:
    """Whether a text has several words, is entirely in uppercase, and is not an acronym."""
    return text.isupper() and " " in text and sum(map(str.isalpha, text)) >= LEAST_LETTERS


def normalize_case(text: str) -> str:
    """Convert a text that is entirely in uppercase to sentence case; keep other texts unchanged."""
    if not is_all_uppercase(text):
        return text
    lower = text.lower()
    return lower[:1].upper() + lower[1:]


def restore_case_and_punctuation(output: str, source: str, *, is_query: bool = False) -> str:
    """Return a translation with the case and final punctuation of its source.

    Args:
        output: Translation by the model.
        source: Source sentence or query.
        is_query: Whether the source is a query; a lowercase query gets a lowercase translation.
    """
    text = " ".join(output.split())
    if not _STOPPED.search(source) and not _ABBREVIATION.search(text):
        text = _STOP.sub("", text)
    if is_all_uppercase(source):
        return text.upper()
    if is_query and source == source.lower():
        return text.lower()
    return _match_initial_case(text, source)


def _match_initial_case(text: str, source: str) -> str:
    """Lowercase the first word of a translation if the first word of its source is lowercase.

    The pronoun `I` and acronyms keep their case.
    """
    first, given = _FIRST_WORD.search(text), _FIRST_WORD.search(source)
    if first is None or given is None or not given[0].islower():
        return text
    word = first[0]
    if word == "I" or not word[0].isupper() or (not word[1:].islower() and len(word) > 1):
        return text
    return text[: first.start()] + word.lower() + text[first.end() :]
