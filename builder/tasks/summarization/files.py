"""Files of the TREC Temporal Summarization track.

In: tab-separated nuggets, pooled updates and matches, each with or without a header, white-space
separated runs, and events (tab-separated, or the XML topics of the track); plain or compressed.

    nuggets   event  nugget  unix_time  importance  characters  text
    updates   event  update  document  sentence  characters  duplicate_of  text
    matches   event  update  nugget  start  end  [...]
    run       event  team  run  document  sentence  unix_time  confidence
    events    event  start  end

An update id is `<document>-<sentence>`. The prefix of an event id, such as `TS14.`, is optional.
Lengths are counted from the texts; the fields with lengths in characters are only checked. Out:
`Event` objects with their nuggets, and the pushed updates of each system; `pool` reads the updates
and matches.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from builder.errors import FormatError
from builder.evaluation.checks import require
from builder.evaluation.textlines import numbered_lines

_EVENT_PREFIX = re.compile(r"^TS\d+\.")
_INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)
_CONFIDENCE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgedNugget:
    """A nugget that assessors extracted.

    Args:
        time: Unix seconds.
        importance: 0 (none) to 3 (high).
        text: Its text.
    """

    time: int
    importance: float
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """A span of an update that matches a nugget: offsets [start, end) in the text of the update."""

    nugget: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PooledUpdate:
    """An update that assessors saw.

    Args:
        text: Its text.
        original: Id of the update of which it is an exact duplicate; None for originals.
        matches: Its matches, in the order of the matches file.
    """

    text: str
    original: str | None = None
    matches: list[Match] = field(default_factory=list)


@dataclass(slots=True)
class Event:
    """Nuggets and pooled updates of an event.

    Args:
        nuggets: By id.
        pool: Pooled updates by id.
        interval: First and last unix second; None without an events file.
    """

    nuggets: dict[str, JudgedNugget] = field(default_factory=dict)
    pool: dict[str, PooledUpdate] = field(default_factory=dict)
    interval: tuple[int, int] | None = None

    def resolve(self, update: str) -> PooledUpdate | None:
        """Return a pooled update, or its original where it is a duplicate; None if not pooled."""
        pooled = self.pool.get(update)
        if pooled is None or pooled.original is None:
            return pooled
        return self.pool.get(pooled.original, pooled)


@dataclass(frozen=True, slots=True)
class Pushed:
    """A line of a run: an update and when the system pushed it (unix seconds)."""

    update: str
    time: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file, split into fields."""

    file: Path
    line: int
    fields: list[str]

    def integer(self, position: int, name: str) -> int:
        """Return a field as an integer, or raise `FormatError`."""
        return int(self._matching(_INTEGER, position, f"an integer as {name}"))

    def number(self, position: int, name: str) -> float:
        """Return a field as a decimal number, or raise `FormatError`."""
        return float(self._matching(_NUMBER, position, f"a number as {name}"))

    def text(self, position: int) -> str:
        """Return a field and those after it as a text; tabs within become spaces."""
        return " ".join(self.fields[position:])

    def _matching(self, pattern: re.Pattern[str], position: int, expected: str) -> str:
        text = self.fields[position]
        if not pattern.fullmatch(text):
            raise self.wrong(f"{expected} (field {position + 1})", text)
        return text

    def wrong(self, expected: str, found: object) -> FormatError:
        """Return an error that names this line."""
        return FormatError(f"expected {expected}, found {found!r}", self.file, self.line)


def event_name(text: str) -> str:
    """Return an event id without the prefix of its year: `11` for `TS14.11`."""
    return _EVENT_PREFIX.sub("", text)


def rows(path: Path, min_fields: int, numeric: int) -> Iterator[Row]:
    """Yield the tab-separated lines of a file without its header.

    Args:
        path: The file.
        min_fields: Minimum number of fields.
        numeric: Index of a field with a number; a first line without one there is a header.

    Raises:
        FormatError: a line has too few fields.
    """
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row = Row(path, line, text.split("\t"))
        if len(row.fields) < min_fields:
            raise row.wrong(f"{min_fields} or more fields separated by tabs", text[:120])
        if line == 1 and not _NUMBER.fullmatch(row.fields[numeric]):
            continue
        yield row


def read_nuggets(path: Path) -> dict[str, Event]:
    """Read nuggets into events; only events with nuggets are evaluated.

    Raises:
        FormatError: a line is not a nugget with its text, or a nugget is repeated.
    """
    events: dict[str, Event] = {}
    for row in rows(path, 5, 2):
        nuggets = events.setdefault(event_name(row.fields[0]), Event()).nuggets
        name, importance, text = row.fields[1], row.number(3, "importance"), row.text(5)
        if name in nuggets:
            raise row.wrong("each nugget of an event once", name)
        if importance < 0 or row.integer(4, "length") < 0:
            raise row.wrong("an importance and a length of 0 or more", row.fields[3:5])
        if not text.strip():
            raise row.wrong("the text of the nugget (field 6)", text)
        nuggets[name] = JudgedNugget(row.integer(2, "unix time"), importance, text)
    return events


def read_summaries(path: Path) -> dict[str, dict[str, list[Pushed]]]:
    """Read a run: system (`team-run`) -> event -> pushed updates, in file order.

    Raises:
        FormatError: a line is not a pushed update.
    """
    systems: dict[str, dict[str, list[Pushed]]] = {}
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row = Row(path, line, text.split())
        if len(row.fields) != 7:
            raise row.wrong("7 fields separated by white space", text[:120])
        event, team, run, document, sentence, _, confidence = row.fields
        if not _CONFIDENCE.fullmatch(confidence):
            raise row.wrong("a number as confidence (field 7)", confidence)
        pushed = Pushed(f"{document}-{sentence}", row.integer(5, "unix time"))
        systems.setdefault(f"{team}-{run}", {}).setdefault(event_name(event), []).append(pushed)
    return systems


def read_all_summaries(paths: Sequence[Path]) -> dict[str, dict[str, list[Pushed]]]:
    """Read runs; see `read_summaries`.

    Raises:
        FormatError: a line is not a pushed update.
        UsageError: a system comes in two files, or there is none.
    """
    systems: dict[str, dict[str, list[Pushed]]] = {}
    for path in paths:
        found = read_summaries(path)
        twice = sorted(systems.keys() & found.keys())
        require(not twice, "each system in one file", twice)
        systems |= found
    require(bool(systems), "one or more runs that push an update", [str(path) for path in paths])
    return systems


def read_events(path: Path) -> dict[str, tuple[int, int]]:
    """Read the intervals of events, from tab-separated lines or from XML topics.

    Raises:
        FormatError: a line is not an event, an event ends before it starts or comes twice.
    """
    found = _topics(path) if path.name.lower().endswith(".xml") else rows(path, 3, 1)
    intervals: dict[str, tuple[int, int]] = {}
    for row in found:
        name, interval = event_name(row.fields[0]), (row.integer(1, "start"), row.integer(2, "end"))
        if name in intervals or interval[0] >= interval[1]:
            raise row.wrong("each event once, ending after its start", row.fields[:3])
        intervals[name] = interval
    return intervals


def _topics(path: Path) -> Iterator[Row]:
    text = "\n".join(line for _, line in numbered_lines(path))
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  expat bounds entity expansion
    except ElementTree.ParseError as error:
        raise FormatError(f"expected XML topics: {error}", path) from error
    for number, event in enumerate(root.iter("event"), start=1):
        fields = [(event.findtext(name) or "").strip() for name in ("id", "start", "end")]
        yield Row(path, number, fields)
