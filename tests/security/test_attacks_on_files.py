"""Attacks by links, pipes, folders and files that others have prepared."""

import contextlib
import json
import os
import re
import shutil
import stat
import tomllib
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.collection.export import export
from builder.collection.validate import validate
from builder.definition.model import Definition
from builder.errors import DataError, DefinitionError, FormatError, LongEvalError
from builder.evaluation.runs.qrels import read_qrels
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation import check_model
from builder.translation.engine import ModelOutput
from builder.translation.memory import TranslationMemory
from builder.trec import read_run
from tests.security.tools import ROOT, at_most, definition, read_log

SECRET = "root:x:0:0:a secret line"


@pytest.fixture
def version(built: BuildReport, tmp_path: Path) -> Path:
    """A copy of a version."""
    assert built.version is not None
    return Path(shutil.copytree(built.version, tmp_path / "version"))


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that must stay as it is."""
    path = tmp_path / "victim"
    path.write_text(SECRET)
    return path


def test_a_lock_that_is_a_link_truncates_nothing(world: Path, tmp_path: Path, victim: Path) -> None:
    work = tmp_path / "out/.work"
    work.mkdir(parents=True)
    (work / "lock").symlink_to(victim)
    with pytest.raises(DataError, match="found a symbolic link"):
        builder.build(world / "workflow.toml", tmp_path / "out", until="topics")
    assert victim.read_text() == SECRET


def test_a_work_folder_that_is_a_link_is_refused(world: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.work").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="found a symbolic link"):
        builder.build(world / "workflow.toml", tmp_path / "out", until="topics")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_leftovers_that_are_links_are_removed_not_followed(
    world: Path, tmp_path: Path, victim: Path
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    work = tmp_path / "out/.work"
    work.mkdir(parents=True)
    (work / "a.partial").symlink_to(victim)
    (work / "b.partial").symlink_to(tmp_path / "kept")
    (work / "scratch").symlink_to(tmp_path / "kept")
    builder.build(world / "workflow.toml", tmp_path / "out", until="topics")
    assert victim.read_text() == SECRET
    assert (tmp_path / "kept/file").read_text() == "x"


def test_records_of_the_work_folder_name_no_other_files(
    world: Path, tmp_path: Path, victim: Path
) -> None:
    path = world / "workflow.toml"
    builder.build(path, tmp_path / "out", until="topics")
    (record,) = (tmp_path / "out/.work/topics").rglob("record.json")
    forged = json.loads(record.read_text())
    forged["id"] = "../../../../.."
    record.write_text(json.dumps(forged))
    with contextlib.suppress(LongEvalError):
        builder.build(path, tmp_path / "out", until="topics")
    assert victim.read_text() == SECRET
    assert path.exists()


def test_tables_that_are_links_are_found(version: Path, victim: Path) -> None:
    table = version / "topics.parquet"
    table.unlink()
    table.symlink_to(victim)
    found = validate(version)
    assert any("topics.parquet" in finding.where for finding in found)
    assert SECRET not in "".join(finding.message for finding in found)


def test_folders_that_are_links_are_not_followed(version: Path, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    (tmp_path / "many/x.parquet").write_text("x")
    (version / "snapshots/loop").symlink_to(version)
    with at_most(60):
        assert any(finding.check == "LB002" for finding in validate(version))


def test_pipes_are_no_inputs(world: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    path = definition(tmp_path, world, "logs/2022-06", "pipe.jsonl#")
    path.write_text(re.sub(r'"pipe\.jsonl#[^"]*"', '"pipe.jsonl"', path.read_text()))
    with at_most(30), pytest.raises(DefinitionError, match="no such file"):
        Definition.load(path)


def test_pipes_are_no_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run")
    with at_most(30), pytest.raises(LongEvalError, match="special file"):
        read_run(tmp_path / "run")
    with at_most(30), pytest.raises(LongEvalError, match="special file"):
        read_qrels(tmp_path / "run")


def test_loops_of_links_in_inputs_end(world: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, world, "logs/2022-06", "deep/2022-06")
    shutil.copytree(world / "logs", tmp_path / "deep")
    (tmp_path / "deep/again").symlink_to(tmp_path / "deep")
    path.write_text(re.sub(r'log = \["?deep[^\]]*\]', 'log = ["deep"]', path.read_text()))
    with at_most(30):
        assert Definition.load(path).file == path


def test_exports_go_into_empty_folders_only(version: Path, tmp_path: Path, victim: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "queries.tsv").symlink_to(victim)
    with pytest.raises(LongEvalError, match="new or empty folder"):
        export(version, "trec", home)
    assert victim.read_text() == SECRET


def test_definitions_reach_no_attributes(world: Path, tmp_path: Path) -> None:
    for key in ("__class__", "model_config", "__dict__", "model_fields"):
        folder = tmp_path / key
        folder.mkdir()
        path = definition(folder, world, "[collection]", f"[collection]\n{key} = 1")
        with pytest.raises(DefinitionError, match="unknown key"):
            Definition.load(path)


def test_a_memory_of_translations_is_not_believed(tmp_path: Path) -> None:
    import sqlite3

    with TranslationMemory(tmp_path / "m.sqlite") as memory:
        memory.add("scope", {"eau": ModelOutput("water", 1)})
    with sqlite3.connect(tmp_path / "m.sqlite") as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master").fetchall()]
        table = next(name for name in names if not name.startswith("sqlite"))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        text = next(name for name in columns if name in {"text", "output", "english"})
        connection.execute(f"UPDATE {table} SET {text} = 'poison'")
    with TranslationMemory(tmp_path / "m.sqlite") as memory:
        assert memory.lookup("scope", ["eau"]) == {}


@pytest.mark.parametrize("config", ["[", "{}", "[" * 100_000, '{"add_source_eos": []}'])
def test_model_folders_are_not_believed(tmp_path: Path, config: str) -> None:
    for name in ("model.bin", "shared.spm"):
        (tmp_path / name).write_bytes(b"\0" * 64)
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "shared_vocabulary.json").write_text('["<unk>", "../../x"]')
    (tmp_path / "scratch").mkdir()
    with at_most(60), pytest.raises(FormatError):
        check_model(
            TranslationParameters(model=tmp_path), ResourceLimits(tmp_path / "scratch", threads=1)
        )


def test_scratch_of_workers_is_private(tmp_path: Path) -> None:
    from builder.runtime.executors import run_in_scratch_folder

    def mode(_: int, limits: ResourceLimits) -> int:
        return stat.S_IMODE(limits.scratch.stat().st_mode)

    assert run_in_scratch_folder(mode, ResourceLimits(tmp_path), 0) == 0o700


def test_the_action_puts_no_input_into_its_script() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    scripts = re.findall(r"run: (?:\|\n((?: {8}.*\n?)+)|(.*))", text)
    assert len(scripts) == 2
    assert not any("${{" in script for pair in scripts for script in pair)


def test_installed_names_come_from_locks_with_hashes() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text("utf-8")
        pinned = re.findall(r"^[A-Za-z0-9._-]+(?:\[.*?\])?==", text, re.MULTILINE)
        assert len(pinned) > 10
        assert text.count("--hash=sha256:") >= len(pinned)
        assert "://" not in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "index-url" not in json.dumps(project)


def test_pseudonyms_of_one_person_differ_between_logs(tmp_path: Path) -> None:
    users = []
    for number, query in enumerate(("eau", "vin")):
        folder = tmp_path / str(number)
        folder.mkdir()
        line = f'{{"time": 5, "user": "ann", "query": "{query}", "results": ["https://a.fr/"]}}\n'
        read_log(folder, line.encode())
        users.append(pl.read_parquet(folder / "out/impressions")["user"][0])
    assert users[0] != users[1]
