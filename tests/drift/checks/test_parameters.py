"""The check of recorded parameters."""

from typing import Any

from builder.drift.checks.outcome import Outcome
from builder.drift.checks.parameters import check_parameters
from schemas import (
    Qrels,
    Queries,
)
from tests.drift.worlds import compare, frame


def recording(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Any:
    nothing = (frame([], Queries), frame([], Qrels))
    sides = {"from": before, "to": after}
    return compare(nothing, nothing, {side: rows for side, rows in sides.items() if rows})


def test_recorded_parameters() -> None:
    old = {"select.min_users": 5, "qrels.cuts": [0.15, 0.4]}
    assert check_parameters(recording(old, dict(old))) == Outcome(
        False,
        "all 2 recorded parameters are equal",
        {},
        "any change in a recorded parameter",
    )
    outcome = check_parameters(recording(old, old | {"select.min_users": 3}))
    assert outcome == Outcome(
        True,
        "recorded parameters differ: select.min_users 5 -> 3",
        {"changed": {"select.min_users": {"from": 5, "to": 3}}},
    )
    for pair in ((None, old), (old, None)):
        assert check_parameters(recording(*pair)) == Outcome(None, "no parameters are recorded")


def test_parameters_that_only_one_snapshot_records() -> None:
    """A value of null differs from no value; of tables, each key is compared."""
    old = {"log.fields": {"clicks": "clicks"}, "qrels.depth": None, "qrels.old": 1}
    new = {"log.fields": {"clicks": "clicks", "user": "u"}, "qrels.new": [1, 2], "qrels.old": 1}
    changed = {
        "log.fields.user": {"from": None, "to": "u"},
        "qrels.depth": {"from": None, "to": None},
        "qrels.new": {"from": None, "to": [1, 2]},
    }
    assert check_parameters(recording(old, new)) == Outcome(
        True,
        "recorded parameters differ: log.fields.user None -> u; qrels.depth None -> None; "
        "qrels.new None -> [1, 2]",
        {"changed": changed},
    )


def test_formats_of_raw_files_that_differ() -> None:
    """Another field of the clicks was called clear, although it may be another kind of click."""
    old = {"select.min_users": 5, "log.fields": {"clicks": "clicks", "user": "user"}}
    new = old | {"log.fields": {"clicks": "long_clicks", "user": "user"}}
    assert check_parameters(recording(old, new)) == Outcome(
        None,
        "the raw files are read differently, which is right only if their format changed: "
        "log.fields.clicks clicks -> long_clicks",
        {"changed": {"log.fields.clicks": {"from": "clicks", "to": "long_clicks"}}},
    )
    both = check_parameters(recording(old, new | {"crawl.text_format": "html"}))
    assert both.is_construction is True
    assert both.evidence == (
        "recorded parameters differ: crawl.text_format None -> html; "
        "log.fields.clicks clicks -> long_clicks"
    )
