"""Snapshot names and their intervals: consecutive months."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

FIRST = (2022, 6)


@dataclass(frozen=True)
class Month:
    """A calendar month.

    Args:
        year: Year.
        month: Month, from 1.
    """

    year: int
    month: int

    @property
    def name(self) -> str:
        """Snapshot name such as `2022-06`."""
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def next(self) -> "Month":
        """The month after it."""
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def first_day(self) -> date:
        """Its first day."""
        return date(self.year, self.month, 1)

    @property
    def start(self) -> int:
        """Unix seconds of its beginning, UTC."""
        return int(datetime(self.year, self.month, 1, tzinfo=UTC).timestamp())

    @property
    def stop(self) -> int:
        """Unix seconds of its end, UTC."""
        return self.next.start


def months(count: int) -> list[Month]:
    """Consecutive months from the first one."""
    found = [Month(*FIRST)]
    while len(found) < count:
        found.append(found[-1].next)
    return found
