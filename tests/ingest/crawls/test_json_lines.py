"""Lines of a crawl looked at many at a time against the same lines looked at one by one."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.ingest.crawls import json_lines
from builder.ingest.crawls.json_lines import infer_schema, parse_page_chunk
from builder.ingest.crawls.page import (
    DEFAULT_PARAMS,
    FieldNames,
    RawPage,
    page_from_record,
    parse_page,
    resolve_field_names,
)
from builder.ingest.lines import LineChunk
from builder.ingest.rejects import RejectError
from builder.parameters import CrawlParameters
from tests.ingest.logs.test_differential import BROKEN, TIMES, damaged, line_of
from tests.thorough import examples

LONGEST = 400
FIRST = 7
TEXT = st.sampled_from(
    ["eau", "l'été\n\n", "", " ", "\x00", "e\u0301", None, 5, ["eau"], "x" * 500]
)
TIME = st.one_of(st.just(1_655_294_400), TIMES)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(["https://a.example/1", "x", "", None, 3]),
        "timestamp": TIME,
        "last_updated_at": TIME,
        "created_at": TIME,
        "title": TEXT,
        "text": TEXT,
        "content": TEXT,
        "more": st.sampled_from([1, "x", {"a": [1, None]}, float(10**300), None]),
    },
)
OURS = st.fixed_dictionaries(
    {
        "url": st.sampled_from(["https://a.example/1", "https://b.example/2"]),
        "timestamp": st.just(1_655_294_400),
        "title": st.sampled_from(["eau", None]),
        "text": st.sampled_from(["eau", "eau potable\nl'été"]),
    }
)
IDS = OURS.flatmap(lambda page: st.integers(0, 9).map(lambda n: page | {"url": n}))
QWANT = st.fixed_dictionaries(
    {
        "url": st.just("https://a.example/1"),
        "content": st.just("eau"),
        "created_at": st.sampled_from(["2022-06-01T12:00:00", None, 5]),
        "last_updated_at": st.just("2022-06-15 12:00:00"),
    }
)
LINES = st.lists(
    st.one_of(
        OURS.map(line_of),
        OURS.map(line_of),
        IDS.map(line_of),
        QWANT.map(line_of),
        RECORD.map(line_of),
        BROKEN,
        st.just(b'{"url": "https://a.example/1", "url": "x", "timestamp": 5, "text": "eau"}'),
    )
)


def one_by_one(
    lines: list[bytes], params: CrawlParameters = DEFAULT_PARAMS
) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    for number, line in enumerate(lines, FIRST):
        try:
            if len(line) > LONGEST:
                raise RejectError("record_too_large")
            found.append((number, parse_page(line.removesuffix(b"\r"), params)))
        except RejectError as reject:
            found.append((number, str(reject)))
    return found


@settings(max_examples=examples(400), deadline=None)
@given(LINES, st.none() | st.integers(0, 2**20))
@example([b'{"url":"u","timestamp":5,"text":null,"content":"eau"}'] * 2, None)
@example([b'{"url":"u","timestamp":null,"created_at":"2022-06-15","text":"eau"}'] * 2, None)
@example([b'{"url":"u","timestamp":5,"text":"","content":"eau"}'] * 2, None)
@example([b'{"url":"u","timestamp":5,"text":"","content":null}'] * 2, None)
@example([b'{"url":"u","timestamp":5,"text":null,"content":""}'] * 2, None)
def test_lines_together_are_lines_one_by_one(lines: list[bytes], seed: int | None) -> None:
    if seed is not None:
        lines = damaged(lines, seed)
    chunk = LineChunk(FIRST, b"\n".join(lines) if lines else None, LONGEST, fault="file_truncated")
    pages, rejects = parse_page_chunk(chunk)
    numbers = pages["line"].to_list()
    assert numbers == sorted(numbers)
    assert rejects.pop() == (FIRST + len(lines), "file_truncated")
    found = [(row[0], RawPage(*row[1:])) for row in pages.rows()]
    assert sorted([*found, *rejects], key=lambda entry: entry[0]) == one_by_one(lines)


NAMES = st.sampled_from(["url", "timestamp", "text", "content", "a.b", "x"])
SEVERAL = NAMES | st.lists(NAMES, min_size=1, max_size=3)


@settings(max_examples=examples(200), deadline=None)
@given(
    LINES,
    st.fixed_dictionaries({"url": NAMES, "time": SEVERAL, "text": SEVERAL}),
    st.fixed_dictionaries(
        {
            "time_unit": st.sampled_from(["s", "ms"]),
            "time_zone": st.sampled_from(["UTC", "Europe/Paris"]),
            "time_format": st.sampled_from([None, "%Y-%m-%d", "%Y"]),
        }
    ),
)
def test_under_any_names_and_forms_of_times(
    lines: list[bytes], names: dict[str, Any], times: dict[str, str | None]
) -> None:
    params = CrawlParameters.model_validate({"fields": names, **times})
    chunk = LineChunk(FIRST, b"\n".join(lines) if lines else None, LONGEST)
    pages, rejects = parse_page_chunk(chunk, params)
    found = [(row[0], RawPage(*row[1:])) for row in pages.rows()]
    assert sorted([*found, *rejects], key=lambda entry: entry[0]) == one_by_one(lines, params)


def test_most_lines_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"url": "https://a.example/1", "timestamp": 5, "title": "t", "text": "eau"}
    lines = [line_of(good)] * 3000
    lines[17], lines[2000], lines[2999] = b"{", line_of(good | {"text": 5}), line_of({"url": "x"})
    singly = []

    def counted(line: bytes, params: CrawlParameters) -> RawPage:
        singly.append(line)
        return parse_page(line, params)

    monkeypatch.setattr(json_lines, "parse_page", counted)
    pages, rejects = parse_page_chunk(LineChunk(1, b"\n".join(lines), LONGEST))
    assert sorted(singly) == sorted([lines[17], lines[2000], lines[2999]])
    assert rejects == [(18, "not_json"), (2001, "bad_text"), (3000, "bad_time")]
    assert pages.height == 2997


NAMED = FieldNames("id", ("up", "made"), "name", ("body",))
TEXT_TYPE, INTEGER, FLOAT = pa.string(), pa.int64(), pa.float64()


@pytest.mark.parametrize(
    ("lines", "kinds", "has_other_fields"),
    [
        ([], (INTEGER, INTEGER, TEXT_TYPE), False),
        ([b'{"id":1,"up":"x","made":null}'], (TEXT_TYPE, INTEGER, INTEGER), False),
        ([b'{"id":"a","up":1}', b'{"id":"b","up":1.5}'], (FLOAT, INTEGER, TEXT_TYPE), False),
        ([b'{"id":"a","name":1,"body":2}'], (INTEGER, INTEGER, TEXT_TYPE), False),
        ([b"rubbish", b"[1]", b'{"x":1}'], (INTEGER, INTEGER, TEXT_TYPE), True),
        ([b'{"id":1}', b'{"id":"a"}'], None, False),
        ([b'{"up":1}', b'{"up":"a"}'], None, False),
        ([b'{"up":true}'], None, False),
        ([b'{"id":1.5}'], None, False),
        ([b"{}"] * 63 + [b'{"x":1}'], (INTEGER, INTEGER, TEXT_TYPE), True),
        ([b"{}"] * 64 + [b'{"x":1}'], (INTEGER, INTEGER, TEXT_TYPE), False),
    ],
)
def test_types_of_columns_are_those_of_the_first_lines(
    lines: list[bytes], kinds: tuple[pa.DataType, ...] | None, has_other_fields: bool
) -> None:
    found = infer_schema(LineChunk(1, b"\n".join(lines), LONGEST), NAMED)
    if kinds is None:
        assert found is None
    else:
        assert found is not None
        assert found.has_other_fields is has_other_fields
        up, made, name = kinds
        assert found.arrow_schema == pa.schema(
            {"name": TEXT_TYPE, "body": TEXT_TYPE, "id": name, "up": up, "made": made}
        )


def test_inner_and_repeated_names_are_read_line_by_line() -> None:
    chunk = LineChunk(1, b"{}", LONGEST)
    assert infer_schema(chunk, NAMED._replace(url="a.b")) is None
    assert infer_schema(chunk, NAMED._replace(url="body")) is None
    assert infer_schema(chunk, NAMED._replace(times=("up", "up"))) is None


@pytest.mark.parametrize(
    ("line", "is_in_columns"),
    [
        (b'{"url":"u","timestamp":5,"text":"t"}', True),
        (b'{"url":7,"timestamp":5.5,"title":null,"text":"t"}', True),
        (b'{"url":"u","last_updated_at":5,"text":"","content":"t"}', True),
        (b'{"url":"u","timestamp":5,"text":"t","more":{"a":[1]}}', True),
        (b'{"url":"u","timestamp":"2022-06-15","text":"t"}', False),
        (b'{"url":"u","timestamp":5,"text":null}', False),
        (b'{"url":null,"timestamp":5,"text":"t"}', False),
        (b'{"url":"u","text":"t"}', False),
    ],
)
def test_lines_that_are_parsed_together(
    line: bytes, is_in_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    singly: list[bytes] = []
    monkeypatch.setattr(json_lines, "parse_page", lambda data, _: singly.append(data) or "x")
    parse_page_chunk(LineChunk(1, line, LONGEST))
    assert singly == ([] if is_in_columns else [line])


def test_a_missing_title_is_empty_and_a_number_is_text() -> None:
    names = resolve_field_names(DEFAULT_PARAMS.fields)
    given = {"url": 12, "timestamp": 5, "text": "t"}
    for title, expected in (
        *((None, ""), (float("nan"), ""), (2.0, "2"), (2.5, "2.5"), (-3, "-3"), ("", "")),
        (float("inf"), "inf"),
    ):
        page = page_from_record({**given, "title": title}, names)
        assert page == RawPage("12", 5, expected, "t")


@pytest.mark.parametrize(
    ("pairs", "texts"),
    [
        ([("a", "b"), ("c", None)], ["a", "c"]),
        ([("", "b"), ("c", "d")], ["b", "c"]),
        ([(None, "b"), ("c", "d")], ["b", "c"]),
        ([("", ""), (None, ""), ("", None)], ["", "", ""]),
    ],
)
def test_the_first_text_that_is_not_empty_counts(
    pairs: list[tuple[str | None, str | None]], texts: list[str]
) -> None:
    page = {"url": "u", "timestamp": 5, "last_updated_at": None, "created_at": None}
    lines = [line_of({**page, "text": text, "content": other}) for text, other in pairs]
    pages, rejects = parse_page_chunk(LineChunk(3, b"\n".join(lines), LONGEST))
    assert (pages["text"].to_list(), rejects) == (texts, [])
    assert pages["line"].to_list() == list(range(3, 3 + len(texts)))


def test_the_first_time_that_is_given_counts() -> None:
    times = [(5, 6, 7), (None, 6, 7), (None, None, 7), (5, None, None)]
    names = ("timestamp", "last_updated_at", "created_at")
    lines = [
        line_of({"url": "u", "text": "t", **dict(zip(names, row, strict=True))}) for row in times
    ]
    lines.append(line_of({"url": "u", "text": "t"}))
    chunk = LineChunk(1, b"\n".join(lines), LONGEST)
    pages, rejects = parse_page_chunk(chunk)
    assert (pages["fetched_at"].to_list(), rejects) == ([5, 6, 7, 5], [(5, "bad_time")])
    undated, rejects = parse_page_chunk(chunk, CrawlParameters(undated="start"))
    assert (undated["fetched_at"].to_list(), rejects) == ([5, 6, 7, 5, None], [])
