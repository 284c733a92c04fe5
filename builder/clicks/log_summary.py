"""Summary of the records that were read and rejected from a standalone query log."""

from collections import Counter
from dataclasses import dataclass, field

MAX_EXAMPLES = 3
"""Maximum number of example records per reject reason."""


@dataclass
class LogSummary:
    """Numbers of records read and rejected from a log, with examples of rejected records.

    Args:
        file: Path of the log.
        impressions: Number of records read.
        rejected: Number of rejected records by reason.
        examples: Record numbers of the first rejects by reason; empty for Parquet read in place and
            for `bad_list`.
        notes: Messages to the user, such as a detected encoding.
    """

    file: str
    impressions: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def reject(self, reason: str, record_number: int) -> None:
        """Count a rejected record, and keep the first record numbers of each reason as examples."""
        self.rejected[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(record_number)

    @property
    def used(self) -> int:
        """Number of records that are valid impressions."""
        return self.impressions - sum(self.rejected.values())
