"""Texts as sentences, and back: what is translated at once, and how it is put together again.

In: a text. Out: its lines, each a list of sentences. Lines are kept, so that headings, list items
and paragraphs stay what they are; a sentence ends at . ! ? or an ellipsis before a space and an
upper-case letter, a digit or an opening quote, unless the word before is an abbreviation. A
sentence with too many pieces is cut at clause boundaries, then at spaces: never dropped, never
truncated. `join(split(text))` has every line of the text.
"""

import re
from collections.abc import Callable

ABBREVIATIONS = frozenset(
    re.split(
        r"\s+",
        "m mm mme mmes mlle mlles dr drs me mes pr st ste art al av ap apr bd boul cf ch chap col "
        "dép éd env etc ex fig hab ibid id inc janv févr juil sept oct nov déc lib max min mgr n "
        "no nos op p pp par ref réf rem resp s sq ss suiv sup t tél tom trad v vol vs x",
    )
)
_END = re.compile(r"(?<=[.!?…])((?:\s?[»”\")\]])*)\s+(?=[\"«“(\[]*\s?[A-ZÀ-ÖØ-ÞŒ0-9])")
_LAST_WORD = re.compile(r"([^\W\d_]+)\.$")
_INITIAL = re.compile(r"(?:^|\s)[A-ZÀ-Þ]\.$")
_CLAUSE = re.compile(r"(?<=[;:,])\s+")


def split_line(line: str) -> list[str]:
    """The sentences of one line, without outer white space; none of an empty line."""
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(line):
        sentence = line[start : match.end(1)].strip()
        if sentence and not _is_abbreviated(sentence):
            sentences.append(sentence)
            start = match.end()
    rest = line[start:].strip()
    return [*sentences, rest] if rest else sentences


def _is_abbreviated(sentence: str) -> bool:
    if _INITIAL.search(sentence):
        return True
    word = _LAST_WORD.search(sentence)
    return word is not None and word[1].lower() in ABBREVIATIONS


def split(text: str) -> list[list[str]]:
    """The lines of a text, each as its sentences."""
    return [split_line(line) for line in text.split("\n")]


def join(lines: list[list[str]]) -> str:
    """A text from its lines and sentences."""
    return "\n".join(" ".join(sentences) for sentences in lines)


def cut(sentence: str, most: int, size: Callable[[str], int]) -> list[str]:
    """A sentence in pieces of at most `most` tokens each, where it has a space to cut at.

    Args:
        sentence: The sentence.
        most: Largest size of a piece.
        size: The size of a text, such as its sentence pieces.
    """
    if size(sentence) <= most:
        return [sentence]
    for boundary in (_CLAUSE, re.compile(r"\s+")):
        parts = boundary.split(sentence)
        if len(parts) > 1:
            half = _middle(parts)
            left, right = " ".join(parts[:half]), " ".join(parts[half:])
            return [*cut(left, most, size), *cut(right, most, size)]
    middle = len(sentence) // 2
    if middle == 0:
        return [sentence]
    return [*cut(sentence[:middle], most, size), *cut(sentence[middle:], most, size)]


def _middle(parts: list[str]) -> int:
    """The number of parts whose characters come nearest to half of all."""
    total = sum(map(len, parts))
    seen, best, least = 0, 1, total
    for number, part in enumerate(parts[:-1], 1):
        seen += len(part)
        if abs(2 * seen - total) < least:
            best, least = number, abs(2 * seen - total)
    return best
