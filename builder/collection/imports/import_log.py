"""Defines `ImportLog`, the log of the rejected and irregular records of an import."""

from collections import Counter
from pathlib import Path

import polars as pl

from builder.io.tables import write_frame
from builder.runtime.ledger import RejectWriter, RowLedger
from schemas import Irregularities

EXAMPLE_LENGTH = 80
"""Maximum length in characters of an example of an irregularity."""


class ImportLog:
    """Log of rejected and irregular records, filled while the files of one snapshot are read."""

    def __init__(self) -> None:
        self.records_read = 0
        self.queries_with_unknown_grades: set[str] = set()
        self._rejects: list[tuple[str, str, int, str | None]] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], tuple[int, str]] = {}

    def add_reject(self, reason: str, file: str, line: int, key: str | None = None) -> None:
        """Log a record that was rejected, with the reason, file and line."""
        self._rejects.append((reason, file, line, key))

    def add_irregularity(
        self, kind: str, file: str, line: int, example: str, count: int = 1
    ) -> None:
        """Count records accepted despite an irregularity; keep an example of each kind per file."""
        self._counts[file, kind] += count
        self._examples.setdefault((file, kind), (line, example[:EXAMPLE_LENGTH]))

    def merge_rejects(self, other: "ImportLog") -> None:
        """Add the rejects and irregularities of another log, but not its accepted records."""
        self.records_read += len(other._rejects)
        self._rejects += other._rejects
        self._counts.update(other._counts)
        self._examples |= other._examples

    def write_tables(self, folder: Path) -> RowLedger:
        """Write the log as tables `rejects` and `irregularities`; return the record counts."""
        ledger = RowLedger("records", rows_in=self.records_read)
        with RejectWriter(folder, "import", ledger) as rejects:
            for reason, file, line, key in self._rejects:
                rejects.add(reason, file=file, line=line, key=key)
        ledger.rows_out = self.records_read - len(self._rejects)
        rows = [
            (file, kind, count, *self._examples[file, kind])
            for (file, kind), count in self._counts.items()
        ]
        frame = pl.DataFrame(rows, schema=Irregularities.dtypes(), orient="row")
        write_frame(frame, folder / "irregularities.parquet", Irregularities)
        return ledger
