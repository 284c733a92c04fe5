"""The account of an import: what was offered, what was left out, what was irregular."""

from collections import Counter
from pathlib import Path

import polars as pl

from builder.io.tables import write_frame
from builder.runtime.ledger import Ledger, RejectWriter
from schemas import Irregularities

SHOWN = 80
"""Characters of an example."""


class Notes:
    """What is noted while the files of a snapshot are read."""

    def __init__(self) -> None:
        self.offered = 0
        self._rejects: list[tuple[str, str, int, str | None]] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], tuple[int, str]] = {}

    def reject(self, reason: str, file: str, line: int, key: str | None = None) -> None:
        """Leave a record out."""
        self._rejects.append((reason, file, line, key))

    def irregular(self, kind: str, file: str, line: int, example: str, count: int = 1) -> None:
        """Note records that were read all the same, the first of them with its line."""
        self._counts[file, kind] += count
        self._first.setdefault((file, kind), (line, example[:SHOWN]))

    def write(self, folder: Path) -> Ledger:
        """Write `rejects` and `irregularities`; returns the account."""
        ledger = Ledger("records", rows_in=self.offered)
        with RejectWriter(folder, "import", ledger) as rejects:
            for reason, file, line, key in self._rejects:
                rejects.add(reason, file=file, line=line, key=key)
        ledger.rows_out = self.offered - len(self._rejects)
        rows = [
            (file, kind, count, *self._first[file, kind])
            for (file, kind), count in self._counts.items()
        ]
        frame = pl.DataFrame(rows, schema=Irregularities.dtypes(), orient="row")
        write_frame(frame, folder / "irregularities.parquet", Irregularities)
        return ledger
