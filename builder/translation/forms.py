"""What a model sees of a sentence, and how its output gets the form of the source.

In: a sentence or a query. Out: the text to decode, and from its output a text in the source's
form: no full stop that the source lacks, upper case where all of it was, lower case where it
began so. A query in lower case stays in lower case: users do not write names with capitals.
"""

import re

LEAST_LETTERS = 6
"""Letters below which a text in capitals may be an acronym."""
_STOPPED = re.compile(r"[.!?…:;][\"»”’)\]\s]*$")
_STOP = re.compile(r"(?<![.])\.$")
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\betc|\bvs|\bInc|\bLtd|\bNo|\bMr|\bDr|\bSt)\.$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def is_capitals(text: str) -> bool:
    """Whether a text is written in capitals throughout, and is no acronym."""
    return text.isupper() and " " in text and sum(map(str.isalpha, text)) >= LEAST_LETTERS


def model_text(text: str) -> str:
    """What the model decodes: the text itself, or one in capitals as a sentence."""
    if not is_capitals(text):
        return text
    lower = text.lower()
    return lower[:1].upper() + lower[1:]


def like_source(output: str, source: str, *, query: bool = False) -> str:
    """An output in the form of its source.

    Args:
        output: What the model gave.
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
    return _begin_like(text, source)


def _begin_like(text: str, source: str) -> str:
    """Begin in lower case where the source does, unless the first word is a name or I."""
    first, given = _FIRST_WORD.search(text), _FIRST_WORD.search(source)
    if first is None or given is None or not given[0].islower():
        return text
    word = first[0]
    if word == "I" or not word[0].isupper() or (not word[1:].islower() and len(word) > 1):
        return text
    return text[: first.start()] + word.lower() + text[first.end() :]
