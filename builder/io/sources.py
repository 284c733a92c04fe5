"""Data types for raw input files and for the time intervals of snapshots."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from builder.text.names import to_valid_unicode


@dataclass(frozen=True)
class Source:
    """Raw input file or folder, with the name that messages use for it.

    Args:
        path: Path of the file or folder.
        name: Name in rejects and messages: the path as written in the definition, with non-UTF-8
            bytes escaped.
    """

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", to_valid_unicode(self.name))


@dataclass(frozen=True)
class Interval:
    """Half-open time interval in Unix seconds: `start <= time < stop`."""

    start: int
    stop: int

    def __contains__(self, time: int) -> bool:
        return self.start <= time < self.stop

    @classmethod
    def from_dates(cls, start: date, stop: date) -> "Interval":
        """Create an interval from dates or timestamps.

        A date stands for midnight in UTC. Timestamps without a time zone are in UTC.
        """
        return cls(_to_unix_seconds(start), _to_unix_seconds(stop))


def _to_unix_seconds(date_or_timestamp: date) -> int:
    time = date_or_timestamp
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day, tzinfo=UTC)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
