"""Options of the commands that begin, simulate and build a collection, and of most commands."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builder.cli.options import limits_with_temporary_folder, parse_options
from builder.collection.checks import Finding
from builder.errors import UsageError
from builder.parameters import ClickParameters
from tests.cli.passed_options.recorder import Recorder
from tests.cli.test_cli import Captured, run


@pytest.mark.parametrize(
    ("severities", "code"), [([], 0), (["warning"], 0), (["warning", "error"], 1)]
)
def test_the_demo_exits_with_one_if_its_collection_has_errors(
    severities: list[Any], code: int, recorded: Recorder, capsys: Captured
) -> None:
    findings = [Finding("LB101", severity, "x", "m", 1, (), "f") for severity in severities]
    report = SimpleNamespace(build="build", sanity="scores", world="world", findings=findings)
    calls = recorded("builder.commands.demo.demo", report)
    for name in ("print_snapshot_statistics", "_print_sanity_scores"):
        recorded(f"builder.cli.simulate.{name}")
    recorded("builder.cli.simulate._format_next_steps", "Next steps")
    assert run("demo", "d", "--threads", "3") == code
    assert [(arguments, named["threads"]) for arguments, named in calls] == [((Path("d"),), 3)]
    counts = {0: "", 1: "longeval validate: 1 finding\n", 2: "longeval validate: 2 findings\n"}
    assert capsys.readouterr() == ("Next steps\n", counts[len(findings)])
    assert run("demo", "d", "--quiet") == code
    assert capsys.readouterr().out == ""


def test_options_of_a_simulation(recorded: Recorder, tmp_path: Path, capsys: Captured) -> None:
    calls = recorded("builder.simulation.simulate")
    options = (
        *("--snapshots", 2, "--documents", 30, "--queries", 4, "--impressions", 50),
        *("--sentences", 6, "--seed", 7, "--crawl-format", "warc", "--log-format", "parquet"),
        *("--threads", 3),
    )
    (tmp_path / "old.toml.bak").touch()
    assert run("simulate", tmp_path, *options) == 0
    assert capsys.readouterr() == (
        f"wrote {tmp_path}; build it with: longeval build {tmp_path}/workflow.toml\n",
        "",
    )
    ((arguments, named),) = calls
    assert named == {"threads": 3}
    names = ("snapshots", "documents", "queries", "impressions", "sentences", "seed")
    found = arguments[1].model_dump()
    assert [found[name] for name in names] == [2, 30, 4, 50, 6, 7]
    assert (found["crawl_format"], found["log_format"]) == ("warc", "parquet")
    assert run("simulate", tmp_path, "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_crawls_of_ones_own_are_simulated_over(
    recorded: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    def simulate_over(folder: Path, crawls: list[Path], params: object) -> None:
        (folder / "workflow.toml.bak").touch()

    monkeypatch.setattr("builder.simulation.simulate_over_crawls", simulate_over)
    simulated = recorded("builder.simulation.simulate")
    (tmp_path / "old.bak").touch()
    (tmp_path / "crawl.gz").touch()
    assert run("simulate", tmp_path, "--over", tmp_path / "crawl.gz", "--quiet") == 0
    assert capsys.readouterr() == (
        "",
        f"note: an earlier file was kept as {tmp_path}/workflow.toml.bak\n",
    )
    assert simulated == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            (),
            {
                "snapshots": (),
                "until": None,
                "explain": False,
                "allow_empty": False,
                "threads": None,
                "memory": "4GiB",
                "executor": "local",
            },
        ),
        (
            (
                *("--snapshot", "a,b", "--until", "log", "--allow-empty", "--threads", "3"),
                *("--memory", "1GiB", "--executor", "processes", "--explain"),
            ),
            {
                "snapshots": ["a", "b"],
                "until": "log",
                "explain": True,
                "allow_empty": True,
                "threads": 3,
                "memory": "1GiB",
                "executor": "processes",
            },
        ),
    ],
)
def test_options_of_a_build(
    options: tuple[str, ...], expected: dict[str, Any], recorded: Recorder, capsys: Captured
) -> None:
    from builder.cli import output

    calls = recorded("builder.commands.build.build", "report")
    for name in ("_print_plan", "_print_result"):
        recorded(f"builder.cli.build.{name}")
    recorded("builder.cli.build.build_report_to_json", {"a": 1})
    assert run("build", "w.toml", "--out", "o", *options) == 0
    assert run("build", "w.toml", *options, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert run("build", "w.toml", *options, "--format", "json") == 0
    assert capsys.readouterr().out == '{\n "a": 1\n}\n'
    assert [arguments for arguments, _ in calls] == [
        (Path("w.toml"), Path("o")),
        (Path("w.toml"), None),
        (Path("w.toml"), None),
    ]
    for _, named in calls:
        assert {name: named[name] for name in expected} == expected
    said = [named["on_step"] for _, named in calls]
    warning = output.print_step_warning
    assert said == [output.print_step_result, warning, warning]
    shown = [type(named["progress"]).__name__ for _, named in calls]
    assert shown == ["ProgressBar", "NoProgress", "NoProgress"]


def test_only_a_plan_or_a_result_is_printed(recorded: Recorder) -> None:
    recorded("builder.commands.build.build", "report")
    plans, results = (
        recorded(f"builder.cli.build.{name}") for name in ("_print_plan", "_print_result")
    )
    assert run("build", "w.toml", "--explain", "--quiet") == 0
    assert (len(plans), len(results)) == (1, 0)
    assert run("build", "w.toml") == 0
    assert (plans, results) == ([(("report",), {})], [(("report",), {})])


@pytest.mark.parametrize(
    ("is_terminal", "options", "name", "months"),
    [
        (False, (), "my-data", ()),
        (False, ("--name", "n", "--snapshot", "2022-06,2022-07"), "n", ("2022-06", "2022-07")),
        (True, (), "typed", ("2022-08", "2022-09")),
        (True, ("--name", "n", "--snapshot", "2022-06"), "n", ("2022-06",)),
    ],
)
def test_a_new_definition_asks_for_what_is_missing_on_a_terminal(
    is_terminal: bool,
    options: tuple[str, ...],
    name: str,
    months: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    recorded: Recorder,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    home = tmp_path / "My Data"
    files = (home / "workflow.toml", home / "topics.tsv")
    calls = recorded("builder.commands.new.create_definition", files)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: is_terminal))
    asked: list[Any] = []

    def prompt(text: str, default: str | None = None) -> str:
        asked.append((text, default))
        return "typed" if default else "2022-08 2022-09"

    monkeypatch.setattr("builder.cli.start.typer.prompt", prompt)
    assert run("new", home, *options) == 0
    assert calls == [((home, name, months), {"translate": True})]
    questions = [("Name of the collection", "my-data"), ("Months, such as 2022-06 2022-07", None)]
    assert asked == (questions if is_terminal and not options else [])
    assert capsys.readouterr().out.splitlines() == [
        f"wrote {files[0]}",
        f"wrote {files[1]}",
        f"put query logs in {home}/logs and crawls in {home}/crawls, then build the collection:",
        f"  longeval build {files[0]}",
    ]


@pytest.mark.parametrize(
    ("statuses", "code"), [(["good", "note"], 0), (["good", "bad", "note"], 1), ([], 0)]
)
def test_the_doctor_exits_with_one_if_a_check_fails(
    statuses: list[Any], code: int, recorded: Recorder, capsys: Captured
) -> None:
    from builder.commands.doctor import Diagnosis

    found = [Diagnosis("disk", status, "é") for status in statuses]
    recorded("builder.commands.doctor.doctor", found)
    assert run("doctor") == code
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [[status, "disk", "é"] for status in statuses]
    assert run("doctor", "--format", "json") == code
    assert json.loads(capsys.readouterr().out) == [asdict(diagnosis) for diagnosis in found]


def test_an_option_with_a_wrong_value_is_named() -> None:
    message = "^--prior-alpha: Input should be greater than 0, found -1$"
    with pytest.raises(UsageError, match=message):
        parse_options(ClickParameters, prior="beta", prior_alpha=-1, prior_beta=-2)
    assert parse_options(ClickParameters, prior_beta=2) == ClickParameters(prior_beta=2)


def test_memory_is_limited_and_scratch_is_deleted() -> None:
    with limits_with_temporary_folder("2GiB") as limits:
        assert limits.memory == 2 * 2**30
        assert limits.scratch.is_dir()
        assert limits.scratch.name.startswith("longeval-")
    assert not limits.scratch.exists()
