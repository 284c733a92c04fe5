"""Copies of a log file in one snapshot, whose impressions would be counted twice."""

import gzip
import io
from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError
from tests.ingest.logs.log_files import ingest, shown

LOG = shown(None, "eau", 5, [2]) + shown(None, "loi", 6, [])
LONG = b"time,query,url\n5,eau,https://a.example/1\n5,eau,https://a.example/2\n"


@pytest.mark.parametrize("data", [LOG, gzip.compress(LOG, mtime=0), LONG])
def test_copies_are_refused_by_name(tmp_path: Path, data: bytes) -> None:
    files = {"log (1).jsonl": data, "other.jsonl": shown("u", "eau", 7, []), "log.jsonl": data}
    with pytest.raises(DataError) as caught:
        ingest(tmp_path, files)
    assert str(caught.value) == (
        "expected files with different contents, found log (1).jsonl and log.jsonl with the same "
        "SHA-256; remove one of them"
    )


def _parquet_without_rows() -> bytes:
    frame = pl.DataFrame(schema={"time": pl.Int64, "query": pl.String, "url": pl.String})
    frame.write_parquet(file := io.BytesIO())
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        gzip.compress(b"", mtime=0),
        b"time,user,query,results,clicks\n",
        b"time\tuser\tquery\turl\trank\n",
        _parquet_without_rows(),
    ],
)
def test_files_without_records_may_be_equal(tmp_path: Path, data: bytes) -> None:
    files = {"a": data, "b": data, "c.jsonl": LOG, "d": data}
    ledger, _ = ingest(tmp_path, files)
    assert (ledger.rows_in, ledger.rows_out) == (2, 2)


def test_files_of_equal_size_may_differ(tmp_path: Path) -> None:
    files = {"a.jsonl": LOG, "b.jsonl": LOG.replace(b"loi", b"mer")}
    ledger, _ = ingest(tmp_path, files)
    assert (ledger.rows_in, ledger.rows_out) == (4, 4)
