"""Rows are accounted for, and rejected rows are listed until there are too many."""

from pathlib import Path

import polars as pl
import pytest

from builder.errors import LedgerError
from builder.runtime import ledger as ledger_module
from builder.runtime.ledger import RejectWriter, RowLedger


def test_rows_that_are_neither_kept_nor_rejected_are_an_error() -> None:
    ledger = RowLedger("lines", 10, 7)
    ledger.rejected.update({"bad_url": 2, "empty": 1})
    ledger.check("log 2022-06")
    ledger.rows_out = 8
    with pytest.raises(LedgerError) as caught:
        ledger.check("log 2022-06")
    assert str(caught.value) == (
        "stage log 2022-06: read 10 lines, but kept 8 and rejected 3; this is a bug in the stage, "
        "and its output was not published"
    )


def test_rejected_rows_are_listed_up_to_a_limit_for_each_reason_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "MAX_LISTED_REJECTS", 2)
    ledger = RowLedger("lines")
    with RejectWriter(tmp_path, "log", ledger) as rejects:
        for line in (3, 5, 8, 9):
            rejects.add("bad_url", file="a", line=line, rows=line)
        rejects.add("bad_url", file="b", line=1, key="k")
        rejects.add("empty", rows=0)
    assert dict(ledger.rejected) == {"bad_url": 26, "empty": 0}
    assert pl.read_parquet(tmp_path / "rejects.parquet").rows() == [
        ("log", "bad_url", "a", 3, None, 3),
        ("log", "bad_url", "a", 5, None, 5),
        ("log", "bad_url", "a", 8, None, 17),
        ("log", "bad_url", "b", 1, "k", 1),
    ]
