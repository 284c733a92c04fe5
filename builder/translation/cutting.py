"""Splits sentences into parts that are translated and parts that are copied.

Concatenated, the parts equal the sentence; nothing is dropped or truncated. A sentence that is too
long for the model is halved repeatedly at the strongest boundary near its middle. Boundaries from
strongest to weakest: semicolon, colon or dash; comma before a conjunction; comma; conjunction;
space; any character.
"""

import re
from collections.abc import Callable

LONGEST_WORD = 80
"""Minimum length in characters of a word that is copied instead of translated."""

_BOUNDARIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<=[;:])\s|\s(?=[-–—]\s)",
        r"(?<=[,)])\s(?=(?:et|ou|mais|car|donc|or|ni|puis|qui|que|dont|où|afin|lorsque|si)\b)",
        r"(?<=[,)])\s",
        r"\s(?=(?:et|ou|mais|car|qui|que|qu['’]|dont|où|afin|pour|dans|avec)\b)",
        r"\s",
    )
)
_MIDDLE = (0.25, 0.75)
"""Range of offsets at which a sentence may be split, as fractions of its length."""

_ADDRESS = r"(?:https?|ftp)://\S+|www\.\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_COPIED = re.compile(rf"{_ADDRESS}|\S{{{LONGEST_WORD},}}", re.IGNORECASE)
_TRAILING = re.compile(r"[.,;:!?)\]}»”\"'’>]+$")
_WORD = re.compile(r"(?<![\w$\\/:.@#&=+*-])[^\W\d_]{2,}(?![\w\\/=@*]|:\S|\(\)|\.\w)")


def is_untranslatable(text: str) -> bool:
    """Whether a text has no words to translate, only numbers, URLs, identifiers or symbols."""
    return _WORD.search(_COPIED.sub(" ", text)) is None


def separate_untranslatable_parts(text: str) -> list[tuple[str, bool]]:
    """Split a text into (part, is_verbatim) pairs.

    Verbatim parts, such as URLs, are copied without being translated.
    """
    parts: list[str] = []
    start = 0
    for match in _COPIED.finditer(text):
        trailing = _TRAILING.search(match[0])
        end = match.end() - (len(trailing[0]) if trailing else 0)
        parts += [text[start : match.start()], text[match.start() : end]]
        start = end
    parts.append(text[start:])
    return [(part, is_untranslatable(part)) for part in parts if part]


def split_to_size(text: str, max_size: int, size_of: Callable[[str], int]) -> list[str]:
    """Split a text into parts of limited size, preferably at clause boundaries.

    Args:
        text: A sentence with single spaces between words.
        max_size: Maximum size of a part, in the unit of `size_of`.
        size_of: Function that returns the size of a text, such as its number of tokens.
    """
    if len(text) < 2 or size_of(text) <= max_size:
        return [text]
    offset = _find_split_offset(text)
    parts = (text[:offset], text[offset:])
    return [piece for part in parts for piece in split_to_size(part, max_size, size_of)]


def _find_split_offset(text: str) -> int:
    """Return the offset at which to split a text that is too long.

    The text is split before the space at the strongest boundary in its middle half; if the middle
    half has no spaces, the text is split exactly in the middle.
    """
    low, high = (int(len(text) * share) for share in _MIDDLE)
    middle = len(text) // 2
    for boundary in _BOUNDARIES:
        offsets = [m.start() for m in boundary.finditer(text, low, high) if m.start() > 0]
        if offsets:
            return min(offsets, key=lambda offset: abs(offset - middle))
    return max(middle, 1)
