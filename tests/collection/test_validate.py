"""Validation: nothing on a good collection, the right check for every kind of damage."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import builder
from builder import Simulation
from builder.collection.checks import CHECKS, Finding
from builder.collection.findings import FINDINGS_SCHEMA, format_github, format_json, format_text
from builder.collection.validate import validate, validate_all_versions
from builder.errors import UsageError
from tests.collection.mutations import MUTATIONS

WORLD = Simulation(
    name="tiny", snapshots=2, documents=150, queries=20, impressions=2000, refetched=0.1, seed=3
)
POINTER = "the file is a Git LFS pointer."
NO_PARQUET = (
    "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
    "parquet file."
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
    (copy / "notes.txt").write_text("x")
    findings = validate(copy)
    jsonschema.validate(json.loads(format_json(findings)), FINDINGS_SCHEMA)
    assert json.loads(format_json(findings))["valid"] is False
    assert [finding.version for finding in findings] == [str(copy)]


@pytest.mark.parametrize("workspace", [None, "outer"])
def test_annotations_name_files_of_the_repository(
    workspace: str | None, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(good, tmp_path / "outer/sets/mine/0.1.0")
    monkeypatch.chdir(tmp_path / "outer" if workspace is None else tmp_path / "outer/sets")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    if workspace is not None:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / workspace))
    folder = Path("sets/mine" if workspace is None else "mine")
    version = folder / "0.1.0"
    (version / "no%20,a:b.txt").write_text("x")
    (version / "topics.parquet").write_bytes(b"")
    (part,) = (version / "snapshots/2022-06/documents").glob("part-*.parquet")
    part.write_bytes(b"")
    lines = [format_github(f) for f in validate(folder, select=("LB002", "LB101"))]
    files = [
        line.partition("file=")[2].partition(",title=longeval validate::")[0] for line in lines
    ]
    assert files == [
        "sets/mine/0.1.0/no%2520%2Ca%3Ab.txt",
        "sets/mine/0.1.0/topics.parquet",
        f"sets/mine/0.1.0/snapshots/2022-06/documents/{part.name}",
    ]
    assert lines[0] == (
        f"::error file={files[0]},title=longeval validate::LB002 error: {version}/no%2520,a:b.txt: "
        "the file is not listed in the manifest. Fix: remove the file, or build a new version."
    )


@pytest.mark.parametrize("run_checks", [validate, validate_all_versions])
def test_a_version_without_a_manifest_is_found(
    run_checks: Callable[..., list[Finding]], good: Path, tmp_path: Path
) -> None:
    shutil.copytree(good, tmp_path / "0.1.0")
    (tmp_path / "0.1.0/manifest.json").unlink()
    message = (
        f"LB004 error: {tmp_path}/0.1.0/manifest.json: cannot read the manifest: No such file or "
        "directory. Fix: rebuild the version from its definition, or download it again."
    )
    assert [format_text(finding) for finding in run_checks(tmp_path)] == [message]
    assert [format_text(finding) for finding in run_checks(tmp_path / "0.1.0")] == [message]
    shutil.copytree(good, tmp_path / "0.2.0")
    assert [format_text(finding) for finding in run_checks(tmp_path)] == [message]


@pytest.mark.parametrize("run_checks", [validate, validate_all_versions])
def test_a_cut_manifest_is_a_finding(
    run_checks: Callable[..., list[Finding]], good: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "manifest.json").write_text('{\n "definition": {')
    (finding,) = run_checks(copy)
    assert format_text(finding) == (
        f"LB004 error: {copy}/manifest.json: cannot read the manifest: Expecting property name "
        "enclosed in double quotes: line 2 column 17 (char 18). Fix: rebuild the version from its "
        "definition, or download it again."
    )


def _convert_line_endings(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def test_what_git_does_to_files_is_named(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    _convert_line_endings(copy / "manifest.json")
    _convert_line_endings(copy / "trec/2022-06/qrels.txt")
    (copy / "queries_map.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha")
    (copy / "topics.parquet").write_bytes((good / "topics.parquet").read_bytes()[:1000])
    size = (good / "topics.parquet").stat().st_size
    texts = [format_text(finding).replace(f"{copy}/", "") for finding in validate(copy)]
    assert [text.partition(" Fix: ")[0] for text in texts] == [
        "LB003 error: queries_map.parquet: expected the file, found a Git LFS pointer to it.",
        f"LB003 error: topics.parquet: expected {size:,} bytes, found 1,000: the file was cut.",
        "LB003 error: trec/2022-06/qrels.txt: the line endings of the file were converted to CRLF.",
        "LB004 error: manifest.json: the line endings of the file were converted to CRLF.",
        f"LB101 error: topics: cannot read topics.parquet: {NO_PARQUET}",
        f"LB101 error: queries_map: cannot read queries_map.parquet: {POINTER}",
    ]
    attributes = (
        "put a line such as `collections/** -text` into .gitattributes, so that Git does not "
        "convert line endings, and check out the file again."
    )
    rebuild = "rebuild the version from its definition, or download it again."
    assert [text.partition(" Fix: ")[2] for text in texts] == [
        "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`.",
        rebuild,
        attributes,
        attributes,
        rebuild,
        rebuild,
    ]
