"""Detects sentences that were wrapped over several lines, and wraps their translations again.

Input: the lines of a text. Output: whether a sentence continues on the next line, so that half a
sentence is never translated alone; and each translation, wrapped into as many lines as its source.
"""

import re
from collections.abc import Sequence

BOUND = frozenset(
    "à au aux avec car ce ces cet cette chez comme dans de des dont du elle en entre est et il "
    "je la le les leur leurs mais ne nos notre nous on ou où par pour que qui quand sa sans se "
    "ses si son sont sous sur un une vers vos votre vous".split()
)
"""French words, such as articles, after which a phrase must continue."""
MARGIN = 100
"""Maximum length of a line, in characters, in a text that was wrapped at a margin."""
WIDE_SHARE = 50
"""Minimum number of lines per line longer than `MARGIN` in a text wrapped at a margin."""
LEAST_WIDTH = 45
"""Minimum length of a wrapped line in characters; a shorter line was ended deliberately."""
LEAST_SPACES = 4
"""Minimum number of spaces in a wrapped line."""
LONGEST = 4000
"""Maximum total length, in characters, of lines that are joined into one."""

MARKER = re.compile(
    r"(?:[-–—•*·▪◦►»>+#]+|\d{1,3}(?:\.\d{1,3})*[.)]|\d{1,3}(?:\.\d{1,3})+|\(?[a-zA-Z]\))\s+(?=\S)"
)
"""Pattern of a list marker or heading number at the start of a line."""

_LAST_WORD = re.compile(r"(?:^|[\s'’(«\"])([^\W\d_]+)$")
_PHRASE_START = re.compile(r"[\"«“(\[]?\s?[\w$]")
_ENDED = ".!?:;…"


def is_wrapped_at_margin(lines: Sequence[str]) -> bool:
    """Whether a text was wrapped at a right margin: few of its lines are longer than `MARGIN`."""
    written = [line for line in lines if line.strip()]
    wide = sum(len(line) > MARGIN for line in written)
    return wide * WIDE_SHARE <= len(written)


def continues_on_next_line(line: str, next_line: str, is_wrapped: bool) -> bool:
    """Whether the sentence at the end of a line continues on the next line.

    Args:
        line: The line, stripped.
        next_line: The next line, stripped.
        is_wrapped: Whether the text was wrapped at a right margin.
    """
    if not line or not next_line or line[-1] in _ENDED or MARKER.match(next_line):
        return False
    last = _LAST_WORD.search(line)
    if last is not None and last[1] in BOUND and " " in line:
        return _PHRASE_START.match(next_line) is not None
    wrapped = is_wrapped and len(line) >= LEAST_WIDTH and line.count(" ") >= LEAST_SPACES
    return wrapped and next_line[0].islower()


def reinsert_line_breaks(text: str, breaks: Sequence[tuple[int, str]], source_length: int) -> str:
    """Insert the line breaks of a source into its translation, at proportional positions.

    Args:
        text: The translation.
        breaks: Line breaks of the source: offset, and characters (line end and indentation).
        source_length: Length of the source in characters.

    Returns:
        The translation, in which line breaks replace spaces. If no space is left for a line break,
        the line break is appended to the end.
    """
    lines, start, rest = "", 0, ""
    for offset, separator in breaks:
        place = _nearest_space_offset(text, start, offset * len(text) // max(source_length, 1))
        if place is None:
            rest += separator
        else:
            lines += text[start:place] + separator
            start = place + 1
    return lines + text[start:] + rest


def _nearest_space_offset(text: str, start: int, target: int) -> int | None:
    """Return the offset of the space nearest to `target` from `start` on; None if there is none."""
    before = text.rfind(" ", start, target + 1)
    after = text.find(" ", max(start, target))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - target), default=None)
