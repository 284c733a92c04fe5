"""Fields of records under the names that a log has for them, also within objects."""

from typing import Any

import pytest

from builder.ingest.fields import DEFAULT_FIELDS, get_nested_value, parse_id, rename_fields
from builder.parameters import LogFields


@pytest.mark.parametrize(
    ("record", "name", "value"),
    [
        ({"a": 1}, "a", 1),
        ({"a": 0}, "a", 0),
        ({"a": None}, "a", None),
        ({}, "a", None),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a.b": None, "a": {"b": 2}}, "a.b", 2),
        ({"a": {"b": {"c": [3]}}}, "a.b.c", [3]),
        ({"a": {"b": None}}, "a.b.c", None),
        ({"a": 5}, "a.b", None),
        ({"a": [{"b": 5}]}, "a.b", None),
    ],
)
def test_a_dotted_name_is_a_name_or_else_a_path(
    record: dict[str, Any], name: str, value: object
) -> None:
    assert get_nested_value(record, name) == value


def test_ids_are_texts_or_integers() -> None:
    values = ("x", "", 7, -7, 2**70, True, 1.0, None, ["x"])
    assert [parse_id(value) for value in values] == [
        *("x", "", "7", "-7", "1180591620717411303424", None, None, None, None)
    ]


def test_fields_get_their_standard_names() -> None:
    fields = LogFields(user="who.id", query="q", url="link", rank="at.rank", click_time="when")
    record = {
        "time": 5,
        "who": {"id": 7},
        "q": None,
        "results": [{"link": "a", "at": {"rank": 1}, "clicked": None, "x": 2}, {}, "b", None],
        "clicks": [{"at": {"rank": 1}, "when": 9}, 3],
        "more": 1,
    }
    assert rename_fields(record, fields) == {
        "time": 5,
        "user": 7,
        "results": [{"url": "a", "rank": 1}, {}, "b", None],
        "clicks": [{"rank": 1, "time": 9}, 3],
    }
    assert rename_fields({"results": "x", "clicks": {"link": 1}}, fields) == {
        "results": "x",
        "clicks": {"link": 1},
    }
    assert rename_fields(record, DEFAULT_FIELDS) is record
    assert rename_fields(record, LogFields()) is record


def test_names_within_results_alone_and_within_clicks_alone_may_differ() -> None:
    item = {"rank": 1, "time": 2, "when": 3, "clicked": 4, "hit": 5, "url": "a", "x": 6}
    record = {"results": [item], "clicks": [item]}
    assert rename_fields(record, LogFields(click_time="when")) == {
        "results": [item],
        "clicks": [{"rank": 1, "url": "a", "time": 3}],
    }
    assert rename_fields(record, LogFields(clicked="hit")) == {
        "results": [{"url": "a", "rank": 1, "clicked": 5}],
        "clicks": [item],
    }
