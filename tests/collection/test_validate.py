"""Validation: nothing on a good collection, the right check for every kind of damage."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

import builder
from builder import Simulation
from builder.collection.checks import CHECKS
from builder.collection.validate import FINDINGS_SCHEMA, format_github, format_json, validate
from builder.errors import UsageError
from tests.collection.mutations import MUTATIONS

WORLD = Simulation(
    name="tiny", snapshots=2, documents=150, queries=20, impressions=2000, refetched=0.1, seed=3
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small good version."""
    world = tmp_path_factory.mktemp("world")
    builder.simulate(world, WORLD)
    report = builder.build(world / "workflow.toml", tmp_path_factory.mktemp("collection"))
    assert report.version is not None
    return report.version


def test_a_good_collection_has_no_findings(good: Path) -> None:
    assert validate(good) == []


@pytest.mark.parametrize("kind", MUTATIONS)
def test_damage_is_found(kind: str, good: Path, tmp_path: Path) -> None:
    check, damage = MUTATIONS[kind]
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    damage(copy)
    found = {finding.check for finding in validate(copy)}
    assert check in found, f"{kind}: expected {check}, found {sorted(found)}"


def test_every_check_on_a_built_collection_has_a_mutation() -> None:
    covered = {check for check, _ in MUTATIONS.values()}
    of_releases = {"LB201", "LB202", "LB203", "LB205", "LB206"}
    assert covered | of_releases == {check.id for check in CHECKS}


def test_checks_can_be_chosen_and_weighed(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "notes.txt").write_text("x")
    (copy / "report.html").unlink()
    assert {f.check for f in validate(copy)} == {"LB001", "LB002"}
    assert {f.check for f in validate(copy, select=("LB002", "LB1"))} == {"LB002"}
    assert {f.check for f in validate(copy, ignore=("LB0",))} == set()
    (finding,) = validate(copy, select=("LB002",), severities={"LB002": "warning"})
    assert finding.severity == "warning"
    with pytest.raises(UsageError, match="no check matches 'LB9'"):
        validate(copy, select=("LB9",))


def test_findings_are_what_their_schema_says(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "no%20,a:b.txt").write_text("x")
    findings = validate(copy)
    jsonschema.validate(json.loads(format_json(findings)), FINDINGS_SCHEMA)
    assert json.loads(format_json(findings))["valid"] is False
    (finding,) = findings
    assert format_github(finding).startswith(
        "::error file=no%2520%2Ca%3Ab.txt,title=LB002::LB002 error"
    )
