"""Results and clicks that are objects, under the names that a log has for what is in them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.ingest.lines import LineChunk
from builder.ingest.logs import checks
from builder.parameters import LogFields, LogParameters
from tests.ingest.logs.test_differential import (
    CLICK_TIMES,
    INTERVAL,
    LONGEST,
    RECORD,
    SHOWN,
    as_rows,
    line_by_line,
    line_of,
    read_batch,
    read_lines,
    timed,
)
from tests.thorough import examples

NAMES = {"url": "link", "rank": "pos", "clicked": "hit", "time": "at"}
THEIRS = LogParameters(fields=LogFields(url="link", rank="pos", clicked="hit", click_time="at"))
NESTED = LogParameters(fields=LogFields(url="page.link", rank="page.pos", clicked="hit"))
RECORDS = st.one_of(st.lists(st.one_of(SHOWN, RECORD)), st.sampled_from(CLICK_TIMES).flatmap(timed))


def renamed(record: dict[str, Any]) -> dict[str, Any]:
    """A record with other names within its results and clicks."""
    found = dict(record)
    for name in ("results", "clicks"):
        if isinstance(found.get(name), list):
            found[name] = [_renamed(item) for item in found[name]]
    return found


def _renamed(item: Any) -> Any:
    return {NAMES.get(k, k): v for k, v in item.items()} if isinstance(item, dict) else item


def chunk_of(records: list[dict[str, Any]]) -> LineChunk:
    lines = [line_of(record) for record in records]
    return LineChunk(7, b"\n".join(lines) if lines else None, LONGEST)


@settings(max_examples=examples(400), deadline=None)
@given(RECORDS)
@example(
    [
        {"time": 5, "query": "eau", "results": [{"url": "x", "clicked": True}]},
        {"time": 5, "query": "eau", "results": [{"url": "x"}], "clicks": [{"rank": 1}]},
    ]
)
def test_names_change_nothing_else(records: list[dict[str, Any]]) -> None:
    theirs = [renamed(record) for record in records]
    found = as_rows(read_lines(chunk_of(theirs), INTERVAL, THEIRS))
    assert found == line_by_line([line_of(record) for record in records], LogParameters())
    assert found == line_by_line([line_of(record) for record in theirs], THEIRS)


def test_renamed_objects_are_parsed_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {
        "time": 5,
        "query": "eau",
        "results": [{"link": "x", "pos": 1, "more": {}}, {"link": "y", "pos": 2}],
        "clicks": [{"pos": 2, "at": 7}, {"pos": 1, "at": 9}],
    }
    monkeypatch.delattr(checks, "make_impression")
    records = read_lines(chunk_of([record] * 3), INTERVAL, THEIRS)
    assert as_rows(records) == [(n, (5, None, "eau", ["x", "y"], [2, 1])) for n in (7, 8, 9)]


def test_field_paths_access_nested_objects() -> None:
    hits = [
        {"page": {"link": "y", "pos": 2}, "hit": 1},
        {"page": {"link": "x", "pos": 1}, "hit": 0},
    ]
    record = {"time": 5, "query": "eau", "results": hits}
    assert as_rows(read_lines(chunk_of([record]), INTERVAL, NESTED)) == [
        (7, (5, None, "eau", ["x", "y"], [2]))
    ]


def test_structs_of_parquet(tmp_path: Path) -> None:
    batch = pa.record_batch(
        {
            "time": [5, 6],
            "query": ["eau", "loi"],
            "results": [["x", "y"], ["x"]],
            "clicks": [[{"pos": 2, "at": 7}, None], [{"pos": 1, "at": 9}]],
        }
    )
    found = as_rows(read_batch((1, batch), INTERVAL, THEIRS))
    assert found == [(1, "bad_clicks"), (2, (6, None, "loi", ["x"], [1]))]
    objects = [[{"link": "x", "pos": 1, "hit": True}], [{"link": "y", "pos": 3, "hit": False}]]
    batch = pa.record_batch({"time": [5, 6], "query": ["eau", "loi"], "results": objects})
    found = as_rows(read_batch((1, batch), INTERVAL, THEIRS))
    assert found == [(1, (5, None, "eau", ["x"], [1])), (2, (6, None, "loi", ["y"], []))]


def test_definition_sets_field_names() -> None:
    fields = json.loads('{"fields": {"url": "link", "click_time": "at"}}')
    assert LogParameters.model_validate(fields).fields.click_fields == {
        "rank": "rank",
        "url": "link",
        "time": "at",
    }
