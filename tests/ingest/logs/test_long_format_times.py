"""Times of rows in long format: the same moment in several notations, and rows with their own."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.ingest.logs.formats import read_impressions
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from tests.ingest.logs.log_files import ingest

START = datetime(1970, 1, 2, 10, 17, 36)  # noqa: DTZ001 - as Parquet writes it
"""123,456 seconds after the epoch."""


def _csv(*times: object, user: str = "u") -> bytes:
    """A page of as many results as there are times; the second one is clicked."""
    rows = [
        f"{time},{user},eau,https://a.example/{n},{n},{int(n == 2)}"
        for n, time in enumerate(times, 1)
    ]
    return "\n".join(["time,user,query,url,rank,clicked", *rows, ""]).encode()


def _parquet(first_rank: int, times: list[Any], kind: pl.DataType) -> bytes:
    """The same rows from some rank on, with times of some type."""
    ranks = range(first_rank, first_rank + len(times))
    rows = [
        {"user": "u", "query": "eau", "url": f"https://a.example/{n}", "rank": n} for n in ranks
    ]
    frame = pl.DataFrame(rows).with_columns(pl.Series("time", times, kind))
    frame.write_parquet(file := io.BytesIO())
    return file.getvalue()


@pytest.mark.parametrize(
    "times",
    [
        ("123456", "123456.0", "123456.000"),
        ("1970-01-02T10:17:36Z", "1970-01-02T10:17:36.000+00:00", "1970-01-02 12:17:36+02:00"),
        ("123456", "1970-01-02T10:17:36", "1970-01-02T10:17:36Z"),
        ("123456.5", "1970-01-02T10:17:36.500Z", "1970-01-02T10:17:36.5"),
    ],
)
def test_one_moment_in_several_notations(tmp_path: Path, times: tuple[str, ...]) -> None:
    ledger, found = ingest(tmp_path, {"log.csv": _csv(*times)})
    assert found["results"].list.len().to_list() == [3]
    assert found["clicks"].to_list() == [[2]]
    assert (ledger.rows_in, dict(ledger.rejected), ledger.notes) == (1, {}, [])


@pytest.mark.parametrize(
    ("times", "params"),
    [
        (("123456000", "123456000.0"), {"time_unit": "ms"}),
        (("03021970", "3021970.0"), {"time_format": "%d%m%Y"}),
        (("1970-01-02T11:17:36", "123456"), {"time_zone": "Europe/Paris"}),
    ],
)
def test_parameters_of_times(
    tmp_path: Path, times: tuple[str, ...], params: dict[str, str]
) -> None:
    _, found = ingest(tmp_path, {"log.csv": _csv(*times)}, **params)
    assert found["results"].list.len().to_list() == [2]


def test_times_that_are_no_moments_are_compared_as_texts(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"log.csv": _csv("noon", "Noon", "noon", "5")})
    assert found["results"].list.len().to_list() == [1]
    assert dict(ledger.rejected) == {"bad_time": 2}


def test_an_impression_in_parquet_files_with_times_of_different_types(tmp_path: Path) -> None:
    parts = {
        "a.parquet": _parquet(1, [START], pl.Datetime("ms")),
        "b.parquet": _parquet(2, [START.replace(tzinfo=UTC)], pl.Datetime("us", "UTC")),
        "c.parquet": _parquet(3, [123456], pl.Int64()),
        "d.parquet": _parquet(4, [123456.0], pl.Float64()),
        "e.jsonl": json.dumps(
            {"time": 123456.0, "user": "u", "query": "eau", "url": "a.example/5", "rank": 5}
        ).encode(),
    }
    ledger, found = ingest(tmp_path, parts)
    assert found["results"].list.len().to_list() == [5]
    assert (ledger.rows_in, dict(ledger.rejected)) == (1, {})


NOTE = (
    "{} of {} impressions begin after rank 1: only rows with the same time, user and query "
    "form one impression; if the rows of a search have different times, set log.fields.time to a "
    "column with the time of the search, or write the time of the first result into all rows of "
    "the search"
)


def _rows_with_times(pages: int) -> bytes:
    """Pages of three results, whose rows are 120 ms apart."""
    moments = [
        START + timedelta(minutes=page, milliseconds=120 * row)
        for page in range(pages)
        for row in range(3)
    ]
    rows = [
        f"{time.isoformat()},u,eau,https://a.example/{n % 3},{n % 3 + 1},{int(n % 3 == 1)}"
        for n, time in enumerate(moments)
    ]
    return "\n".join(["time,user,query,url,rank,clicked", *rows, ""]).encode()


def test_rows_with_times_of_their_own_are_noted(tmp_path: Path) -> None:
    """The rows are rejected as repeats, but keeping repeats would make impressions of them."""
    ledger, _ = ingest(tmp_path, {"log.csv": _rows_with_times(8)})
    assert (ledger.rows_in, dict(ledger.rejected)) == (24, {"repeated_impression": 16})
    assert ledger.notes == [NOTE.format(16, 24)]


def test_other_reasons_than_repeats_are_noted_with_split_impressions(tmp_path: Path) -> None:
    data = _rows_with_times(8) + b"hier,u,eau,https://a.example/1,1,0\n" * 4
    ledger, _ = ingest(
        tmp_path, {"log.csv": data.replace(b"hier", b"x1", 1).replace(b"hier", b"x2", 1)}
    )
    assert dict(ledger.rejected) == {"repeated_impression": 16, "bad_time": 4}
    assert ledger.notes == [
        NOTE.format(16, 28),
        (
            "4 of 28 records were rejected as bad_time: if times have a different format, set "
            "log.time_format or log.time_unit"
        ),
    ]


def test_rows_with_times_of_their_own_are_noted_without_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(_rows_with_times(4))
    notes: list[str] = []
    source, limits = Source(tmp_path / "log.csv", "log.csv"), ResourceLimits(tmp_path, 1)
    batches = read_impressions(source, None, LogParameters(), limits, notes)
    assert (sum(map(len, batches)), notes) == (12, [NOTE.format(8, 12)])


def test_impressions_of_a_single_result_are_noted(tmp_path: Path) -> None:
    """Without ranks, rows with times of their own became impressions without a word."""
    rows = [f"{n},u{n // 5},eau,https://a.example/{n},0" for n in range(20)]
    data = "\n".join(["time,user,query,url,clicked", *rows]).encode()
    ledger, _ = ingest(tmp_path, {"log.csv": data})
    assert (ledger.rows_out, len(ledger.notes)) == (20, 1)
    assert ledger.notes[0].startswith("20 of 20 impressions have a single result: only rows with")


@pytest.mark.parametrize(
    ("singles", "others", "is_noted"),
    [(9, 0, False), (10, 0, True), (17, 2, False), (18, 2, True)],
)
def test_some_impressions_have_a_single_result(
    tmp_path: Path, singles: int, others: int, *, is_noted: bool
) -> None:
    rows = [f"{n},u{n},eau,https://a.example/1,0" for n in range(singles)]
    rows += [f"{99 + n // 2},u,eau,https://a.example/{n},0" for n in range(2 * others)]
    data = "\n".join(["time,user,query,url,clicked", *rows]).encode()
    ledger, _ = ingest(tmp_path, {"log.csv": data})
    assert bool(ledger.notes) == is_noted


@pytest.mark.parametrize(
    ("first_ranks", "is_noted"),
    [
        ((1, 1, 1, 2), False),
        ((1, 1, 11), True),
        ((0, 1, 1, 1), False),
        ((2, 2, 2), False),
        ((1, 2), True),
        ((1,), False),
    ],
)
def test_impressions_that_begin_at_later_ranks(
    tmp_path: Path, first_ranks: tuple[int, ...], *, is_noted: bool
) -> None:
    rows = [
        f"{time},u,eau,https://a.example/{rank},{rank},0"
        for time, first in enumerate(first_ranks)
        for rank in (first, first + 1)
    ]
    data = "\n".join(["time,user,query,url,rank,clicked", *rows]).encode()
    ledger, _ = ingest(tmp_path, {"log.csv": data})
    assert ledger.notes == ([NOTE.format(1, len(first_ranks))] if is_noted else [])


def test_click_logs_may_begin_at_any_rank(tmp_path: Path) -> None:
    rows = [f"{rank},u,eau,https://a.example/{rank},{rank}" for rank in range(1, 5)]
    data = "\n".join(["time,user,query,url,rank", *rows]).encode()
    ledger, _ = ingest(tmp_path, {"log.csv": data}, click_form="rows")
    assert ledger.notes == []
