"""Files of the TREC Temporal Summarization track.

In: tab-separated nuggets, pooled updates and matches, each with or without a header, white-space
separated runs, and events (tab-separated, or the XML topics of the track); plain or compressed.

    nuggets   event  nugget  unix_time  importance  words  [text]
    updates   event  update  document  sentence  words  [duplicate_of  [text]]
    matches   event  update  nugget  start  end  [...]
    run       event  team  run  document  sentence  unix_time  confidence
    events    event  start  end

An update is `<document>-<sentence>`. A prefix such as `TS14.` of an event id is dropped, as the
files of the track do not agree on it. Out: `Event` objects and the pushed updates of each system;
`summarization_matches` fills in the pool.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from builder.errors import FormatError
from builder.evaluation.checks import require
from builder.evaluation.textlines import numbered_lines
from builder.tasks.summarization.measures import Nugget, Words

_EVENT_PREFIX = re.compile(r"^TS\d+\.")
_INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)
_CONFIDENCE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PooledUpdate:
    """An update whose text was seen by an assessor.

    Args:
        words: Its length in words.
        matches: The nuggets that it matches, and its words that match each.
    """

    words: int
    matches: dict[str, Words]


@dataclass(slots=True)
class Event:
    """What is known about an event.

    Args:
        nuggets: By id.
        pool: Judged updates by id; exact duplicates hold what their original holds.
        interval: First and last unix second; null where no events file was given.
    """

    nuggets: dict[str, Nugget] = field(default_factory=dict)
    pool: dict[str, PooledUpdate] = field(default_factory=dict)
    interval: tuple[int, int] | None = None


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
        """A field as an integer."""
        return int(self._matching(_INTEGER, position, f"an integer as {name}"))

    def number(self, position: int, name: str) -> float:
        """A field as a decimal number."""
        return float(self._matching(_NUMBER, position, f"a number as {name}"))

    def _matching(self, pattern: re.Pattern[str], position: int, expected: str) -> str:
        text = self.fields[position]
        if not pattern.fullmatch(text):
            raise self.wrong(f"{expected} (field {position + 1})", text)
        return text

    def wrong(self, expected: str, found: object) -> FormatError:
        """An error about this line."""
        return FormatError(f"expected {expected}, found {found!r}", self.file, self.line)


def event_name(text: str) -> str:
    """An event id without the prefix of its year: `TS14.11` is `11`."""
    return _EVENT_PREFIX.sub("", text)


def rows(path: Path, fewest: int, numeric: int) -> Iterator[Row]:
    """Tab-separated lines; a first line without a number where one belongs is a header."""
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row = Row(path, line, text.split("\t"))
        if len(row.fields) < fewest:
            raise row.wrong(f"{fewest} or more fields separated by tabs", text[:120])
        if line == 1 and not _NUMBER.fullmatch(row.fields[numeric]):
            continue
        yield row


def read_nuggets(path: Path) -> dict[str, Event]:
    """Read nuggets; the events of the file are the events that are evaluated.

    Raises:
        FormatError: a line is not a nugget, or a nugget comes twice.
    """
    events: dict[str, Event] = {}
    for row in rows(path, 5, 2):
        nuggets = events.setdefault(event_name(row.fields[0]), Event()).nuggets
        name, importance, words = (
            row.fields[1],
            row.number(3, "importance"),
            row.integer(4, "words"),
        )
        if name in nuggets:
            raise row.wrong("each nugget of an event once", name)
        if importance < 0 or words < 1:
            raise row.wrong("importance of 0 or more and 1 or more words", row.fields[3:5])
        nuggets[name] = Nugget(row.integer(2, "unix time"), importance, words)
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
