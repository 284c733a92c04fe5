"""What is refused before anything runs, and what is never published."""

import json
import shutil
from pathlib import Path

import pytest

import builder
from builder import BuildReport, DataError, UsageError
from builder.collection.imports import import_release
from builder.runtime.limits import ResourceLimits
from builder.runtime.runner import Runner
from tests.collection.releases import write
from tests.faults.kills import published


@pytest.fixture
def released(built: BuildReport, world: Path, tmp_path: Path) -> Path:
    """A definition whose version is released."""
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(built.root, tmp_path / "collection")
    definition = tmp_path / "world/workflow.toml"
    definition.write_text(definition.read_text().replace("0.1.0", "1.0.0"))
    builder.build(definition, tmp_path / "collection")
    return definition


def test_a_release_whose_manifest_git_did_not_fetch_is_not_replaced(
    released: Path, tmp_path: Path
) -> None:
    """The release was replaced by one with other grades, and nothing said so."""
    version = tmp_path / "collection/1.0.0"
    (version / "manifest.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    (version / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in version.rglob("*") if path.is_file()}
    released.write_text(released.read_text() + "\n[qrels]\ncuts = [0.2, 0.5]\n")
    message = "1.0.0 is already published, but manifest.json is missing or cannot be read"
    with pytest.raises(DataError, match=message):
        builder.build(released, tmp_path / "collection")
    assert {path: path.read_bytes() for path in version.rglob("*") if path.is_file()} == before
    report = builder.build(released, tmp_path / "collection", explain=True)
    assert message in report.refusal


@pytest.mark.parametrize("content", ["[1]", "{}", "5", None])
def test_a_draft_without_topics_or_manifest_is_built_again(
    content: str | None, undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    """Its topics could not be compared, and its manifest was a traceback."""
    definition = undisturbed[0]
    shutil.copytree(published(definition).parent, tmp_path / "c")
    name = "topics.parquet" if content is None else "manifest.json"
    (tmp_path / "c/0.1.0" / name).unlink()
    if content is not None:
        (tmp_path / "c/0.1.0" / name).write_text(content)
    assert builder.build(definition, tmp_path / "c").published
    assert builder.validate(tmp_path / "c") == []


def test_a_release_whose_topics_cannot_be_compared_is_named(released: Path, tmp_path: Path) -> None:
    topics = tmp_path / "collection/1.0.0/topics.parquet"
    topics.unlink()
    released.write_text(released.read_text().replace("1.0.0", "1.1.0"))
    with pytest.raises(DataError) as raised:
        builder.build(released, tmp_path / "collection")
    assert str(raised.value) == (
        f"{topics}: expected a Parquet file, found none. The topics must be the same in all "
        "releases in a folder: restore release 1.0.0, or build in another folder with --out"
    )


def test_a_classification_collection_in_the_same_folder_has_no_topics(
    world: Path, built: BuildReport, tmp_path: Path
) -> None:
    shutil.copytree(built.root / ".work", tmp_path / "c/.work")
    manifest = tmp_path / "c/1.0.0/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"kind": "classification", "name": "x", "version": "1.0.0"}')
    assert builder.build(world / "workflow.toml", tmp_path / "c").published


@pytest.mark.parametrize("what", ["stage", "contract"])
def test_the_guard_of_a_released_version_answers_first(
    what: str, released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "collection/1.0.0/manifest.json"
    manifest = json.loads(path.read_text())
    if what == "stage":
        manifest["units"]["clicks 2022-06"]["version"] = "0"
    else:
        manifest["tables"]["snapshots/2022-06/qrels"]["contract"] = "Qrels/0()"
    path.write_text(json.dumps(manifest))

    def never(*_: object) -> None:
        raise AssertionError("a stage ran")

    monkeypatch.setattr(Runner, "run", never)
    expected = "stage clicks" if what == "stage" else "table snapshots/2022-06/qrels"
    with pytest.raises(UsageError, match=f"whose output differs .{expected}"):
        builder.build(released, tmp_path / "collection")


def test_a_draft_says_that_its_topics_change(
    world: Path, built: BuildReport, tmp_path: Path
) -> None:
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(built.root / ".work", tmp_path / "c/.work")
    definition = tmp_path / "world/workflow.toml"
    assert builder.build(definition, tmp_path / "c").topic_changes == ()
    topics = next((tmp_path / "world").glob("topics*"))
    lines = topics.read_text().splitlines()
    gone = lines.pop().split("\t")[0]
    topics.write_text("\n".join(lines) + "\n")
    report = builder.build(definition, tmp_path / "c")
    assert report.topic_changes == (f"topics removed: {gone}",)
    assert builder.build(definition, tmp_path / "c").topic_changes == ()


def test_a_snapshot_without_judgements_is_not_published(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    shutil.copytree(undisturbed[0].parent, tmp_path / "world")
    shutil.copytree(published(undisturbed[0]).parent / ".work", tmp_path / "c/.work")
    definition = tmp_path / "world/workflow.toml"
    text = definition.read_text()
    header = "[qrels]\n"
    assert header in text or "[[snapshots]]" in text
    if header in text:
        text = text.replace(header, f"{header}min_judged = 100000\n")
    else:
        text = text.replace("[[snapshots]]", f"{header}min_judged = 100000\n\n[[snapshots]]", 1)
    definition.write_text(text)
    with pytest.raises(DataError, match="nothing was published: 2022-06 has no judgements"):
        builder.build(definition, tmp_path / "c")
    assert not (tmp_path / "c/0.1.0").exists()
    assert builder.build(definition, tmp_path / "c", allow_empty=True).published


def test_a_crawl_whose_field_has_another_name_is_named_as_the_cause(tmp_path: Path) -> None:
    builder.simulate(
        tmp_path / "w", builder.SimulationParameters(snapshots=1, documents=30, queries=4)
    )
    definition = tmp_path / "w/workflow.toml"
    definition.write_text(definition.read_text() + '\n[crawl.fields]\nurl = "adresse"\n')
    message = (
        r"2022-06 has no documents.*\. crawl 2022-06: (\d+) of \1 records were rejected as "
        r"bad_url: if URLs are in a different field, set crawl\.fields\.url; .*\. Check the rejects"
    )
    for _ in range(2):
        with pytest.raises(DataError, match=message):
            builder.build(definition, tmp_path / "c")


def test_an_import_without_a_row_is_not_published(tmp_path: Path) -> None:
    write(tmp_path / "r/2022-06_queries.txt", "1\teau\n")
    write(tmp_path / "r/2022-06_qrels.txt", "1 0 7\n")
    (tmp_path / "scratch").mkdir()
    limits = ResourceLimits(tmp_path / "scratch")
    with pytest.raises(DataError, match=r"no qrels could be read from 1 file \(1 not_four_columns"):
        import_release(tmp_path / "r", "longeval-web", tmp_path / "out", limits=limits)
    assert not (tmp_path / "out/1.0.0").exists()
    (tmp_path / "again").mkdir()
    report = import_release(
        tmp_path / "r",
        "longeval-web",
        tmp_path / "out",
        allow_empty=True,
        limits=ResourceLimits(tmp_path / "again"),
    )
    assert report.rows["2022-06"] == {"queries": 1, "qrels": 0, "documents": 0}
