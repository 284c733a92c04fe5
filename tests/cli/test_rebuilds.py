"""Builds of a version that is published: damaged files, and definitions that no stage reads."""

import shutil
from pathlib import Path

import pytest

import builder
from builder import SimulationParameters
from builder.errors import DataError
from tests.cli.test_cli import run

WORLD = SimulationParameters(
    name="w", snapshots=1, documents=60, queries=8, impressions=300, seed=2, malformed_rate=0.05
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, and its collection in the folder `out`."""
    folder = tmp_path_factory.mktemp("first") / "world"
    builder.simulate(folder, WORLD)
    builder.build(folder / "workflow.toml", folder / "out")
    return folder


@pytest.fixture
def world(first: Path, tmp_path: Path) -> Path:
    """A copy of it, in which finished steps are not run again."""
    return Path(shutil.copytree(first, tmp_path / "world"))


def _edit(definition: Path, before: str, after: str) -> None:
    definition.write_text(definition.read_text("utf-8").replace(before, after), "utf-8")


def test_a_published_version_is_repaired(world: Path) -> None:
    """`validate` advised to build again, and `build` said that there was nothing to do."""
    definition, out = world / "workflow.toml", world / "out"
    first = builder.build(definition, out)
    assert first.version is not None
    assert not first.published
    good = Path(shutil.copytree(first.version, world / "good"))
    (first.version / "report.html").unlink()
    qrels = first.version / "trec/2022-06/qrels.txt"
    text = qrels.read_text("utf-8")
    qrels.unlink()
    qrels.write_text(text.replace(" 0\n", " 1\n"), "utf-8")
    again = builder.build(definition, out)
    assert again.published
    assert again.executed_step_count == 0
    assert builder.validate(first.version) == []
    for path in good.rglob("*.*"):
        assert (first.version / path.relative_to(good)).read_bytes() == path.read_bytes()


def test_a_release_is_not_replaced_but_its_damage_is_named(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition, out = world / "workflow.toml", world / "out"
    _edit(definition, "0.1.0", "1.0.0")
    version = builder.build(definition, out).version
    assert version is not None
    sums = (version / "SHA256SUMS").read_text("utf-8")
    (version / "SHA256SUMS").write_text("", "utf-8")
    with pytest.raises(DataError, match=r"changed or deleted afterwards \(SHA256SUMS\); restore"):
        builder.build(definition, out)
    (version / "SHA256SUMS").write_text(sums, "utf-8")
    assert not builder.build(definition, out).published
    _edit(definition, "CC0-1.0", "CC-BY-4.0")
    assert run("build", definition, "--out", out, "--explain") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"the build would stop: {definition}: collection.version: version 1.0.0")


def test_a_draft_has_the_licence_of_its_definition(world: Path) -> None:
    """No stage reads the licence, and so the draft was called up to date."""
    definition, out = world / "workflow.toml", world / "out"
    assert not builder.build(definition, out).published
    _edit(definition, "CC0-1.0", "CC-BY-4.0")
    again = builder.build(definition, out)
    assert again.published
    assert again.version is not None
    assert "Licence: CC-BY-4.0." in (again.version / "README.md").read_text("utf-8")


def test_a_folder_whose_name_is_not_utf8(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arrow rejects such paths, with a traceback."""
    out = world / "caf\udce9"
    assert run("build", world / "workflow.toml", "--out", out) == 2
    assert "\\udce9: expected a path in UTF-8, found invalid bytes" in capsys.readouterr().err
