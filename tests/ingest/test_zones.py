"""Zones of times: names of zones, dates with an offset, and timestamps that are always in UTC."""

import datetime as dt
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.ingest.parquet_rows import read_numbered_batches
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.io.sources import Source
from builder.parameters import LogParameters, TimeParameters
from tests.ingest.logs.log_files import read_impressions

HALF_PAST_MIDNIGHT = 1_654_043_400
NAMED = TimeParameters(time_format="%Y-%m-%d %H:%M:%S %Z", time_zone="Europe/Paris")


@pytest.fixture(params=["UTC", "Europe/Paris", "America/New_York"])
def machine_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Time zone of the machine, whose names `strptime` accepts."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("machine_zone")
@pytest.mark.parametrize("zone", ["UTC", "GMT", "Z", "utc"])
def test_zone_names_of_utc_have_no_offset(zone: str) -> None:
    """`strptime` returned a time without an offset, which was taken to be in `time_zone`."""
    assert parse_time(f"2022-06-01 00:30:00 {zone}", NAMED) == HALF_PAST_MIDNIGHT


@pytest.mark.usefixtures("machine_zone")
@pytest.mark.parametrize("zone", ["CEST", "CET", "EDT", "UTC+2", "GMT+0200", ""])
def test_other_zone_names_are_rejected_on_any_machine(zone: str) -> None:
    with pytest.raises(RejectError, match="bad_time"):
        parse_time(f"2022-06-01 00:30:00 {zone}", NAMED)


def test_a_zone_name_within_a_time() -> None:
    params = TimeParameters(time_format="%a %b %d %H:%M:%S %Z %Y", time_zone="Europe/Paris")
    assert parse_time("Wed Jun 01 00:30:00 UTC 2022", params) == HALF_PAST_MIDNIGHT
    params = TimeParameters(time_format="%Y-%m-%dT%H:%M:%S%Z", time_zone="Europe/Paris")
    assert parse_time("2022-06-01T00:30:00UTC", params) == HALF_PAST_MIDNIGHT
    assert parse_time("2022-06-01T00:30:00Z", params) == HALF_PAST_MIDNIGHT


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2022-06-01+02:00", "2022-05-31T22:00:00+00:00"),
        ("2022-06-01-05:00", "2022-06-01T05:00:00+00:00"),
        ("2022-06-01Z", "2022-06-01T00:00:00+00:00"),
    ],
)
def test_dates_with_an_offset_are_midnight_there(text: str, utc: str) -> None:
    """The offset was read as the time of day."""
    wanted = dt.datetime.fromisoformat(utc).timestamp()
    assert parse_time(text, TimeParameters(time_zone="Asia/Tokyo")) == wanted
    with pytest.raises(RejectError, match="bad_time"):
        parse_time("2022-06-01+25:00")


def test_int96_timestamps_are_in_utc(tmp_path: Path) -> None:
    """Spark writes INT96 in UTC; other timestamps without a zone are in `time_zone`."""
    moment = dt.datetime(2022, 6, 1, 0, 30)  # noqa: DTZ001 - as files have it
    columns = {"query": ["eau"], "results": [["https://a.example/1"]]}
    for is_int96, seconds in ((True, HALF_PAST_MIDNIGHT), (False, HALF_PAST_MIDNIGHT - 7200)):
        path = tmp_path / "log.parquet"
        table = pa.table({"at": [{"time": moment}], "time": [moment], **columns})
        pq.write_table(table, path, use_deprecated_int96_timestamps=is_int96)
        for name in ("time", "at.time"):
            params = LogParameters.model_validate(
                {"time_zone": "Europe/Paris", "fields": {"time": name}}
            )
            (records,) = read_impressions(Source(path, "log"), None, params)
            assert records.rejects == []
            with pq.ParquetFile(path) as file:
                ((_, batch),) = read_numbered_batches(file, path.stat().st_size, [name])
            assert (batch[0].type.tz == "UTC") is is_int96
            assert parse_time(batch[0][0].as_py(), params) == seconds


@pytest.mark.parametrize(
    ("time_format", "values", "day"),
    [
        ("%Y%m%d", (20220603, 20220603.0, Decimal("20220603.000"), "20220603", "20220603.0"), 3),
        ("%d%m%Y", (3062022, 3062022.0, "3062022", "03062022"), 3),
        ("%d%m%Y", (30062022, "30062022"), 30),
        ("%y%m%d", (220603, "220603"), 3),
        ("%m%d%y", (60322, "060322"), 3),
        ("%Y%m%d.%H", ("20220603.0", 20220603.0), 3),
    ],
)
def test_formats_apply_to_numbers(time_format: str, values: tuple[object, ...], day: int) -> None:
    """Compact dates in JSON and Parquet were taken for seconds, in August 1970."""
    params = TimeParameters(time_format=time_format)
    expected = dt.datetime(2022, 6, day, tzinfo=dt.UTC).timestamp()
    assert [parse_time(value, params) for value in values] == [expected] * len(values)


@pytest.mark.parametrize("value", [1_654_300_000, 202206031, float("nan"), True, -20220603])
def test_numbers_in_another_format_are_rejected(value: float) -> None:
    with pytest.raises(RejectError, match="bad_time"):
        parse_time(value, TimeParameters(time_format="%Y%m%d"))
