"""Reads nuggets, runs and events of the TREC Temporal Summarization track.

Nuggets, pooled updates and matches are tab-separated; runs are whitespace-separated; events are
tab-separated or XML topics of the track. All files may have a header, and may be compressed.

    nuggets   event  nugget  unix_time  importance  characters  text
    updates   event  update  document  sentence  characters  duplicate_of  text
    matches   event  update  nugget  start  end  [...]
    run       event  team  run  document  sentence  unix_time  confidence
    events    event  start  end

The id of an update is `<document>-<sentence>`. The prefix of an event id, such as `TS14.`, is
optional. Lengths in characters are validated but not used; words are counted in the
texts. Module `pool` reads the pooled updates and matches.
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
_LETTER = re.compile(r"[^\W\d_]")
_CONFIDENCE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgedNugget:
    """Nugget as listed in a nugget file: a fact about an event, extracted by assessors.

    Args:
        time: Time in Unix seconds.
        importance: Importance from 0 (none) to 3 (high).
        text: Text of the nugget.
    """

    time: int
    importance: float
    text: str


@dataclass(frozen=True, slots=True)
class NuggetMatch:
    """Match between a nugget and the characters [start, end) of the text of an update."""

    nugget: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PooledUpdate:
    """Update shown to assessors.

    Args:
        text: Text of the update.
        original: Id of the update of which this update is an exact duplicate; None if it is not a
            duplicate.
        matches: Matches between nuggets and the text, in file order.
    """

    text: str
    original: str | None = None
    matches: list[NuggetMatch] = field(default_factory=list)


@dataclass(slots=True)
class Event:
    """Nuggets and pooled updates of one event.

    Args:
        nuggets: Nuggets by id.
        pool: Pooled updates by id.
        interval: Start and end in Unix seconds; None if unknown.
    """

    nuggets: dict[str, JudgedNugget] = field(default_factory=dict)
    pool: dict[str, PooledUpdate] = field(default_factory=dict)
    interval: tuple[int, int] | None = None

    def find_pooled_update(self, update_id: str) -> PooledUpdate | None:
        """Return the pooled update with this id, or the original if that update is a duplicate.

        Returns None if no pooled update has the id.
        """
        pooled = self.pool.get(update_id)
        if pooled is None or pooled.original is None:
            return pooled
        return self.pool.get(pooled.original, pooled)


@dataclass(frozen=True, slots=True)
class PushedUpdate:
    """Update pushed by a system, with its id and its time in Unix seconds."""

    update_id: str
    time: int


@dataclass(frozen=True, slots=True)
class RowWithLocation:
    """Fields of a line, with the file and line number for error messages."""

    file: Path
    line: int
    fields: list[str]

    def parse_integer(self, index: int, name: str) -> int:
        """Parse a field as an integer.

        Raises:
            FormatError: the field is not an integer.
        """
        return int(self._require_field(_INTEGER, index, f"an integer as {name}"))

    def parse_number(self, index: int, name: str) -> float:
        """Parse a field as a decimal number.

        Raises:
            FormatError: the field is not a decimal number.
        """
        return float(self._require_field(_NUMBER, index, f"a number as {name}"))

    def is_header(self, numeric_fields: Sequence[int]) -> bool:
        """Return whether this row is a header.

        A header is the first line, and has a letter in every field that should be numeric.
        """
        return self.line == 1 and all(_LETTER.search(self.fields[i]) for i in numeric_fields)

    def join_fields(self, start: int) -> str:
        """Return all fields from index `start`, joined by spaces."""
        return " ".join(self.fields[start:])

    def _require_field(self, pattern: re.Pattern[str], index: int, expected: str) -> str:
        """Return the field at an index if it matches a pattern; otherwise raise a `FormatError`."""
        text = self.fields[index]
        if not pattern.fullmatch(text):
            raise self.create_format_error(f"{expected} (field {index + 1})", text)
        return text

    def create_format_error(self, expected: str, found: object) -> FormatError:
        """Return a `FormatError` that names the file and line of this row."""
        return FormatError(f"expected {expected}, found {found!r}", self.file, self.line)


def normalize_event_id(event_id: str) -> str:
    """Remove the prefix of the track from an event id: `TS14.11` becomes `11`."""
    return _EVENT_PREFIX.sub("", event_id)


def read_rows(
    path: Path, min_fields: int, numeric_fields: Sequence[int]
) -> Iterator[RowWithLocation]:
    """Yield the rows of a tab-separated file, without the header and blank lines.

    Args:
        path: Tab-separated file.
        min_fields: Minimum number of fields.
        numeric_fields: Indexes of the fields that should be numeric. The first line is a header if
            all of these fields contain a letter.

    Raises:
        FormatError: a line has too few fields.
    """
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row = RowWithLocation(path, line, text.split("\t"))
        if len(row.fields) < min_fields:
            raise row.create_format_error(f"at least {min_fields} tab-separated fields", text[:120])
        if row.is_header(numeric_fields):
            continue
        yield row


def read_nuggets(path: Path) -> dict[str, Event]:
    """Read a file of nuggets, and return events with their nuggets, by event id.

    Raises:
        FormatError: a line is malformed or has no text, or a nugget occurs twice.
    """
    events: dict[str, Event] = {}
    for row in read_rows(path, 5, (2, 3, 4)):
        nuggets = events.setdefault(normalize_event_id(row.fields[0]), Event()).nuggets
        name, importance, text = (
            row.fields[1],
            row.parse_number(3, "importance"),
            row.join_fields(5),
        )
        if name in nuggets:
            raise row.create_format_error("a nugget id that is unique in its event", name)
        if importance < 0 or row.parse_integer(4, "length") < 0:
            raise row.create_format_error(
                "an importance and a length of at least 0", row.fields[3:5]
            )
        if not text.strip():
            raise row.create_format_error("the text of the nugget as field 6", text)
        nuggets[name] = JudgedNugget(row.parse_integer(2, "unix time"), importance, text)
    return events


def read_run(path: Path) -> dict[str, dict[str, list[PushedUpdate]]]:
    """Read a run file, and return the pushed updates by system (`team-run`) and event.

    Raises:
        FormatError: a line is malformed.
    """
    systems: dict[str, dict[str, list[PushedUpdate]]] = {}
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        row = RowWithLocation(path, line, text.split())
        if len(row.fields) != 7:
            raise row.create_format_error("7 whitespace-separated fields", text[:120])
        if row.is_header((4, 5, 6)):
            continue
        event, team, run, document, sentence, _, confidence = row.fields
        if not _CONFIDENCE.fullmatch(confidence):
            raise row.create_format_error("a number as confidence (field 7)", confidence)
        pushed = PushedUpdate(f"{document}-{sentence}", row.parse_integer(5, "unix time"))
        by_event = systems.setdefault(f"{team}-{run}", {})
        by_event.setdefault(normalize_event_id(event), []).append(pushed)
    return systems


def read_runs(paths: Sequence[Path]) -> dict[str, dict[str, list[PushedUpdate]]]:
    """Read several run files, and return the pushed updates by system and event.

    Raises:
        FormatError: a line is malformed.
        UsageError: a system is in two files, or there is no system.
    """
    systems: dict[str, dict[str, list[PushedUpdate]]] = {}
    for path in paths:
        run = read_run(path)
        duplicates = sorted(systems.keys() & run.keys())
        require(not duplicates, "each system in only one run file", duplicates)
        systems |= run
    require(
        bool(systems), "run files with at least one pushed update", [str(path) for path in paths]
    )
    return systems


def read_events(path: Path) -> dict[str, tuple[int, int]]:
    """Read the start and end of each event from a TSV or XML file; return them by event id.

    Raises:
        FormatError: a line is malformed, an event occurs twice, or an event does not end
            after its start.
    """
    is_xml = ".xml" in [suffix.lower() for suffix in path.suffixes]
    intervals: dict[str, tuple[int, int]] = {}
    for row in _read_xml_topics(path) if is_xml else read_rows(path, 3, (1, 2)):
        name = normalize_event_id(row.fields[0])
        interval = (row.parse_integer(1, "start"), row.parse_integer(2, "end"))
        if name in intervals or interval[0] >= interval[1]:
            raise row.create_format_error(
                "a unique event id, and an end after the start", row.fields[:3]
            )
        intervals[name] = interval
    return intervals


def _read_xml_topics(path: Path) -> Iterator[RowWithLocation]:
    """Yield the fields id, start and end of every event in an XML file of topics."""
    text = "\n".join(line for _, line in numbered_lines(path))
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  expat bounds entity expansion
    except ElementTree.ParseError as error:
        raise FormatError(f"expected XML topics: {error}", path) from error
    for number, event in enumerate(root.iter("event"), start=1):
        fields = [(event.findtext(name) or "").strip() for name in ("id", "start", "end")]
        yield RowWithLocation(path, number, fields)
