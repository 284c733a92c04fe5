"""Summary of a standalone query log: numbers of records read and rejected, and notes."""

from collections import Counter
from dataclasses import dataclass, field

MAX_EXAMPLES = 3
"""Maximum number of example records per reject reason."""


@dataclass
class LogSummary:
    """Counts of records read from a log and of those rejected, with examples of rejected records.

    Args:
        file: Path of the log.
        records: Number of records read, including rejected ones.
        rejected: Number of rejected records by reason.
        examples: Record numbers of the first rejects by reason; none for the reason `bad_list`, and
            none for Parquet files that are read in place.
        notes: Messages to the user, such as a detected encoding.
    """

    file: str
    records: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add_reject(self, reason: str, record_number: int) -> None:
        """Count a rejected record, and keep the first `MAX_EXAMPLES` record numbers per reason."""
        self.rejected[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(record_number)

    @property
    def impressions(self) -> int:
        """Number of records that were not rejected."""
        return self.records - sum(self.rejected.values())
