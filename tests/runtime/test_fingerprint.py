"""Why a step runs again, in words."""

from typing import Any

from builder.runtime.fingerprint import MAX_VALUE_LENGTH, step_identity_changes


def identity(**context: Any) -> dict[str, Any]:
    """An identity that differs from others in its context alone."""
    return {"version": "1", "parameters": {}, "context": context, "contracts": {}, "inputs": {}}


def test_values_are_compared_where_they_differ() -> None:
    before = identity(recorded={"2022-06": {"a.b": 1, "a.c": {"d": None}}, "2022-07": {"a.b": 1}})
    now = identity(recorded={"2022-06": {"a.b": 2, "a.c": {"d": "e"}}, "2022-07": {"d": 1}})
    assert step_identity_changes(before, now) == (
        "parameters of 2022-06 a.b 1 -> 2",
        "parameters of 2022-06 a.c.d not set -> e",
        "parameters of 2022-07 a.b 1 -> absent",
        "parameters of 2022-07 d absent -> 1",
    )


def test_long_values_are_cut() -> None:
    (reason,) = step_identity_changes(identity(files=["x" * 1000]), identity(files="y"))
    assert reason.startswith("files ['xxx")
    assert reason.endswith("... -> y")
    assert len(reason) == len("files  -> y") + MAX_VALUE_LENGTH


def test_settings_that_are_new_or_gone_are_named_without_their_content() -> None:
    none, new = identity(), identity(sampling={"share": 0.2}, near="together")
    assert step_identity_changes(none, new) == ("near absent -> together", "sampling added")
    assert step_identity_changes(new, none) == ("near together -> absent", "sampling removed")


def test_parameters_are_named_as_in_the_definition() -> None:
    before = identity() | {"parameters": {"crawl.fields": {"text": None, "url": "url"}}}
    now = identity() | {"parameters": {"crawl.fields": {"text": "contenu", "url": "url"}}}
    assert step_identity_changes(before, now) == ("crawl.fields.text not set -> contenu",)
