"""Counts the records of a standalone query log that were read and rejected."""

from collections import Counter
from dataclasses import dataclass, field

MAX_EXAMPLES = 3
"""Maximum number of example records per reject reason."""


@dataclass
class LogSummary:
    """Number of records read from a log and rejected, with examples of rejected records.

    Args:
        file: Path of the log.
        impressions: Number of records read.
        rejected: Number of rejected records by reason.
        examples: First record numbers per reject reason; empty for a Parquet file read directly
            and for `bad_list`.
        notes: Messages to the user, such as a detected encoding.
    """

    file: str
    impressions: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def reject(self, reason: str, line: int) -> None:
        """Count a rejected record and record its number as an example."""
        self.rejected[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(line)

    @property
    def used(self) -> int:
        """Number of records that are valid impressions."""
        return self.impressions - sum(self.rejected.values())
