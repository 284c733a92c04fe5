"""Row accounting of stages: rows in = rows out + rejected rows, with a count per reject reason."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

from builder.errors import LedgerError
from builder.io.tables import write_frame
from schemas import Rejects


@dataclass
class RowLedger:
    """Counts of rows that a stage read, kept and rejected; rows in = rows out + rejected rows.

    Args:
        unit: Unit of the counts, such as "lines" or "pages".
        rows_in: Number of rows read.
        rows_out: Number of rows kept.
        rejected: Number of rejected rows, by reason.
        notes: Decisions about the input that the user should confirm, such as a detected encoding.
    """

    unit: str
    rows_in: int = 0
    rows_out: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def check(self, stage: str) -> None:
        """Check that rows in = rows out + rejected rows.

        Raises:
            LedgerError: The counts do not match.
        """
        dropped = sum(self.rejected.values())
        if self.rows_in != self.rows_out + dropped:
            raise LedgerError(
                f"stage {stage}: read {self.rows_in} {self.unit}, but kept {self.rows_out} and "
                f"rejected {dropped}; this is a bug in the stage, and its output was not published"
            )


MAX_LISTED_REJECTS = 100_000
"""Maximum number of rejects that are listed individually per reason and file."""


class RejectWriter:
    """Writer of rejected rows, which are listed in the table `rejects` and counted in the ledger.

    To limit memory use for damaged files, at most `MAX_LISTED_REJECTS` rejected rows are listed per
    reason and file. All further ones are combined into one row, which contains the line number of
    the first and the number of rows.

    Args:
        folder: Output folder of the stage, in which `rejects.parquet` is written on exit.
        stage: Name of the stage.
        ledger: Ledger that receives the counts.
    """

    def __init__(self, folder: Path, stage: str, ledger: RowLedger) -> None:
        self._path = folder / "rejects.parquet"
        self._stage = stage
        self._ledger = ledger
        self._rows: list[tuple[str, str, str | None, int | None, str | None, int]] = []
        self._listed: Counter[tuple[str, str | None]] = Counter()
        self._combined: dict[tuple[str, str | None], tuple[int | None, int]] = {}

    def add(
        self,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        rows: int = 1,
    ) -> None:
        """Record rejected rows with a snake-case reason and, if known, the file, line and key."""
        self._ledger.rejected[reason] += rows
        if not rows:
            return
        group = (reason, file)
        self._listed[group] += 1
        if self._listed[group] <= MAX_LISTED_REJECTS:
            self._rows.append((self._stage, reason, file, line, key, rows))
        else:
            first, count = self._combined.get(group, (line, 0))
            self._combined[group] = (first, count + rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        combined = [
            (self._stage, reason, file, line, None, count)
            for (reason, file), (line, count) in self._combined.items()
        ]
        frame = pl.DataFrame(self._rows + combined, schema=Rejects.dtypes(), orient="row")
        write_frame(frame, self._path, Rejects)
