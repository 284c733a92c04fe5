"""The pool of updates that assessors saw, and which nuggets they match with which words.

In: pooled updates and matches, in the files that `summarization_files` describes. Out: the pool of
each event. A match covers the words that intersect its half-open span of characters of the update
text, or of words where the texts are not at hand. An update whose text is an exact duplicate of
another one matches what that one matches.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from builder.tasks.summarization.files import Event, PooledUpdate, Row, event_name, rows
from builder.tasks.summarization.measures import Words

SpanUnit: TypeAlias = Literal["characters", "words"]

NO_DUPLICATE = "NULL"
_WORD = re.compile(r"\S+")


def read_pool(
    events: dict[str, Event], updates: Path, matches: Path, unit: SpanUnit
) -> Counter[str]:
    """Read pooled updates and their matches into the events that have nuggets.

    Args:
        events: Events with their nuggets; their pools are filled.
        updates: File of pooled updates.
        matches: File of matches.
        unit: Unit of the spans of matches.

    Returns:
        How many lines were left out, by reason.

    Raises:
        FormatError: a line is not an update or not a match, an update comes twice, or a match
            lies outside its update.
    """
    reader = _PoolReader(events, unit)
    reader.read_updates(updates)
    reader.read_matches(matches)
    reader.share_matches()
    return reader.ignored


@dataclass(slots=True)
class _PoolReader:
    events: dict[str, Event]
    unit: SpanUnit
    ignored: Counter[str] = field(default_factory=Counter)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    duplicates: list[tuple[Event, str, str]] = field(default_factory=list)

    def read_updates(self, path: Path) -> None:
        for row in rows(path, 5, 4):
            event = self._event(row)
            if event is None:
                continue
            name, text, length = row.fields[1], " ".join(row.fields[6:]), row.integer(4, "words")
            if name in event.pool or length < 0:
                raise row.wrong(
                    "each update of an event once, with 0 or more words", (name, length)
                )
            event.pool[name] = PooledUpdate(len(_WORD.findall(text)) or length, {})
            self.texts[event_name(row.fields[0]), name] = text
            original = row.fields[5] if len(row.fields) > 5 else NO_DUPLICATE
            if original not in {NO_DUPLICATE, "", name}:
                self.duplicates.append((event, name, original))

    def read_matches(self, path: Path) -> None:
        for row in rows(path, 5, 3):
            event = self._event(row)
            if event is None:
                continue
            update, nugget = event.pool.get(row.fields[1]), row.fields[2]
            if update is None:
                self.ignored["match of an update that is not pooled"] += 1
            elif nugget not in event.nuggets:
                self.ignored["match with an unknown nugget"] += 1
            else:
                known = update.matches.get(nugget, frozenset())
                update.matches[nugget] = known | self._words(row, update)

    def _words(self, row: Row, update: PooledUpdate) -> Words:
        start, end = row.integer(3, "start"), row.integer(4, "end")
        if not 0 <= start <= end:
            raise row.wrong("a span with 0 <= start <= end", (start, end))
        if self.unit == "words":
            if end > update.words:
                raise row.wrong(f"a span within the {update.words} words of the update", end)
            return frozenset(range(start, end))
        text = self.texts[event_name(row.fields[0]), row.fields[1]]
        if not text:
            raise row.wrong("a match of an update with a text, or spans in words", row.fields[1])
        words = enumerate(_WORD.finditer(text))
        return frozenset(i for i, word in words if word.start() < end and start < word.end())

    def _event(self, row: Row) -> Event | None:
        event = self.events.get(event_name(row.fields[0]))
        if event is None:
            self.ignored["update or match of an event without nuggets"] += 1
        return event

    def share_matches(self) -> None:
        """Let exact duplicates match what their originals match."""
        for event, name, original in self.duplicates:
            if original in event.pool:
                event.pool[name] = event.pool[original]
