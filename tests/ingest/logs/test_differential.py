"""Records looked at by columns against the same records looked at one by one."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.ingest.fields import rename_fields
from builder.ingest.json_object import parse_json_object
from builder.ingest.lines import LineChunk
from builder.ingest.logs import json_lines
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.impression import make_impression, parse_impression
from builder.ingest.logs.json_lines import parse_chunk
from builder.ingest.logs.parquet import parse_batch, to_plain_value
from builder.ingest.logs.records import CheckedRecords
from builder.ingest.parquet_rows import NumberedBatch, batch_to_rows
from builder.ingest.rejects import RejectError
from builder.io.sources import Interval
from builder.parameters import LogFields, LogParameters
from tests.fuzz.mutations import mutate
from tests.thorough import examples

INTERVAL = Interval(0, 2_000_000_000)
CONNECTION = duckdb.connect()
LONGEST = 400
Found = list[tuple[int, Any]]

PARAMS = st.sampled_from(
    [
        LogParameters(),
        LogParameters(time_zone="Europe/Paris", max_results=2),
        LogParameters(time_unit="ms", max_query_chars=5),
        LogParameters(click_form="flags"),
        LogParameters(click_form="ids"),
        LogParameters(fields=LogFields(query="q.text", clicks="q.clicks", user="session")),
    ]
)
TIMES = st.sampled_from(
    [
        *(0, 1_655_294_400, 1_655_294_400_000, -1, 2**62, 2**64, 1.5, -0.0, 1e400, True, None),
        *(
            "1655294400",
            "1655294400.5",
            "2022-06-15",
            "2022-06-15T12:00:00",
            " 2022-06-15 12:00:00",
        ),
        *("2022-06-15T12:00:00Z", "2022-06-15T12:00:00.123456+02:00", "2022-03-27T02:30:00"),
        *("2022-06-15T24:00:00", "2022-02-30T12:00:00", "20220615T120000", "١٢٣", "hier", ""),
    ]
)
QUERIES = st.one_of(
    st.sampled_from(
        ["eau", " eau  potable ", "EAU", "e\u0301au", "\u00a0", "", "!!", None, 5, ["eau"]]
    ),
    st.text(max_size=8),
)
IDS = st.lists(st.sampled_from([0, 5, -7, 2**40]), min_size=1, max_size=3)
URLS = st.one_of(
    st.lists(
        st.sampled_from(["https://a.example/1", "http://b.example/é", "x", "", None, 3]), max_size=3
    ),
    IDS,
)
CLICKS = st.lists(
    st.sampled_from(
        [
            *(0, 1, 2, 3, -1, 2**16 + 1, 2**40, 1.0, True, None, "1", {}, {"rank": 1}),
            *({"rank": None}, {"rank": 2, "time": 5}, {"url": "https://a.example/1"}),
            *({"rank": 1, "url": "x"}, {"rank": 1, "time": 4}, {"rank": 1, "time": "noon"}),
            *(
                {"rank": 1, "time": "2022-06-15T12:00:00.5Z"},
                {"rank": 2, "time": "2022-06-15T12:00:00Z"},
            ),
        ]
    ),
    max_size=3,
)
OBJECTS = st.lists(
    st.fixed_dictionaries(
        {"url": st.sampled_from(["https://a.example/1", "https://a.example/2", "x", None, 5])},
        optional={
            "rank": st.sampled_from([1, 1, 2, 2, 3, 0, -1, None, "1", True, 1.0, 2**70]),
            "clicked": st.sampled_from([True, True, False, None, 1, 0, "x", 2]),
            "more": st.just({"a": 1}),
        },
    ),
    max_size=3,
)


def results_of(name: Callable[[int], Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Results as objects, whose documents have such names."""
    return st.lists(st.booleans(), min_size=1, max_size=4).map(
        lambda clicked: [
            {"url": name(n), "rank": n, "clicked": c} for n, c in enumerate(clicked, 1)
        ]
    )


SHOWN = st.fixed_dictionaries(
    {
        "time": st.just(1_655_294_400),
        "query": st.just("eau"),
        "results": st.one_of(*map(results_of, ("https://a.example/{}".format, lambda n: n))),
    },
    optional={"clicks": st.sampled_from([None, [], [], [1], [{"rank": 1}], [None], [9]])},
)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "time": st.one_of(st.just(1_655_294_400), TIMES),
        "user": st.sampled_from(["u", "é", "", " ", 5, 2**63, 1.5, None, False, ["u"]]),
        "session": st.sampled_from(["s", 7]),
        "query": QUERIES,
        "q": st.one_of(
            st.just("eau"), st.fixed_dictionaries({"text": QUERIES}, optional={"clicks": CLICKS})
        ),
        "q.text": QUERIES,
        "results": st.one_of(
            *(st.just(["https://a.example/1"]), IDS, URLS, OBJECTS, st.none(), st.just("x"))
        ),
        "clicks": st.one_of(st.just([]), st.just([1]), CLICKS, st.none(), st.just(1)),
        "more": st.sampled_from([1, "x", {"a": [1, None]}, float(10**300), None]),
    },
)
PLAIN = st.fixed_dictionaries(
    {
        "time": st.just(1_655_294_400),
        "user": st.sampled_from(["u", "v"]),
        "query": st.sampled_from(["eau", "eau potable"]),
        "results": st.just(["https://a.example/1", "https://a.example/2"]),
        "clicks": st.sampled_from([[], [1], [2, 1]]),
    }
)
FLAGGED = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.just(1_655_294_400),
            "query": st.just("eau"),
            "results": st.sampled_from([["x", "y"], ["x"], [{"url": "x"}, {"url": "y"}], []]),
            "clicks": st.one_of(
                st.lists(st.integers(0, 2), min_size=1, max_size=3),
                st.sampled_from([None, [], [0, 1], [1, -1], [None, 1], [1.0, 0.0], ["1", 0]]),
            ),
        }
    )
    | st.fixed_dictionaries(
        {"time": st.just(9), "query": st.just("a"), "results": IDS, "clicks": IDS}
    )
)
CLICK_TIMES: list[list[Any]] = [
    [2, 2.5],
    [1, 2, 2.5],
    ["2022-06-15T12:00:00Z", "2022-06-15T14:00:00+02:00", "2022-06-15T12:00:00.5Z"],
    [1, 2, None, True, 2**70, "noon", "2022-06-15T12:00:00Z"],
]


def timed(times: list[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Impressions whose clicks are objects, most of them with one of these times."""
    click = st.fixed_dictionaries(
        {"rank": st.sampled_from([1, 1, 2, 2, None])}, optional={"time": st.sampled_from(times)}
    )
    clicks = st.lists(click, max_size=3)
    return st.lists(st.tuples(PLAIN, clicks).map(lambda pair: pair[0] | {"clicks": pair[1]}))


BROKEN = st.sampled_from(
    [
        *(b"", b" ", b"{}", b"[]", b"null", b'{"time": NaN}', b'{"more": Infinity}', b"{" * 1500),
        *(
            b'{"time": 1}{"time": 2}',
            b'{"more": ' + b"[" * 1200 + b"]" * 1200 + b"}",
            b"\xef\xbb\xbf{}",
        ),
        b'{"time":1655294400,"query":"eau","results":[{"url":"x","url":"y"}]}',
        b'{"time":1655294400,"query":"eau","results":[{"url":"x","rank":2,"rank":1}]}',
        *(b'{"more": "\xff"}', b'{"query": "\\ud800"}', b'{"query": "a", "query": "b"}'),
        *(
            b'{"time": 01}',
            b'{"time": 1,}',
            b'{"results": ["a" "b"]}',
            b"x" * (LONGEST + 1),
            b"{\r}",
        ),
    ]
)


def line_of(record: dict[str, Any]) -> bytes:
    """A record as a line of JSON; numbers that JSON has no words for are left to Python."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


def damaged(lines: list[bytes], seed: int) -> list[bytes]:
    """Lines of which some bytes are changed."""
    return mutate(b"\n".join(lines), seed).split(b"\n")


LINES = st.lists(st.one_of(PLAIN.map(line_of), PLAIN.map(line_of), RECORD.map(line_of), BROKEN))


def read_lines(chunk: LineChunk, interval: Interval, params: LogParameters) -> CheckedRecords:
    """The checked records of a chunk of JSON lines."""
    raw = parse_chunk(chunk, params, CONNECTION)
    return check_records(raw, interval, params, CONNECTION)


def read_batch(batch: NumberedBatch, interval: Interval, params: LogParameters) -> CheckedRecords:
    """The checked records of a batch of Parquet rows."""
    return check_records(parse_batch(batch, params), interval, params, CONNECTION)


def as_rows(records: CheckedRecords) -> Found:
    """Impression or reason of each record, in record order."""
    found: Found = list(records.rejects)
    for row in records.impressions.to_pylist():
        found.append((row.pop("record"), tuple(row.values())))
    return sorted(found, key=lambda entry: entry[0])


def line_by_line(lines: list[bytes], params: LogParameters) -> Found:
    """What the parser of single lines finds."""
    found: Found = []
    for number, line in enumerate(lines, 7):
        try:
            if len(line) > LONGEST:
                raise RejectError("line_too_long")
            found.append(
                (number, tuple(parse_impression(line.removesuffix(b"\r"), INTERVAL, params)))
            )
        except RejectError as reject:
            found.append((number, str(reject)))
    return found


@settings(max_examples=examples(400), deadline=None)
@given(LINES, PARAMS, st.none() | st.integers(0, 2**20))
@example([b'{"time":0,"query":"eau","results":["x"],"clicks":[65537]}'] * 2, LogParameters(), None)
@example(
    [
        b'{"time":1655294400,"q":{"text":"eau"},"results":["https://a.example/1"],"clicks":[]}',
        (
            b'{"time":1655294400,"q":{"text":"eau"},"q.text":"loi",'
            b'"results":["https://a.example/1"],"clicks":[]}'
        ),
    ],
    LogParameters(fields=LogFields(query="q.text")),
    None,
)
def test_bulk_parsing_equals_reference_on_lines(
    lines: list[bytes], params: LogParameters, seed: int | None
) -> None:
    if seed is not None:
        lines = damaged(lines, seed)
    chunk = LineChunk(7, b"\n".join(lines) if lines else None, LONGEST)
    assert as_rows(read_lines(chunk, INTERVAL, params)) == line_by_line(lines, params)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(st.one_of(*[SHOWN.map(line_of)] * 3, RECORD.map(line_of), BROKEN)),
    st.none() | st.integers(0, 2**20),
)
def test_result_objects_in_bulk(lines: list[bytes], seed: int | None) -> None:
    params = LogParameters()
    if seed is not None:
        lines = damaged(lines, seed)
    chunk = LineChunk(7, b"\n".join(lines) if lines else None, LONGEST)
    assert as_rows(read_lines(chunk, INTERVAL, params)) == line_by_line(lines, params)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(CLICK_TIMES).flatmap(timed), PARAMS)
@example(
    [
        {
            "time": 5,
            "query": "eau",
            "results": ["x", "y"],
            "clicks": [{"rank": 1, "time": 2.5}, {"rank": 2, "time": 2}],
        }
    ],
    LogParameters(),
)
def test_click_times_in_bulk(records: list[dict[str, Any]], params: LogParameters) -> None:
    lines = list(map(line_of, records))
    chunk = LineChunk(7, b"\n".join(lines) if lines else None, LONGEST)
    assert as_rows(read_lines(chunk, INTERVAL, params)) == line_by_line(lines, params)


@settings(max_examples=examples(400), deadline=None)
@given(FLAGGED, st.sampled_from(["flags", "ids", "ranks"]), st.booleans())
def test_flags_and_ids_in_bulk(records: list[Any], click_form: Any, are_booleans: bool) -> None:
    if are_booleans:
        for record in records:
            clicks = record["clicks"]
            record["clicks"] = clicks and [c == 1 if isinstance(c, int) else c for c in clicks]
    params = LogParameters(click_form=click_form)
    lines = list(map(line_of, records))
    chunk = LineChunk(7, b"\n".join(lines) if lines else None, LONGEST)
    assert as_rows(read_lines(chunk, INTERVAL, params)) == line_by_line(lines, params)


def test_most_lines_are_parsed_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"time": 5, "user": "u", "query": "eau", "results": ["x"], "clicks": [1]}
    lines = [line_of(good)] * 5000
    lines[17], lines[3000], lines[4999] = b"{", b'{"time": "x"}', line_of(good | {"clicks": [2]})
    singly = []

    def counted(line: bytes) -> object:
        singly.append(line)
        return parse_json_object(line)

    monkeypatch.setattr(json_lines, "parse_json_object", counted)
    records = read_lines(LineChunk(1, b"\n".join(lines), LONGEST), INTERVAL, LogParameters())
    assert sorted(singly) == sorted([lines[17], lines[3000]])
    assert sorted(records.rejects) == [
        (18, "not_json"),
        (3001, "bad_time"),
        (5000, "click_not_shown"),
    ]


MOMENTS = st.sampled_from(
    [None, datetime(2022, 6, 15, 12, 0, 0, 5), datetime(2022, 10, 30, 2, 30), datetime(9999, 1, 1)]  # noqa: DTZ001
)
COLUMNS: dict[str, list[tuple[Any, pa.DataType]]] = {
    "time": [
        (st.none() | st.integers(-5, 2**40), pa.int64()),
        (st.none() | st.floats(), pa.float64()),
        (MOMENTS, pa.timestamp("us")),
        (MOMENTS, pa.timestamp("ms")),
        (MOMENTS.map(lambda m: m and m.replace(tzinfo=UTC)), pa.timestamp("us", "Europe/Paris")),
        (TIMES.map(lambda t: t if isinstance(t, str) else None), pa.string()),
        (st.booleans(), pa.bool_()),
    ],
    "user": [
        (st.none() | st.text(max_size=2), pa.string()),
        (st.none() | st.text(max_size=2), pa.dictionary(pa.int32(), pa.string())),
        (st.integers(0, 2**32), pa.uint64()),
        (st.floats(), pa.float32()),
    ],
    "query": [
        (st.none() | st.text(max_size=8), pa.large_string()),
        (st.sampled_from(["eau", ""]), pa.string()),
        (st.integers(0, 5), pa.int8()),
    ],
    "results": [
        (URLS.map(lambda u: [v if v is None else str(v) for v in u]), pa.list_(pa.string())),
        (st.none() | st.just(["a", "b"]), pa.large_list(pa.large_string())),
        (st.none() | IDS, pa.list_(pa.int64())),
        (st.lists(st.none() | st.integers(0, 2**64 - 1), max_size=3), pa.list_(pa.uint64())),
        (st.just([True]), pa.list_(pa.bool_())),
    ],
    "clicks": [
        (st.none() | st.lists(st.none() | st.integers(-1, 3), max_size=3), pa.list_(pa.int32())),
        (st.lists(st.floats(), max_size=1), pa.list_(pa.float64())),
        (
            st.lists(
                st.fixed_dictionaries(
                    {"rank": st.none() | st.integers(0, 3), "time": st.none() | st.integers(0, 3)}
                ),
                max_size=3,
            ),
            pa.list_(pa.struct({"rank": pa.int16(), "time": pa.int64()})),
        ),
        (st.lists(st.none() | st.booleans(), max_size=3), pa.list_(pa.bool_())),
        (st.lists(st.lists(st.integers(0, 2), max_size=2)), pa.list_(pa.list_(pa.int8()))),
        (st.none(), pa.null()),
    ],
}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    """A batch of a log, its columns of many types."""
    rows = draw(st.integers(1, 8))
    columns = {}
    for name, kinds in COLUMNS.items():
        values, kind = draw(st.sampled_from(kinds))
        drawn = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[name] = pa.array(drawn, kind)
    return pa.record_batch(columns)


@settings(max_examples=examples(400), deadline=None)
@given(batches(), PARAMS.filter(lambda params: params.fields == LogFields()))
def test_bulk_parsing_equals_reference_on_rows(
    batch: pa.RecordBatch, params: LogParameters
) -> None:
    found: Found = []
    for number, row in enumerate(batch_to_rows(batch), 3):
        try:
            if isinstance(row, str):
                raise RejectError(row)
            record = rename_fields(to_plain_value(row), params.fields)
            found.append((number, tuple(make_impression(record, INTERVAL, params))))
        except RejectError as reject:
            found.append((number, str(reject)))
    assert as_rows(read_batch((3, batch), INTERVAL, params)) == found
