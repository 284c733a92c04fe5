"""Collections in other languages than French: what they say, hold and export."""

import json
import shutil
from pathlib import Path

import pytest

import builder
from builder import BuildReport
from builder.collection.export import export
from builder.errors import DataError, FormatError
from builder.text.names import column_suffixes
from tests.cli.test_cli import run
from tests.faults.kills import published


@pytest.fixture(scope="module", params=["en", "de"])
def built(
    request: pytest.FixtureRequest,
    undisturbed: tuple[Path, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, BuildReport]:
    """A world that is said to be in one language, and its collection."""
    folder = tmp_path_factory.mktemp("languages")
    shutil.copytree(undisturbed[0].parent, folder / "world")
    work = published(undisturbed[0]).parent / ".work"
    shutil.copytree(work, folder / "collection/.work")
    definition = folder / "world/workflow.toml"
    text = definition.read_text("utf-8")
    definition.write_text(text.replace("topics =", f'languages = ["{request.param}"]\ntopics =', 1))
    return request.param, builder.build(definition, folder / "collection")


def test_a_collection_in_one_language(built: tuple[str, BuildReport]) -> None:
    language, report = built
    assert report.version is not None
    assert builder.validate(report.root) == []
    collection = builder.open_collection(report.root)
    assert collection.languages == {language: ""}
    assert collection.aligned_texts("queries").collect()["text"].null_count() == 0
    found = {p.name for p in (report.version / "trec/2022-06").iterdir() if p.is_dir()}
    assert found == {language}


def test_layouts_for_french_say_so(built: tuple[str, BuildReport], tmp_path: Path) -> None:
    language, report = built
    for layout in ("longeval-web", "longeval-2023"):
        with pytest.raises(DataError, match=f"the collection is in '{language}'; export it as"):
            export(report.root, layout, tmp_path / layout)
    out = export(report.root, "trec", tmp_path / "trec")
    described = json.loads((out / "longeval-export.json").read_text())
    assert described["languages"] == [language]
    assert (out / "2022-07" / language / "topics.tsv").stat().st_size > 0


def test_it_is_searched_in_its_language(
    built: tuple[str, BuildReport], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    language, report = built
    assert run("baseline", report.root, "--out", tmp_path / "runs", "--quiet") == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {
        "2022-06.txt.gz",
        "2022-07.txt.gz",
    }
    assert run("sanity", report.root, "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["language"] for row in rows] == [language, language]
    assert run("baseline", report.root, "--out", tmp_path / "no", "--language", "fr") == 2
    assert f"no texts in 'fr'; available languages: {language}" in capsys.readouterr().err


def test_languages_of_a_manifest_are_no_paths(built: tuple[str, BuildReport]) -> None:
    _, report = built
    assert report.version is not None
    manifest = report.version / "manifest.json"
    good = manifest.read_text("utf-8")
    claimed = json.loads(good)
    claimed["definition"]["collection"]["languages"] = ["../../fr"]
    manifest.write_text(json.dumps(claimed), "utf-8")
    try:
        with pytest.raises(FormatError, match="languages"):
            _ = builder.open_collection(report.root).languages
    finally:
        manifest.write_text(good, "utf-8")


@pytest.mark.parametrize("languages", [["fr", "en", "de"], ["en", "en"]])
def test_more_than_a_source_and_its_translation(languages: list[str]) -> None:
    with pytest.raises(DataError, match="expected one or two distinct languages"):
        column_suffixes(languages)
