"""Sentiment markers (emoji and emoticons) in texts, and the distant labels derived from them.

Distant supervision follows the classification task of LongEval 2023 (TM-Senti; Yin, Alkhalifa,
Zubiaga 2021), with a marker list compiled for this project.

Of overlapping markers, the longest matches: `:))` is not `:)`. The last character of an emoticon
may be repeated (`:DDD`), emoticons may be adjacent (`:):)`), and emoji may have any skin tone and
variation selector. An emoji that is part of a zero-width joiner sequence does not match.
Emoticons do not match inside words, times and URLs (`xDirect`, `10:(3)`, `http://`), but an
emoticon without letters may end a word (`thanks:)`), unless it begins with a closing bracket: the
end of `(see below):` is not an emoticon.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal, TypeAlias

from builder.errors import FormatError
from builder.evaluation.textlines import numbered_lines

Polarity: TypeAlias = Literal["positive", "negative"]
DistantLabel: TypeAlias = Literal["positive", "negative", "both", "none"]

POLARITIES: tuple[Polarity, Polarity] = ("positive", "negative")
KINDS = ("emoji", "emoticon")
HEADER = ["marker", "kind", "polarity", "name"]
_ZERO_WIDTH_JOINER = "\u200d"
_MODIFIERS = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*+"
_EMOTICON_CHARS = r":;=()\[\]{}<>/\\|^_*"
"""Characters that turn an emoticon into a different emoticon if they precede or follow it."""
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S*|\bwww\.\S+")


@dataclass(frozen=True, slots=True)
class Marker:
    """Emoji or emoticon, with its kind and polarity."""

    text: str
    kind: str
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class MarkerMatch:
    """Occurrence of a marker in a text, which is the slice text[start:end]."""

    start: int
    end: int
    polarity: Polarity


class MarkerList:
    """List of sentiment markers, compiled for searching in texts.

    Args:
        markers: Distinct markers, at least one.
    """

    def __init__(self, markers: Iterable[Marker]) -> None:
        self.markers = tuple(markers)
        self._polarities = {
            _strip_variation_selectors(marker.text): marker.polarity for marker in self.markers
        }
        self._emoji_pattern = _compile_emoji_pattern(self._marker_texts_longest_first("emoji"))
        emoticons = self._marker_texts_longest_first("emoticon")
        self._emoticon_pattern, self._run_pattern = _compile_emoticon_patterns(emoticons)
        self._group_polarities = {
            _emoticon_group_name(i): self._polarities[text] for i, text in enumerate(emoticons)
        }

    def _marker_texts_longest_first(self, kind: str) -> list[str]:
        """Return the texts of all markers of a kind, longest first (the order of preference)."""
        texts = (marker.text for marker in self.markers if marker.kind == kind)
        return sorted(texts, key=lambda text: (-len(text), text))

    @property
    def prefilter_strings(self) -> list[str]:
        """Strings for a fast prefilter: a text with a marker contains at least one of them."""
        return sorted({marker.text.partition("\ufe0f")[0] for marker in self.markers})

    def find_all(self, text: str) -> list[MarkerMatch]:
        """Return all markers in a text except those in URLs, in order of position."""
        matches = [*self._find_emoji(text), *self._find_emoticons(text)]
        urls = [url.span() for url in _URL.finditer(text)] if matches else []
        outside_urls = (m for m in matches if not any(a <= m.start < b for a, b in urls))
        return sorted(outside_urls, key=lambda match: match.start)

    def remove_all(self, text: str) -> str:
        """Remove markers from a text repeatedly, until it contains no marker."""
        while matches := self.find_all(text):
            text = remove_matches(text, matches)
        return text

    def _find_emoji(self, text: str) -> Iterator[MarkerMatch]:
        for match in self._emoji_pattern.finditer(text):
            yield MarkerMatch(
                match.start(),
                match.end(),
                self._polarities[_strip_variation_selectors(match["marker"])],
            )

    def _find_emoticons(self, text: str) -> Iterator[MarkerMatch]:
        for run in self._run_pattern.finditer(text):
            for match in self._emoticon_pattern.finditer(text, run.start(), run.end()):
                polarity = self._group_polarities[str(match.lastgroup)]
                yield MarkerMatch(match.start(), match.end(), polarity)


def _emoticon_group_name(index: int) -> str:
    return f"emoticon_{index}"


def _strip_variation_selectors(text: str) -> str:
    return text.replace("\ufe0f", "")


def _compile_emoji_pattern(emoji: list[str]) -> re.Pattern[str]:
    forms = "|".join("\ufe0f?".join(map(re.escape, text.split("\ufe0f"))) for text in emoji)
    if not forms:
        return re.compile(r"(?P<marker>(?!))")
    first = re.escape("".join(sorted({text[0] for text in emoji})))
    return re.compile(
        f"(?=[{first}])(?<!{_ZERO_WIDTH_JOINER})(?P<marker>{forms}){_MODIFIERS}(?!{_ZERO_WIDTH_JOINER})"
    )


def _compile_emoticon_patterns(emoticons: list[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a regex for a single emoticon, and a regex for a sequence of adjacent emoticons.

    The regex for a single emoticon has a named group for each emoticon.
    """
    if not emoticons:
        return re.compile(r"(?!)"), re.compile(r"(?!)")
    repeated = [f"{re.escape(text)}{re.escape(text[-1])}*+" for text in emoticons]
    one = "|".join(
        f"(?P<{_emoticon_group_name(index)}>{form})" for index, form in enumerate(repeated)
    )
    worded = "|".join(re.escape(text) for text in emoticons if text[0].isalnum())
    closing = "|".join(re.escape(text) for text in emoticons if text[0] in ")]}")
    first = re.escape("".join(sorted({text[0] for text in emoticons})))
    before = rf"(?=[{first}])(?<![{_EMOTICON_CHARS}\d])"
    before += rf"(?!(?<=\w)(?:{worded}))" if worded else ""
    before += rf"(?!(?<=\S)(?:{closing}))" if closing else ""
    run = re.compile(rf"{before}(?>(?:{'|'.join(repeated)})++)(?![\w{_EMOTICON_CHARS}])")
    return re.compile(one), run


def distant_label(matches: Iterable[MarkerMatch]) -> DistantLabel:
    """Return the label that distant supervision gives a text.

    The label is the polarity of its markers, `both` if they conflict, or `none` if it has no
    markers.
    """
    polarities = {match.polarity for match in matches}
    if len(polarities) > 1:
        return "both"
    return next(iter(polarities), "none")


def remove_matches(text: str, matches: Iterable[MarkerMatch]) -> str:
    """Remove the matched markers from a text, and the duplicate spaces left by the removal."""
    result, position = "", 0
    for match in matches:
        result += text[position : match.start]
        position = match.end
        if text[position : position + 1].isspace() and result[-1:].isspace():
            position += 1
    return (result + text[position:]).strip()


def read_markers(path: Path | None = None) -> MarkerList:
    """Read a marker list.

    Args:
        path: Tab-separated file with a header and the columns marker, kind, polarity and name; None
            for the built-in list.

    Raises:
        FormatError: the header or a line is invalid, or a marker is repeated.
    """
    if path is not None:
        return _read_marker_file(path)
    with as_file(files(__package__) / "markers.tsv") as builtin_path:
        return _read_marker_file(builtin_path)


def _read_marker_file(path: Path) -> MarkerList:
    markers: dict[str, Marker] = {}
    for line, text in numbered_lines(path):
        fields = text.split("\t")
        if line == 1:
            if fields != HEADER:
                raise FormatError(f"expected header {HEADER}, found {fields}", path, line)
            continue
        if len(fields) != len(HEADER) or fields[1] not in KINDS or fields[2] not in POLARITIES:
            raise FormatError(
                f"expected marker, kind ({' or '.join(KINDS)}), polarity "
                f"({' or '.join(POLARITIES)}) and name; found {fields}",
                path,
                line,
            )
        key = _strip_variation_selectors(fields[0])
        if not key or any(map(str.isspace, key)) or key in markers:
            raise FormatError(
                f"expected distinct markers without spaces, found {fields[0]!r}", path, line
            )
        markers[key] = Marker(fields[0], fields[1], fields[2])
    if not markers:
        raise FormatError("expected at least one marker, found none", path)
    return MarkerList(markers.values())
