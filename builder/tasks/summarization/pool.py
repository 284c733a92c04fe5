"""The pool of updates that assessors saw, and the spans of them that match nuggets.

In: pooled updates and matches, in the formats that `files` describes. Out: the pool of each event,
and for the metrics document the words of an update that match each nugget: those that share a
character with a span. An exact duplicate matches what its original matches.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from builder.tasks.summarization.files import Event, Match, PooledUpdate, Row, event_name, rows
from builder.tasks.summarization.measures import Words

NO_DUPLICATE = "NULL"
_WORD = re.compile(r"\S+")


def read_pool(events: dict[str, Event], updates: Path, matches: Path) -> Counter[str]:
    """Read pooled updates and their matches into the events that have nuggets.

    Args:
        events: Events with their nuggets; their pools are filled.
        updates: File of pooled updates.
        matches: File of matches.

    Returns:
        Number of lines left out, by reason.

    Raises:
        FormatError: a line is not an update or not a match, or an update is repeated.
    """
    reader = _PoolReader(events)
    reader.read_updates(updates)
    reader.read_matches(matches)
    return reader.ignored


def word_count(text: str) -> int:
    """Return the number of words of a text, separated by white space."""
    return len(_WORD.findall(text))


def matched_words(update: PooledUpdate) -> dict[str, Words]:
    """Return for each nugget the indexes of the words of an update that match it."""
    spans = [match.span() for match in _WORD.finditer(update.text)]
    words: dict[str, Words] = {}
    for match in update.matches:
        inside = [i for i, (a, b) in enumerate(spans) if a < match.end and match.start < b]
        words[match.nugget] = words.get(match.nugget, frozenset()).union(inside)
    return words


@dataclass(slots=True)
class _PoolReader:
    events: dict[str, Event]
    ignored: Counter[str] = field(default_factory=Counter)

    def read_updates(self, path: Path) -> None:
        for row in rows(path, 5, 4):
            event = self._event(row)
            if event is None:
                continue
            name, length, text = row.fields[1], row.integer(4, "length"), row.text(6)
            if name in event.pool or length < 0:
                raise row.wrong("each update once, with a length of 0 or more", (name, length))
            if length and not text.strip():
                raise row.wrong("the text of the update (field 7)", text)
            original = row.fields[5] if len(row.fields) > 5 else NO_DUPLICATE
            copied = original not in {NO_DUPLICATE, "", name}
            event.pool[name] = PooledUpdate(text, original if copied else None)

    def read_matches(self, path: Path) -> None:
        for row in rows(path, 5, 3):
            event = self._event(row)
            if event is None:
                continue
            start, end = row.integer(3, "start"), row.integer(4, "end")
            if not 0 <= start <= end:
                raise row.wrong("a span with 0 <= start <= end", (start, end))
            update, nugget = event.pool.get(row.fields[1]), row.fields[2]
            if update is None:
                self.ignored["match of an update that is not pooled"] += 1
            elif nugget not in event.nuggets:
                self.ignored["match with an unknown nugget"] += 1
            else:
                update.matches.append(Match(nugget, start, end))

    def _event(self, row: Row) -> Event | None:
        event = self.events.get(event_name(row.fields[0]))
        if event is None:
            self.ignored["update or match of an event without nuggets"] += 1
        return event
