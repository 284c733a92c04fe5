"""Reads pooled updates (updates shown to assessors) and their matches with nuggets.

File formats are described in `files`. A match is a span of characters; every word that overlaps the
span matches the nugget. An update that duplicates another exactly has the matches of its original.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from builder.tasks.summarization.files import (
    Event,
    NuggetMatch,
    PooledUpdate,
    RowWithLocation,
    normalize_event_id,
    read_rows,
)
from builder.tasks.summarization.measures import WordIndexes

NO_DUPLICATE = "NULL"
_WORD = re.compile(r"\S+")


def read_pool(events: dict[str, Event], updates: Path, matches: Path) -> Counter[str]:
    """Read pooled updates and their matches with nuggets, and add them to the events.

    Args:
        events: Events with nuggets, by id; their `pool` is filled.
        updates: File of pooled updates.
        matches: File of matches.

    Returns:
        Number of ignored lines by reason.

    Raises:
        FormatError: a line is malformed, or an update occurs twice.
    """
    reader = _PoolReader(events)
    reader.read_updates(updates)
    reader.read_matches(matches)
    return reader.ignored


def count_words(text: str) -> int:
    """Return the number of whitespace-separated words in a text."""
    return len(_WORD.findall(text))


def matching_word_indexes(update: PooledUpdate) -> dict[str, WordIndexes]:
    """Return, by nugget id, the indexes of the words in an update that match the nugget."""
    spans = [match.span() for match in _WORD.finditer(update.text)]
    words: dict[str, WordIndexes] = {}
    for match in update.matches:
        inside = [i for i, (a, b) in enumerate(spans) if a < match.end and match.start < b]
        words[match.nugget] = words.get(match.nugget, frozenset()).union(inside)
    return words


@dataclass(slots=True)
class _PoolReader:
    """Reader of pooled updates and matches, which counts ignored lines.

    Args:
        events: Events with nuggets, by id.
        ignored: Number of ignored lines for each reason.
    """

    events: dict[str, Event]
    ignored: Counter[str] = field(default_factory=Counter)

    def read_updates(self, path: Path) -> None:
        """Read a file of pooled updates, and add the updates to the pools of their events."""
        for row in read_rows(path, 5, (3, 4)):
            event = self._find_event(row)
            if event is None:
                continue
            name, length, text = row.fields[1], row.parse_integer(4, "length"), row.join_fields(6)
            if name in event.pool or length < 0:
                raise row.create_format_error(
                    "a unique update id, and a length of at least 0", (name, length)
                )
            if length and not text.strip():
                raise row.create_format_error("the text of the update as field 7", text)
            original = row.fields[5] if len(row.fields) > 5 else NO_DUPLICATE
            copied = original not in {NO_DUPLICATE, "", name}
            event.pool[name] = PooledUpdate(text, original if copied else None)

    def read_matches(self, path: Path) -> None:
        """Read a file of matches with nuggets, and add the matches to their pooled updates."""
        for row in read_rows(path, 5, (3, 4)):
            event = self._find_event(row)
            if event is None:
                continue
            start, end = row.parse_integer(3, "start"), row.parse_integer(4, "end")
            if not 0 <= start <= end:
                raise row.create_format_error("a span with 0 <= start <= end", (start, end))
            update, nugget = event.pool.get(row.fields[1]), row.fields[2]
            if update is None:
                self.ignored["match with an unpooled update"] += 1
            elif nugget not in event.nuggets:
                self.ignored["match with an unknown nugget"] += 1
            else:
                update.matches.append(NuggetMatch(nugget, start, end))

    def _find_event(self, row: RowWithLocation) -> Event | None:
        """Return the event that a row names; None if the event has no nuggets.

        A row whose event has no nuggets is added to the count of ignored lines.
        """
        event = self.events.get(normalize_event_id(row.fields[0]))
        if event is None:
            self.ignored["update or match that refers to an event without nuggets"] += 1
        return event
