"""Emoji and emoticons that say how a post was meant, and the distant labels they give.

In: a list of markers (tab-separated: marker, kind, polarity, name) and texts. Out: the markers of
a text, its distant label, and the text without them. Distant supervision as for the classification
task of LongEval 2023 (TM-Senti; Yin, Alkhalifa, Zubiaga 2021); the list is our own.

Of overlapping markers the longest one counts: `:))` is not `:)`. The last character of an emoticon
may repeat (`:DDD`, `:((((`), emoticons may follow each other (`:):)`), and emoji take any skin tone
and variation selector. An emoji inside a longer joined sequence is another emoji. Emoticons do not
touch letters or digits that would make them a part of a word, a time or an address (`http://`,
`10:(3)`, `xDirect`), except that one without letters may end a word (`thanks:)`).
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
Label: TypeAlias = Literal["positive", "negative", "both", "none"]

POLARITIES: tuple[Polarity, Polarity] = ("positive", "negative")
KINDS = ("emoji", "emoticon")
HEADER = ["marker", "kind", "polarity", "name"]
_JOINER = "\u200d"
_TONES = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*+"
_FACE = r":;=()\[\]{}<>/\\|^_*"
"""Characters beside an emoticon that would make it another one."""
_ADDRESS = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S*|\bwww\.\S+")


@dataclass(frozen=True, slots=True)
class Marker:
    """An emoji or emoticon and what it says."""

    text: str
    kind: str
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class Found:
    """A marker in a text: text[start:end] says `polarity`."""

    start: int
    end: int
    polarity: Polarity


class MarkerList:
    """A list of markers, ready to be found.

    Args:
        markers: At least one, each once.
    """

    def __init__(self, markers: Iterable[Marker]) -> None:
        self.markers = tuple(markers)
        self._polarity = {_bare(marker.text): marker.polarity for marker in self.markers}
        self._emoji = _emoji_pattern(self._texts("emoji"))
        emoticons = self._texts("emoticon")
        self._emoticon, self._run = _emoticon_patterns(emoticons)
        self._by_group = {_group(i): self._polarity[text] for i, text in enumerate(emoticons)}

    def _texts(self, kind: str) -> list[str]:
        """Markers of a kind, longest first, so that an alternation prefers the longest."""
        texts = (marker.text for marker in self.markers if marker.kind == kind)
        return sorted(texts, key=lambda text: (-len(text), text))

    @property
    def needles(self) -> list[str]:
        """Strings of which a text with a marker holds at least one; for a quick first look."""
        return sorted({marker.text.partition("\ufe0f")[0] for marker in self.markers})

    def find(self, text: str) -> list[Found]:
        """The markers of a text, in order."""
        found = sorted(
            [*self._find_emoji(text), *self._find_emoticons(text)], key=lambda item: item.start
        )
        addresses = [match.span() for match in _ADDRESS.finditer(text)] if found else []
        return [item for item in found if not any(a <= item.start < b for a, b in addresses)]

    def strip(self, text: str) -> str:
        """A text without markers, and without those that their removal brings together."""
        while found := self.find(text):
            text = without(text, found)
        return text

    def _find_emoji(self, text: str) -> Iterator[Found]:
        for match in self._emoji.finditer(text):
            yield Found(match.start(), match.end(), self._polarity[_bare(match["marker"])])

    def _find_emoticons(self, text: str) -> Iterator[Found]:
        for run in self._run.finditer(text):
            for match in self._emoticon.finditer(text, run.start(), run.end()):
                polarity = self._by_group[str(match.lastgroup)]
                yield Found(match.start(), match.end(), polarity)


def _group(number: int) -> str:
    return f"emoticon_{number}"


def _bare(text: str) -> str:
    return text.replace("\ufe0f", "")


def _emoji_pattern(texts: list[str]) -> re.Pattern[str]:
    forms = "|".join("\ufe0f?".join(map(re.escape, text.split("\ufe0f"))) for text in texts)
    if not forms:
        return re.compile(r"(?P<marker>(?!))")
    first = re.escape("".join(sorted({text[0] for text in texts})))
    return re.compile(f"(?=[{first}])(?<!{_JOINER})(?P<marker>{forms}){_TONES}(?!{_JOINER})")


def _emoticon_patterns(texts: list[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One emoticon, each in a group of its own, and a run of emoticons with its surroundings."""
    if not texts:
        return re.compile(r"(?!)"), re.compile(r"(?!)")
    repeated = [f"{re.escape(text)}{re.escape(text[-1])}*+" for text in texts]
    one = "|".join(f"(?P<{_group(number)}>{form})" for number, form in enumerate(repeated))
    worded = "|".join(re.escape(text) for text in texts if text[0].isalnum())
    first = re.escape("".join(sorted({text[0] for text in texts})))
    before = rf"(?=[{first}])(?<![{_FACE}\d])" + (rf"(?!(?<=\w)(?:{worded}))" if worded else "")
    run = re.compile(rf"{before}(?>(?:{'|'.join(repeated)})++)(?![\w{_FACE}])")
    return re.compile(one), run


def label(found: Iterable[Found]) -> Label:
    """The distant label of a text with these markers."""
    sides = {item.polarity for item in found}
    if len(sides) > 1:
        return "both"
    return next(iter(sides), "none")


def without(text: str, found: Iterable[Found]) -> str:
    """A text without its markers, and without the doubled or outer space that they leave."""
    kept, position = "", 0
    for item in found:
        kept += text[position : item.start]
        position = item.end
        if text[position : position + 1].isspace() and kept[-1:].isspace():
            position += 1
    return (kept + text[position:]).strip()


def read_markers(path: Path | None = None) -> MarkerList:
    """Read a list of markers.

    Args:
        path: A tab-separated file with a header; None: the list of this project.

    Raises:
        FormatError: the header or a line is wrong, or a marker comes twice.
    """
    if path is not None:
        return _read(path)
    with as_file(files(__package__) / "markers.tsv") as own:
        return _read(own)


def _read(path: Path) -> MarkerList:
    markers: dict[str, Marker] = {}
    for line, text in numbered_lines(path):
        fields = text.split("\t")
        if line == 1:
            if fields != HEADER:
                raise FormatError(f"expected the header {HEADER}, found {fields}", path, line)
            continue
        if len(fields) != len(HEADER) or fields[1] not in KINDS or fields[2] not in POLARITIES:
            raise FormatError(
                f"expected marker, {' or '.join(KINDS)}, {' or '.join(POLARITIES)}, name; "
                f"found {fields}",
                path,
                line,
            )
        bare = _bare(fields[0])
        if not bare or any(map(str.isspace, bare)) or bare in markers:
            raise FormatError(f"expected each marker once, found {fields[0]!r}", path, line)
        markers[bare] = Marker(fields[0], fields[1], fields[2])
    if not markers:
        raise FormatError("expected one or more markers, found none", path)
    return MarkerList(markers.values())
