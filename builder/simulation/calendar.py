"""Calendar months, each of which is the time interval of a simulated snapshot."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

FIRST_MONTH = (2022, 6)
"""Year and month of the first snapshot."""


@dataclass(frozen=True)
class Month:
    """Calendar month.

    Args:
        year: Year, such as 2022.
        month: Number of the month, from 1 to 12.
    """

    year: int
    month: int

    @property
    def name(self) -> str:
        """Name of the month, such as `2022-06`."""
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def next_month(self) -> "Month":
        """Month after this month."""
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def first_day(self) -> date:
        """First day of the month."""
        return date(self.year, self.month, 1)

    @property
    def start(self) -> int:
        """Start of the month in UTC, as Unix time in seconds."""
        return int(datetime(self.year, self.month, 1, tzinfo=UTC).timestamp())

    @property
    def end(self) -> int:
        """End of the month in UTC, as Unix time in seconds; equals the start of the next month."""
        return self.next_month.start


def consecutive_months(count: int) -> list[Month]:
    """Return `count` consecutive months, starting with `FIRST_MONTH`."""
    months = [Month(*FIRST_MONTH)]
    while len(months) < count:
        months.append(months[-1].next_month)
    return months
