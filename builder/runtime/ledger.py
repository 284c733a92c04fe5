"""Row accounting: rows in = rows out + rejected rows, by reason."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

from builder.errors import LedgerError
from builder.io.tables import write_frame
from schemas import Rejects


@dataclass
class Ledger:
    """Row counts of one stage: rows in = rows out + rejected rows.

    Args:
        unit: Unit of the counts, such as "lines" or "pages".
        rows_in: Rows read.
        rows_out: Rows kept.
        rejected: Rows rejected, by reason.
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
            LedgerError: the two sides differ.
        """
        dropped = sum(self.rejected.values())
        if self.rows_in != self.rows_out + dropped:
            raise LedgerError(
                f"stage {stage}: {self.rows_in} {self.unit} in, but {self.rows_out} out and "
                f"{dropped} rejected; this is a fault of the stage, its output was not published"
            )


MOST_REJECTS = 100_000
"""Rejects of one reason in one file that are listed one by one."""


class RejectWriter:
    """Record rejected rows in the table `rejects` and in the ledger.

    Beyond `MOST_REJECTS` rejects for one reason in one file, all further ones are combined in one
    row with their number and the line of the first, which bounds memory for damaged files.

    Args:
        folder: Output folder of the stage; `rejects.parquet` is written there on exit.
        stage: Name of the stage.
        ledger: Ledger that receives the counts.
    """

    def __init__(self, folder: Path, stage: str, ledger: Ledger) -> None:
        self._path = folder / "rejects.parquet"
        self._stage = stage
        self._ledger = ledger
        self._rows: list[tuple[str, str, str | None, int | None, str | None, int]] = []
        self._listed: Counter[tuple[str, str | None]] = Counter()
        self._others: dict[tuple[str, str | None], tuple[int | None, int]] = {}

    def add(
        self,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        rows: int = 1,
    ) -> None:
        """Reject `rows` rows for a reason in snake case."""
        self._ledger.rejected[reason] += rows
        if not rows:
            return
        place = (reason, file)
        self._listed[place] += 1
        if self._listed[place] <= MOST_REJECTS:
            self._rows.append((self._stage, reason, file, line, key, rows))
        else:
            first, count = self._others.get(place, (line, 0))
            self._others[place] = (first, count + rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        others = [
            (self._stage, reason, file, line, None, count)
            for (reason, file), (line, count) in self._others.items()
        ]
        frame = pl.DataFrame(self._rows + others, schema=Rejects.dtypes(), orient="row")
        write_frame(frame, self._path, Rejects)
