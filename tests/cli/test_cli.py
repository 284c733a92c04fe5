"""The command as people and scripts use it: output, exit codes, messages."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import schemas
from builder import BuildReport
from builder.cli import main


def run(*arguments: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


Captured = pytest.CaptureFixture[str]


def test_help_lists_the_verbs(capsys: Captured) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    for verb in ("demo", "simulate", "build", "validate", "schema"):
        assert verb in shown


def test_version(capsys: Captured) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("longeval-builder 0.")


@pytest.mark.parametrize(
    "arguments", [("biuld",), ("build",), ("build", "x", "--thread", "2"), ("validate", "a", "b")]
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...], capsys: Captured) -> None:
    assert run(*arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "options", "named"),
    [
        ("topics =", "topisc =", (), "collection.topisc: unknown key; did you mean 'topics'?"),
        ("logs/2022-07", "logs/2022-99", (), "snapshots[1].log[0]: no such file"),
        ("topics.tsv", "topic.tsv", (), "collection.topics: no such file"),
        ("start = 2022-07-01", "start = 2022-06-20", (), "snapshots[1].start: snapshot 2022-07"),
        ("", "", ("--snapshot", "2023-01"), "--snapshot: unknown snapshot '2023-01'"),
        ("version = ", "version ", (), "not valid TOML"),
        ('"0.1.0"', '"one"', (), "collection.version: expected a version such as 1.0.0"),
    ],
)
def test_wrong_definitions_exit_2_and_name_file_and_key(
    world: Path,
    tmp_path: Path,
    capsys: Captured,
    before: str,
    after: str,
    options: tuple[str, ...],
    named: str,
) -> None:
    for name in ("logs", "crawls", "topics.tsv"):
        (tmp_path / name).symlink_to(world / name)
    definition = tmp_path / "workflow.toml"
    definition.write_text((world / "workflow.toml").read_text().replace(before, after, 1))
    assert run("build", definition, "--out", tmp_path / "out", *options) == 2
    message = capsys.readouterr().err
    assert message.startswith("longeval: ")
    assert str(definition) in message
    assert named in message
    assert "Traceback" not in message
    assert not (tmp_path / "out").exists()


def test_other_wrong_values_exit_2(world: Path, tmp_path: Path, capsys: Captured) -> None:
    definition = world / "workflow.toml"
    assert run("build", definition, "--out", tmp_path, "--until", "qrel") == 2
    assert "unknown stage 'qrel'; did you mean 'qrels'?" in capsys.readouterr().err
    assert run("build", definition, "--out", tmp_path, "--memory", "much") == 2
    assert "expected a size such as 4GiB" in capsys.readouterr().err
    assert run("build", tmp_path / "none.toml") == 2
    assert "definition file not found" in capsys.readouterr().err
    assert run("validate", tmp_path) == 2
    assert "not a published collection" in capsys.readouterr().err
    assert run("schema", "qrel") == 2
    assert "no table 'qrel'; did you mean 'qrels'" in capsys.readouterr().err


def test_validate_prints_findings(built: BuildReport, tmp_path: Path, capsys: Captured) -> None:
    version = built.root / "0.1.0"
    assert run("validate", built.root) == 0
    assert capsys.readouterr().out == f"no findings in {version} (2022-06, 2022-07, 2022-08)\n"
    assert run("validate", built.root, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "valid": True,
        "versions": {str(version): ["2022-06", "2022-07", "2022-08"]},
        "findings": [],
    }
    damaged = tmp_path / "c"
    shutil.copytree(built.root, damaged)
    (damaged / "0.1.0/topics.parquet").unlink()
    (damaged / "0.1.0/extra.txt").touch()
    assert run("validate", damaged) == 1
    text = capsys.readouterr().out
    assert f"LB001 error: {damaged}/0.1.0/topics.parquet: the file is listed in the" in text
    assert f"LB002 error: {damaged}/0.1.0/extra.txt: the file is not listed in the" in text
    assert run("validate", damaged, "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["valid"]
    assert {finding["check"] for finding in report["findings"]} == {"LB001", "LB002", "LB101"}
    assert run("validate", damaged, "--format", "github") == 1
    printed = capsys.readouterr()
    assert all(line.startswith("::error file=") for line in printed.out.splitlines())
    assert printed.err == f"3 findings in {damaged}/0.1.0 (2022-06, 2022-07, 2022-08)\n"
    (damaged / "0.1.0/manifest.json").write_text("{")
    shutil.copytree(version, damaged / "0.2.0")
    assert run("validate", damaged, "--all") == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"1 finding in {damaged}/0.1.0 (cannot read manifest.json); "
        f"{damaged}/0.2.0 (2022-06, 2022-07, 2022-08)"
    )


def test_schema_prints_every_table(capsys: Captured) -> None:
    assert run("schema") == 0
    text = capsys.readouterr().out
    assert all(f"\n{name}: " in f"\n{text}" for name in schemas.TABLES)
    assert run("schema", "qrels", "--format", "json") == 0
    described = json.loads(capsys.readouterr().out)
    columns = {column["name"]: column for column in described["qrels"]["columns"]}
    assert columns["grade"]["type"] == "UInt8"
    assert columns["query_id"]["key"]
    assert run("schema", "documents") == 0
    assert (
        "rule has_an_origin: Each document was shown to users, sampled, or both."
        in capsys.readouterr().out
    )


def test_simulate_and_build_and_build_again(tmp_path: Path, capsys: Captured) -> None:
    world = tmp_path / "w"
    options = ("--snapshots", 1, "--documents", 300, "--queries", 20, "--impressions", 1500)
    assert run("simulate", world, *options, "--seed", 3) == 0
    assert "build it with: longeval build" in capsys.readouterr().out
    assert run("build", world / "workflow.toml", "--out", tmp_path / "c") == 0
    text = capsys.readouterr().out
    assert "kept +" in text
    assert "snapshot  documents  queries  grade 0" in text
    assert f"published {tmp_path / 'c/0.1.0'}" in text
    assert run("build", world / "workflow.toml", "--out", tmp_path / "c", "--explain") == 0
    assert " steps would run" in capsys.readouterr().out
    assert run("build", world / "workflow.toml", "--out", tmp_path / "c") == 0
    assert "nothing to do" in capsys.readouterr().out
    assert run("build", world / "workflow.toml", "--out", tmp_path / "c", "--quiet") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("log", "told"),
    [(b"", "THE INPUT WAS EMPTY"), (b"no log\n" * 7, "(not_json 7); NO ROWS WERE KEPT")],
)
def test_a_log_without_impressions_is_refused_unless_allowed(
    log: bytes, told: str, tmp_path: Path, capsys: Captured
) -> None:
    world = tmp_path / "world"
    size = ("--snapshots", 1, "--documents", 40, "--queries", 5, "--impressions", 50)
    assert run("simulate", world, *size) == 0
    (world / "logs/2022-06.jsonl.gz").write_bytes(gzip.compress(log))
    assert run("build", world / "workflow.toml", "--out", tmp_path / "out") == 1
    assert "expected impressions, found none in" in capsys.readouterr().err
    with (world / "workflow.toml").open("a") as definition:
        definition.write('\n[log]\nempty = "allow"\n')
    assert run("build", world / "workflow.toml", "--out", tmp_path / "out") == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("log "))
    assert told in line
    quiet = ("--until", "log", "--quiet")
    assert run("build", world / "workflow.toml", "--out", tmp_path / "quiet", *quiet) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"log 2022-06              {told.rpartition('; ')[2]}\n" in said.err
    assert run("validate", tmp_path / "out", "--select", "LB224") == 0
    shown = capsys.readouterr().out
    assert "the table queries is empty" in shown
    assert "the table qrels is empty" in shown


def test_interrupted_builds_exit_130_and_resume(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    definition, wanted = undisturbed
    command = [sys.executable, "-m", "builder", "build", str(definition)]
    command += ["--out", str(tmp_path / "c")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("c/.work/log/2022-06/record.json")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; finished stages are kept" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("c/0.1.0"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "log 2022-06" not in done.stdout
    assert (tmp_path / "c/0.1.0/SHA256SUMS").read_text() == wanted
    assert not list((tmp_path / "c").rglob("*.partial"))


def test_a_difference_is_explained_by_the_stages_that_built_the_version(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    changed = ("polars: 2.0.0 -> 2.1.0", "stage clicks: 4 -> 5")
    monkeypatch.setattr("builder.commands.build.verify", lambda *_, **__: ("drift.json",))
    monkeypatch.setattr("builder.commands.build.changed_tools", lambda _: changed)
    assert run("build", "w.toml", "--verify", "v", "--quiet") == 1
    assert capsys.readouterr().out == (
        "differs: drift.json\n"
        "note: the collection was built with different stage or library versions, so a rebuild may "
        "give different output (polars: 2.0.0 -> 2.1.0; stage clicks: 4 -> 5)\n"
    )


@pytest.mark.parametrize("differing", [(), ("topics.parquet",)])
def test_verification_for_machines(
    differing: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: dict[str, object] = {}

    def again(workflow: Path, version: Path, **options: object) -> tuple[str, ...]:
        asked.update(options)
        return differing

    monkeypatch.setattr("builder.commands.build.verify", again)
    monkeypatch.setattr("builder.commands.build.changed_tools", lambda _: ("stage log: 1 -> 2",))
    arguments = ["build", "w.toml", "--verify", "v", "--executor", "processes", "--format", "json"]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert (end.value.code or 0) == len(differing)
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "version": "v",
        "same": not differing,
        "differing": list(differing),
        "tools": ["stage log: 1 -> 2"] if differing else [],
    }
    assert asked["executor"] == "processes"
