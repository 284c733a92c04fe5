"""Lines that were broken by a margin, not by an author.

In: the lines of a text. Out: which of them belong together, so that half a sentence is never
translated alone; and a translation broken again into as many lines as its source had.
"""

import re
from collections.abc import Sequence

BOUND = frozenset(
    "à au aux avec car ce ces cet cette chez comme dans de des dont du elle en entre est et il "
    "je la le les leur leurs mais ne nos notre nous on ou où par pour que qui quand sa sans se "
    "ses si son sont sous sur un une vers vos votre vous".split()
)
"""Words after which no French phrase ends."""
MARGIN = 100
"""The widest line that a margin leaves."""
WIDE_SHARE = 50
"""One line in so many may be wider in a text with a margin."""
LEAST_WIDTH = 45
"""Shorter lines were ended by an author."""
LEAST_SPACES = 4
LONGEST = 4000
"""Characters after which lines are no longer put together."""

MARKER = re.compile(
    r"(?:[-–—•*·▪◦►»>+#]+|\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+|\(?[a-zA-Z]\))\s+(?=\S)"
)
"""What marks a list item or a heading at the start of a line."""

_LAST_WORD = re.compile(r"(?:^|[\s'’(«\"])([^\W\d_]+)$")
_PHRASE_START = re.compile(r"[\"«“(\[]?\s?[\w$]")
_ENDED = ".!?:;…"


def has_margin(lines: Sequence[str]) -> bool:
    """Whether the lines of a text were broken at a margin."""
    written = [line for line in lines if line.strip()]
    wide = sum(len(line) > MARGIN for line in written)
    return wide * WIDE_SHARE <= len(written)


def continues(line: str, following: str, margin: bool) -> bool:
    """Whether a line goes on in the next one.

    Args:
        line: A line, without outer white space.
        following: The next line, likewise.
        margin: Whether the text was broken at a margin.
    """
    if not line or not following or line[-1] in _ENDED or MARKER.match(following):
        return False
    last = _LAST_WORD.search(line)
    if last is not None and last[1] in BOUND and " " in line:
        return _PHRASE_START.match(following) is not None
    wrapped = margin and len(line) >= LEAST_WIDTH and line.count(" ") >= LEAST_SPACES
    return wrapped and following[0].islower()


def rewrap(text: str, breaks: Sequence[tuple[int, str]], length: int) -> str:
    """Break a translation where its source was broken, in proportion.

    Args:
        text: The translation.
        breaks: Offset in the source and what stood there: a line end and indentation.
        length: Characters of the source.

    Returns:
        The text with as many line ends as there are breaks; where it has too few spaces, the
        last of them follow it.
    """
    lines, start, rest = "", 0, ""
    for offset, separator in breaks:
        place = _nearest_space(text, start, offset * len(text) // max(length, 1))
        if place is None:
            rest += separator
        else:
            lines += text[start:place] + separator
            start = place + 1
    return lines + text[start:] + rest


def _nearest_space(text: str, start: int, target: int) -> int | None:
    """The place of the space nearest to `target`, from `start` on."""
    before = text.rfind(" ", start, target + 1)
    after = text.find(" ", max(start, target))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - target), default=None)
