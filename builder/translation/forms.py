"""Normalizes case before translation, and restores case and final punctuation afterwards.

A translation has no full stop that the source lacks, is uppercase if the whole source is, and
begins in lowercase if the source does. A lowercase query stays lowercase, including names.
"""

import re

LEAST_LETTERS = 6
"""Minimum number of letters of an uppercase text that is not taken for an acronym."""
_STOPPED = re.compile(r"[.!?…:;][\"»”’)\]\s]*$")
_STOP = re.compile(r"(?<![.])\.$")
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\betc|\bvs|\bInc|\bLtd|\bNo|\bMr|\bDr|\bSt)\.$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def is_capitals(text: str) -> bool:
    """Whether a text is entirely in uppercase and not an acronym."""
    return text.isupper() and " " in text and sum(map(str.isalpha, text)) >= LEAST_LETTERS


def model_text(text: str) -> str:
    """Return the text to translate: uppercase text in sentence case, any other text unchanged."""
    if not is_capitals(text):
        return text
    lower = text.lower()
    return lower[:1].upper() + lower[1:]


def match_source_form(output: str, source: str, *, query: bool = False) -> str:
    """Give a translation the case and final punctuation of its source.

    Args:
        output: Output of the model.
        source: The sentence or query.
        query: Whether it is a query.
    """
    text = " ".join(output.split())
    if not _STOPPED.search(source) and not _ABBREVIATION.search(text):
        text = _STOP.sub("", text)
    if is_capitals(source):
        return text.upper()
    if query and source == source.lower():
        return text.lower()
    return _match_initial_case(text, source)


def _match_initial_case(text: str, source: str) -> str:
    """Lowercase the first letter if the source starts in lowercase, except in names and `I`."""
    first, given = _FIRST_WORD.search(text), _FIRST_WORD.search(source)
    if first is None or given is None or not given[0].islower():
        return text
    word = first[0]
    if word == "I" or not word[0].isupper() or (not word[1:].islower() and len(word) > 1):
        return text
    return text[: first.start()] + word.lower() + text[first.end() :]
