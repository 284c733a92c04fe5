"""Differences of definitions, tools and drift of two versions, and those that affect judgements."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from builder.collection.compare.changes import (
    DOCUMENTS,
    EVIDENCE,
    GRADING,
    find_definition_changes,
    find_grading_changes,
)
from builder.collection.compare.definitions import (
    diff_code_versions,
    diff_definitions,
    diff_drift_files,
    diff_values,
)
from builder.collection.compare.judgements import JudgementAffectingChanges


def _manifest(
    parameters: Mapping[str, Any] | None = None,
    lists: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
    july: Mapping[str, Any] | None = None,
    june: Mapping[str, Any] | None = None,
    **entries: Any,
) -> dict[str, Any]:
    """A manifest: parameters of July, list files by argument, and versions by stage."""
    units: dict[str, Any] = {
        f"{stage} 2022-07": {"version": version} for stage, version in (versions or {}).items()
    }
    units["log 2022-07"] = {"version": "1", "parameters": parameters or {}}
    for stage, inputs in (lists or {}).items():
        units[f"{stage} 2022-06"] = {"version": "1", "inputs": inputs}
    snapshots = [
        {"name": "2022-06", "start": "1", "end": "2", **(june or {})},
        {"name": "2022-07", "start": "2", "end": "3", **(july or {})},
    ]
    definition = {"snapshots": snapshots, "parameters": {}, **entries}
    return {"definition": definition, "tools": {}, "units": units}


EVERYTHING = (EVIDENCE, DOCUMENTS, GRADING)


@pytest.mark.parametrize(
    ("changed", "evidence", "documents", "grading"),
    [
        ({"july": {"start": "2.5"}}, True, True, True),
        ({"july": {"end": "4"}}, True, True, True),
        ({"topics": {"t.csv": "b"}}, True, True, True),
        ({"july": {"log": {"x": "b"}}}, True, False, False),
        ({"july": {"crawl": {"x": "b"}}}, False, True, False),
        ({"july": {"judgements": {"x": "b"}}}, False, False, True),
        ({"lists": {"select": {"stop_lists": {"x": "b"}}}}, True, False, False),
        ({"lists": {"verdicts": {"files": {"x": "b"}}}}, True, False, False),
        ({"lists": {"variants": {"files": {"x": "b"}}}}, True, False, False),
        ({"lists": {"documents": {"deny": {"x": "b"}}}}, False, True, False),
        ({"lists": {"documents": {"allow": {"x": "b"}}}}, False, True, False),
        ({"june": {"log": {"x": "b"}}}, False, False, False),
    ],
)
def test_inputs_that_affect_judgements(
    changed: dict[str, Any], evidence: bool, documents: bool, grading: bool
) -> None:
    manifests = _manifest(), _manifest(**changed)
    found = [find_definition_changes(manifests, "2022-07", part) for part in EVERYTHING]
    assert [changes.inputs for changes in found] == [evidence, documents, grading]
    assert {changes.code for changes in found} == {False}


def test_files_may_have_other_names_and_another_order() -> None:
    old = _manifest(july={"log": {"a": "1", "b": "2"}})
    new = _manifest(july={"log": {"c": "2", "d": "1"}})
    assert find_definition_changes((old, new), "2022-07", *EVERYTHING) == (
        JudgementAffectingChanges()
    )


def test_programs_that_affect_judgements() -> None:
    affecting = "topics verdicts select variants clicks grades qrels".split()
    affecting += "crawl page_verdicts shown documents".split()
    for stage in (*affecting, "drift", "maps", "translate", "coverage"):
        manifests = _manifest(versions={stage: "1"}), _manifest(versions={stage: "2"})
        found = find_definition_changes(manifests, "2022-07", EVIDENCE)
        assert found.code is (stage in affecting), stage
    assert not find_definition_changes(
        (_manifest(versions={"clicks": "1"}), _manifest()), "2022-07", EVIDENCE
    ).code


def test_parameters_that_affect_judgements_by_section() -> None:
    old = {f"{name}.x": 1 for name in "log crawl select documents qrels clicks split".split()}
    manifests = _manifest(old), _manifest(dict.fromkeys(old, 2) | {"variants.y": {"z": 1}})
    assert find_definition_changes(manifests, "2022-07", *EVERYTHING) == JudgementAffectingChanges(
        ("log.x", "select.x", "variants.y.z", "clicks.x", "crawl.x", "documents.x"), ("qrels.x",)
    )
    assert find_definition_changes(manifests, "2022-07", GRADING) == JudgementAffectingChanges(
        (), ("qrels.x",)
    )


@pytest.mark.parametrize(
    ("duplicates", "expected"),
    [
        ({"duplicates": "drop"}, ("documents.sample_share",)),
        ({"duplicates": "keep_first"}, ("documents.sample_share",)),
        ({"near_duplicates": "drop"}, ("documents.sample_share",)),
        ({"duplicates": "mark", "near_duplicates": "mark"}, ()),
        ({}, ()),
    ],
)
def test_samples_affect_judgements_only_if_duplicates_are_dropped(
    duplicates: dict[str, str], expected: tuple[str, ...]
) -> None:
    same = {f"documents.{key}": value for key, value in duplicates.items()}
    old = _manifest({**same, "documents.sample_share": 0.1, "documents.deny": ["a"]})
    new = _manifest({**same, "documents.sample_share": 0.2, "documents.deny": ["b"]})
    assert find_definition_changes((old, new), "2022-07", DOCUMENTS).evidence == expected


def test_either_version_may_drop_duplicates() -> None:
    drop, share = {"documents.duplicates": "drop"}, "documents.sample_share"
    for old, new in (({}, drop), (drop, {})):
        manifests = _manifest({**old, share: 0.1}), _manifest({**new, share: 0.2})
        found = find_definition_changes(manifests, "2022-07", DOCUMENTS)
        assert found.evidence == ("documents.duplicates", share)


FITTED = {"qrels.policy": "target_shares"}


def test_cuts_are_fitted_to_the_first_snapshot() -> None:
    """Under another policy, the log of June does not change the grades of July."""
    differ = {"2022-06": False, "2022-07": False}
    log = {"june": {"log": {"x": "b"}}}
    manifests = _manifest(FITTED), _manifest(FITTED, **log)
    found = find_grading_changes(manifests, "2022-07", differ)
    assert found == JudgementAffectingChanges(inputs=True)
    absolute = {"qrels.policy": "absolute"}
    manifests = _manifest(FITTED), _manifest(absolute, **log)
    found = find_grading_changes(manifests, "2022-07", differ)
    assert found == JudgementAffectingChanges((), ("qrels.policy",))
    crawl = {"june": {"crawl": {"x": "b"}}}
    manifests = _manifest(FITTED), _manifest(FITTED, **crawl)
    for is_other, expected in ((False, False), (True, True)):
        differ = {"2022-06": is_other, "2022-07": False}
        assert find_grading_changes(manifests, "2022-07", differ).inputs is expected


def test_changed_parameters_of_the_first_snapshot_are_named_once() -> None:
    old, new = _manifest({**FITTED, "clicks.x": 1}), _manifest({**FITTED, "clicks.x": 2})
    for manifest, value in ((old, 1), (new, 2)):
        parameters = {"clicks.x": value, "select.y": value, "qrels.z": value}
        manifest["units"]["select 2022-06"] = {"version": "1", "parameters": parameters}
    differ = {"2022-06": False, "2022-07": False}
    found = find_grading_changes((old, new), "2022-07", differ)
    assert found == JudgementAffectingChanges(("clicks.x", "select.y"))
    new["units"]["clicks 2022-07"] = {"version": "2"}
    old["units"]["clicks 2022-07"] = {"version": "1"}
    assert find_grading_changes((old, new), "2022-07", differ).code


def test_another_first_snapshot_is_another_input() -> None:
    old, new = _manifest(FITTED), _manifest(FITTED)
    new["definition"]["snapshots"].insert(0, {"name": "2022-05", "start": "0", "end": "1"})
    differ = {"2022-06": False, "2022-07": False}
    found = find_grading_changes((old, new), "2022-07", differ)
    assert found == JudgementAffectingChanges(inputs=True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1, []),
        (None, None, []),
        ({"b": 1, "a": 2}, {"a": 3, "b": 2}, ["k.a: 2 -> 3", "k.b: 1 -> 2"]),
        ({"a": {"b": 1}}, None, ["k.a.b: 1 -> None"]),
        ({"a": 1}, 1, ["k changed"]),
        ([1], [1, 2], ["k changed"]),
        ([], None, ["k changed"]),
        (None, [], ["k changed"]),
        (1, [1], ["k changed"]),
        ([1, {"a": 1}, 3], [1, {"a": 2}, 4], ["k[1].a: 1 -> 2", "k[2]: 3 -> 4"]),
        ({}, None, []),
        ("a", True, ["k: a -> True"]),
    ],
)
def test_values_that_differ(old: Any, new: Any, expected: list[str]) -> None:
    assert diff_values(old, new, "k") == expected


def test_overrides_are_those_that_stages_recorded() -> None:
    def manifest(**parameters: Any) -> dict[str, Any]:
        found = _manifest(parameters)
        found["definition"]["parameters"] = {"a": {"x": 1, "y": {"u": 1, "v": 2}}}
        return found

    old = manifest(**{"a.x": 1, "a.y": {"u": 1, "v": 2}, "b.z": 1})
    new = manifest(**{"a.x": 2, "a.y": {"u": 1, "v": 3, "w": 4}, "b.z": 1, "b.y": None})
    assert diff_definitions(old, new) == [
        "snapshots[1].overrides.a.x: None -> 2",
        "snapshots[1].overrides.a.y.v: None -> 3",
        "snapshots[1].overrides.a.y.w: None -> 4",
    ]


def test_stages_of_one_version_are_not_compared() -> None:
    old = {"polars": "1", "duckdb": "1", "stage clicks": "1", "stage pair_drift": "1"}
    new = {"polars": "1", "pyarrow": "2", "stage clicks": "2", "stage maps": "1"}
    assert diff_code_versions(old, new) == [
        "duckdb: 1 -> None",
        "pyarrow: None -> 2",
        "stage clicks: 1 -> 2",
    ]


def test_keys_of_drift_that_differ_are_sorted(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    (tmp_path / "a/drift.json").write_text('{"x": 1, "y": {"b": 1}, "z": 3, "v": 0}')
    (tmp_path / "b/drift.json").write_text('{"x": 1, "y": {"b": 2}, "w": 3, "v": 0}')
    assert diff_drift_files(tmp_path / "a", tmp_path / "b") == ("w", "y", "z")
    assert diff_drift_files(tmp_path / "c", tmp_path / "b") == ("v", "w", "x", "y")
    assert diff_drift_files(tmp_path / "a", tmp_path / "c") == ("v", "x", "y", "z")
