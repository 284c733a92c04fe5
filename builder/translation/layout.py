"""Splits a text into sentences, and restores its lines after translation.

Input: a text. Output: its sentences, normalized, and the text between them (line breaks, blank
lines, indentation, list markers), so that `TextLayout.fill` can replace each sentence with its
translation. Filling a layout with its own sentences restores the text, except for runs of white
space and for control and invisible characters.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builder.translation.boundaries import sentence_end_offsets
from builder.translation.wrapping import (
    LONGEST,
    MARKER,
    continues_on_next_line,
    is_wrapped_at_margin,
    reinsert_line_breaks,
)

_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Segment:
    """Sentence of a text, with the line breaks that it contained.

    Args:
        text: Sentence in Unicode NFC with single spaces, without control or invisible characters.
        breaks: Offset in `text` and original characters of each line break inside the sentence.
        cleaned: Whether control characters were removed from the sentence.
    """

    text: str
    breaks: tuple[tuple[int, str], ...] = ()
    cleaned: bool = False


@dataclass(frozen=True)
class TextLayout:
    """Sentences of a text, and the gaps (such as line breaks) between them.

    Args:
        segments: The sentences.
        gaps: Text before each sentence and after the last one; one item more than `segments`.
    """

    segments: tuple[Segment, ...]
    gaps: tuple[str, ...]

    def fill(self, sentences: Sequence[str]) -> str:
        """Return the text with its sentences replaced by the given ones, in the same order.

        The number of lines stays the same.
        """
        parts = [self.gaps[0]]
        for segment, gap, text in zip(self.segments, self.gaps[1:], sentences, strict=True):
            parts += [reinsert_line_breaks(text, segment.breaks, len(segment.text)), gap]
        return "".join(parts)


def normalize_text(text: str) -> str:
    """Normalize a text: Unicode NFC, single spaces, no control or invisible characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return _SPACES.sub(" ", _CONTROL.sub(" ", text)).strip()


def split_into_sentences(text: str) -> TextLayout:
    """Split a text into sentences and the gaps between them, such as line breaks."""
    segments: list[Segment] = []
    gaps = [""]
    for lines, ends in _group_wrapped_lines(text):
        _append_sentences(lines, ends, segments, gaps)
    return TextLayout(tuple(segments), tuple(gaps))


def single_sentence_layout(text: str) -> TextLayout:
    """Return the layout of a text, such as a query, that is treated as one sentence."""
    normal = normalize_text(text)
    if not normal:
        return TextLayout((), ("",))
    return TextLayout((Segment(normal, cleaned=bool(_CONTROL.search(text))),), ("", ""))


def _group_wrapped_lines(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Group the lines that a sentence spans; yield the lines and line endings of each group."""
    matches = list(_LINE_END.finditer(text))
    starts = [0, *(match.end() for match in matches)]
    stops = [*(match.start() for match in matches), len(text)]
    lines = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
    ends = [*(match[0] for match in matches), ""]
    margin = is_wrapped_at_margin(lines)
    first, size = 0, 0
    for number, line in enumerate(lines):
        size += len(line)
        next_line = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if size > LONGEST or not continues_on_next_line(line.strip(), next_line, margin):
            yield lines[first : number + 1], ends[first : number + 1]
            first, size = number + 1, 0


def _append_sentences(
    lines: list[str], line_endings: list[str], segments: list[Segment], gaps: list[str]
) -> None:
    """Split a group of wrapped lines into sentences; append them and their gaps to the lists.

    Args:
        lines: The wrapped lines, which are joined.
        line_endings: Line ending of each line.
        segments: Output list, to which the sentences are appended.
        gaps: Output list; text before the first sentence is added to its last item, and the text
            after each sentence is appended as a new item.
    """
    body, breaks = _join_wrapped_lines(lines, line_endings)
    marker = MARKER.match(body, len(body) - len(body.lstrip()))
    start = marker.end() if marker else 0
    gaps[-1] += _remove_invisible_characters(body[:start])
    for end in [*(e for e in sentence_end_offsets(body) if e > start), len(body)]:
        raw = body[start:end]
        text = normalize_text(raw)
        left = len(raw) - len(raw.lstrip()) if text else len(raw)
        right = len(raw.rstrip()) if text else len(raw)
        gaps[-1] += _gap_text(body, breaks, start, start + left)
        if text:
            inner = [(at, mark) for at, mark in breaks if start + left <= at < start + right]
            places = tuple((len(normalize_text(body[start:at])), mark) for at, mark in inner)
            segments.append(Segment(text, places, bool(_CONTROL.search(raw))))
            gaps.append(_gap_text(body, breaks, start + right, end))
        start = end
    gaps[-1] += line_endings[-1]


def _join_wrapped_lines(
    lines: list[str], line_endings: list[str]
) -> tuple[str, list[tuple[int, str]]]:
    """Join wrapped lines; return the joined line, and the offset and characters of each break."""
    body = lines[0]
    breaks = []
    for line, end in zip(lines[1:], line_endings[:-1], strict=True):
        bare = line.lstrip()
        trailing = body[len(body.rstrip()) :]
        body = body.rstrip()
        breaks.append((len(body), trailing + end + line[: len(line) - len(bare)]))
        body += " " + bare
    return body, breaks


def _gap_text(body: str, breaks: list[tuple[int, str]], start: int, stop: int) -> str:
    """Return the text between two offsets of a joined line, with its line breaks restored."""
    text, last = "", start
    for at, mark in breaks:
        if start <= at < stop:
            text += body[last:at] + mark
            last = at + 1
    return _remove_invisible_characters(text + body[last:stop])


def _remove_invisible_characters(text: str) -> str:
    return _CONTROL.sub("", _INVISIBLE.sub("", text))
