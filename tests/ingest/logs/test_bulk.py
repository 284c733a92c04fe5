"""Which records are converted by columns, and what is inferred of their types."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from builder.ingest.logs.checks import check_records
from builder.ingest.logs.json_schema import infer_schema
from builder.ingest.logs.parquet import parse_batch, to_plain_value
from builder.ingest.logs.records import RawRecords, group_into_batches
from builder.ingest.logs.scalars import parse_click_order, parse_integer
from builder.ingest.rejects import RejectError
from builder.io.sources import Interval
from builder.parameters import LogFields, LogParameters

INTEGER, TEXT, FLOAT, FLAG = pa.int64(), pa.string(), pa.float64(), pa.bool_()
COMMON = {"time": INTEGER, "user": TEXT, "query": TEXT, "results": TEXT, "clicks": INTEGER}
RESULT = pa.struct([("url", TEXT), ("rank", INTEGER), ("clicked", FLAG)])
CLICK = pa.struct([("rank", INTEGER), ("time", INTEGER)])


def _schema(**kinds: pa.DataType) -> pa.Schema:
    found = COMMON | kinds
    lists = {name: pa.list_(found[name]) for name in ("results", "clicks")}
    return pa.schema(found | lists)


@pytest.mark.parametrize(
    ("records", "kinds"),
    [
        ([], {}),
        ([{"results": ["a"], "clicks": [1]}], {}),
        (
            [{"time": 1.5, "user": 7, "query": 8}],
            {"time": FLOAT, "user": INTEGER, "query": INTEGER},
        ),
        ([{"user": 7}, {"user": "a"}, {"user": "b"}, {"query": None}], {}),
        ([{"time": 1}, {"time": "a"}, {"time": "b"}], {"time": TEXT}),
        ([{"time": 1}, {"time": 1.5}, *[{"time": "a"}] * 3], {"time": FLOAT}),
        ([{"time": True, "user": 1.5, "query": ["a"]}], {}),
        ([{"results": [1, 2, "a"]}, {"results": "b"}], {"results": INTEGER}),
        ([{"clicks": ["1", 1.5]}], {}),
        ([{"results": ["a", {"url": "b"}], "clicks": [1, {"rank": 1}]}], {}),
    ],
)
def test_types_of_columns_are_the_most_common(
    records: list[dict[str, Any]], kinds: dict[str, pa.DataType]
) -> None:
    found = infer_schema(records, LogParameters())
    assert found is not None
    assert found.columns.arrow_schema == _schema(**kinds)
    assert not found.columns.has_other_fields
    assert (found.has_result_objects, found.has_click_objects) == (False, False)


@pytest.mark.parametrize(
    ("record", "kinds", "are_objects"),
    [
        ({"more": 1}, {}, (False, False)),
        ({"results": [{"url": "a"}]}, {"results": RESULT}, (True, False)),
        (
            {"results": [{"url": 7, "clicked": 1}, {"url": 8}, "a"]},
            {"results": pa.struct([("url", INTEGER), ("rank", INTEGER), ("clicked", INTEGER)])},
            (True, False),
        ),
        ({"clicks": [{"rank": 1}]}, {"clicks": CLICK}, (False, True)),
        (
            {"clicks": [{"rank": 1, "time": 5}, {"rank": 2, "time": 2.5}, 3]},
            {"clicks": pa.struct([("rank", INTEGER), ("time", FLOAT)])},
            (False, True),
        ),
    ],
)
def test_records_with_objects_or_more_fields_have_fields_that_are_ignored(
    record: dict[str, Any], kinds: dict[str, pa.DataType], are_objects: tuple[bool, bool]
) -> None:
    found = infer_schema([record], LogParameters())
    assert found is not None
    assert found.columns.arrow_schema == _schema(**kinds)
    assert found.columns.has_other_fields
    assert (found.has_result_objects, found.has_click_objects) == are_objects


@pytest.mark.parametrize(
    ("params", "record"),
    [
        (LogParameters(click_form="ids"), {}),
        (LogParameters(click_form="flags"), {"results": [{"url": "a"}]}),
        (LogParameters(click_form="flags"), {"clicks": [{"rank": 1}]}),
        (LogParameters(), {"clicks": [{"rank": 1}, {"url": "a"}]}),
        (LogParameters(fields=LogFields(url="page.url")), {"results": [{"page": {}}]}),
        (LogParameters(fields=LogFields(query="user")), {}),
        (LogParameters(fields=LogFields(query="user.text")), {}),
        (LogParameters(fields=LogFields(time="user.a.b", user="user.a")), {}),
    ],
)
def test_records_that_are_read_line_by_line(params: LogParameters, record: dict[str, Any]) -> None:
    assert infer_schema([record], params) is None


def test_inner_names_are_fields_of_structs() -> None:
    fields = LogFields(user="q.who.id", query="q.text", url="page.url")
    record = {"time": 5, "q": {"who": {"id": 7}, "text": "eau"}, "results": ["a"]}
    found = infer_schema([record], LogParameters(fields=fields))
    assert found is not None
    inner = pa.struct([("who", pa.struct([("id", INTEGER)])), ("text", TEXT)])
    assert found.columns.arrow_schema == pa.schema(
        {"time": INTEGER, "q": inner, "results": pa.list_(TEXT), "clicks": pa.list_(INTEGER)}
    )
    assert found.columns.has_other_fields
    assert infer_schema([{}], LogParameters(click_form="flags")) is not None


URLS = pa.array([["a"], ["b"]])
MOMENTS = pa.array([dt.datetime(2022, 6, 1)] * 2)  # noqa: DTZ001 - as files have it


@pytest.mark.parametrize(
    ("changed", "is_by_column"),
    [
        ({}, True),
        ({"time": pa.array([1.5, 2.5])}, True),
        ({"time": pa.array([5, 6], pa.uint8())}, True),
        ({"time": MOMENTS}, True),
        ({"time": pa.array(["5", None])}, True),
        ({"time": pa.array([True, False])}, False),
        ({"time": MOMENTS.cast(pa.date32())}, False),
        ({"user": pa.array([7, None]), "query": pa.array([8, 9], pa.int8())}, True),
        ({"user": pa.nulls(2), "query": pa.array(["a", "b"], pa.large_string())}, True),
        ({"user": pa.array([1.5, 2.5])}, False),
        ({"query": pa.array([True, False])}, False),
        ({"results": URLS.cast(pa.large_list(pa.large_string()))}, True),
        ({"results": pa.array([[7], None])}, True),
        ({"results": pa.array(["a", "b"])}, False),
        ({"results": pa.array([[1.5], []])}, False),
        ({"clicks": pa.nulls(2)}, True),
        ({"clicks": pa.array([[1.0], None])}, True),
        ({"clicks": pa.array([[None], []])}, True),
        ({"clicks": pa.array([[1.5], []])}, False),
        ({"clicks": pa.array([[True], []])}, False),
        ({"clicks": pa.array(["1", "2"])}, False),
        ({"clicks": pa.array([[{"rank": 1}], []])}, False),
    ],
)
def test_types_of_parquet_that_are_converted_by_column(
    changed: dict[str, pa.Array], is_by_column: bool
) -> None:
    columns = {"time": [5, 6], "user": ["u", "v"], "query": ["a", "b"], "results": URLS}
    batch = pa.record_batch({**columns, "clicks": pa.array([[1], [2]]), **changed})
    found = parse_batch((3, batch), LogParameters())
    assert (len(found.tables), len(found.rows)) == ((1, 0) if is_by_column else (0, 2))
    if is_by_column:
        assert found.tables[0]["record"].to_pylist() == [3, 4]
    else:
        assert [number for number, _ in found.rows] == [3, 4]
    by_id = parse_batch((3, batch), LogParameters(click_form="ids"))
    assert (len(by_id.tables), len(by_id.rows)) == (0, 2)


ROWS: dict[str, dict[str, Any]] = {
    "kept": {},
    "kept without clicks": {"clicks": None},
    "bad_results": {"results": None},
    "bad_results of null": {"results": ["a", None]},
    "bad_results of an empty text": {"results": ["a", ""]},
    "no_results": {"results": []},
    "too_many_results": {"results": ["a", "b", "c", "d"]},
    "kept with three results": {"results": ["a", "b", "c"], "clicks": [3, 1]},
    "bad_clicks": {"clicks": [None]},
    "bad_clicks of a null among ranks": {"clicks": [1, None]},
    "click_not_shown": {"clicks": [0]},
    "click_not_shown among others": {"clicks": [1, -1]},
    "click_not_shown of a high rank": {"clicks": [2, 3]},
    "bad_query": {"query": None},
    "query_too_long": {"query": "eaux"},
    "kept with a blank user": {"user": "  "},
    "bad_time": {"time": None},
    "outside_interval": {"time": 9},
    "outside_interval before its start": {"time": 4},
}


@pytest.mark.parametrize("are_flags", [False, True])
def test_rules_for_records_in_columns(are_flags: bool) -> None:
    """With flags, a click is the place of a flag that is not 0."""
    row = {"time": 5, "user": "u", "query": "eau", "results": ["a", "b"], "clicks": [2]}
    rows = [row | changed for changed in ROWS.values()]
    reasons = [None if name.startswith("kept") else name.split(" ")[0] for name in ROWS]
    if are_flags:
        flags = {(2,): [0, 1], (3, 1): [5, 0, 1], (0,): [1], (1, -1): [1, -1], (2, 3): [0, 1, 1]}
        for record in rows:
            clicks = record["clicks"] and tuple(record["clicks"])
            record["clicks"] = flags.get(clicks, [0, 1] if clicks == (1,) else record["clicks"])
        reasons[10:13] = ["bad_clicks", "bad_clicks", "click_not_shown"]
    kinds = {"time": INTEGER, "user": TEXT, "query": TEXT, "results": pa.list_(TEXT)}
    schema = pa.schema(kinds | {"clicks": pa.list_(INTEGER)})
    batch = pa.RecordBatch.from_pylist(rows, schema)
    params = LogParameters(
        max_results=3, max_query_chars=3, click_form="flags" if are_flags else "ranks"
    )
    with duckdb.connect() as connection:
        found = check_records(parse_batch((1, batch), params), Interval(5, 9), params, connection)
    assert found.rejects == [(n, reason) for n, reason in enumerate(reasons, 1) if reason]
    assert [tuple(row.values()) for row in found.impressions.to_pylist()] == [
        (1, 5, "u", "eau", ["a", "b"], [2]),
        (2, 5, "u", "eau", ["a", "b"], []),
        (8, 5, "u", "eau", ["a", "b", "c"], [1, 3] if are_flags else [3, 1]),
        (16, 5, None, "eau", ["a", "b"], [2]),
    ]
    assert len(found) == len(ROWS)


def test_a_column_and_a_field_of_the_same_name_are_read_row_by_row() -> None:
    batch = pa.record_batch(
        {"q": [{"text": "a"}], "q.text": ["b"], "time": [5], "results": [["a"]]}
    )
    params = LogParameters(fields=LogFields(query="q.text"))
    found = parse_batch((1, batch), params)
    ((number, record),) = found.rows
    assert (len(found.tables), number, record) == (
        0,
        1,
        {"time": 5, "query": "b", "results": ["a"]},
    )


def test_fields_of_structs_are_converted_by_column() -> None:
    batch = pa.record_batch({"q": [{"text": "a"}], "time": [5], "results": [["a"]]})
    found = parse_batch((1, batch), LogParameters(fields=LogFields(query="q.text", user="q.user")))
    assert found.rows == ()
    assert found.tables[0].to_pylist() == [
        {"record": 1, "time": 5, "user": None, "query": "a", "results": ["a"], "clicks": None}
    ]


def test_values_of_parquet_become_those_of_json() -> None:
    identity = UUID(int=7)
    given = {
        "a": [1.0, 1.5, float("nan"), -2.0, Decimal("2.00"), Decimal("2.5"), Decimal("NaN")],
        "b": {"c": b"\x00\xff", "d": identity, "e": [None, True, 3, "3", [b""]]},
    }
    assert to_plain_value(given) == {
        "a": [1, 1.5, None, -2, 2, Decimal("2.5"), None],
        "b": {"c": "00ff", "d": str(identity), "e": [None, True, 3, "3", [""]]},
    }
    assert [type(value) for value in to_plain_value([1.0, True])] == [int, bool]
    assert to_plain_value(math.inf) == math.inf


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((value, 3) for value in (3, 3.0, "3", "3.0", " 3.00 ", "03", "3.")),
        *((value, None) for value in ("3.5", "-3", "+3", "", ".", "3.0.0", "٣", "3e0", None, [3])),
        *((value, None) for value in (True, 3.5, math.inf, math.nan, "9" * 19)),
        ("9" * 18, 999_999_999_999_999_999),
        (-3, -3),
        (-3.0, -3),
        ("0", 0),
    ],
)
def test_integers_in_every_notation(value: object, number: int | None) -> None:
    assert parse_integer(value) == number


@pytest.mark.parametrize(
    ("value", "order"),
    [
        *((value, 0.0) for value in (None, False, 0, "", " No ", "NaN", "-", "\\N", "-0.0")),
        *((value, 1.0) for value in (True, 1, " T ", "YES", "1.0")),
        (2, 2.0),
        ("2.5", 2.5),
        ("1e300", 1e300),
    ],
)
def test_clicks_have_an_order(value: object, order: float) -> None:
    assert parse_click_order(value) == order


@pytest.mark.parametrize("value", [-1, "-0.5", "inf", "1e999", "maybe", [1], "1,0"])
def test_other_values_are_no_clicks(value: object) -> None:
    with pytest.raises(RejectError, match="bad_clicks"):
        parse_click_order(value)


def test_single_records_are_grouped_into_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builder.ingest.logs.records.RECORDS_PER_BATCH", 2)
    records = [(number, "bad_time") for number in range(5)]
    assert list(group_into_batches(iter(records), clicks_are_ranks=True)) == [
        RawRecords(rows=records[:2], clicks_are_ranks=True),
        RawRecords(rows=records[2:4], clicks_are_ranks=True),
        RawRecords(rows=records[4:], clicks_are_ranks=True),
    ]
    assert [batch.clicks_are_ranks for batch in group_into_batches(records)] == [False] * 3
    assert list(group_into_batches([])) == []
