"""Options of the commands that import, export, compare, validate and show collections."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builder.collection.checks import Finding
from builder.collection.compare import VersionDifference
from builder.collection.compare.tables import TableDifference
from builder.parameters import CrawlParameters
from tests.cli.passed_options.recorder import Recorder
from tests.cli.test_cli import Captured, run

FINDINGS = [
    SimpleNamespace(is_warning=True, text="a\x1b"),
    SimpleNamespace(is_warning=False, text="b"),
]


@pytest.mark.parametrize("is_release", [False, True])
def test_drift_is_told_by_its_findings(
    is_release: bool, recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    definition = {"imported": {}} if is_release else {}
    opened = SimpleNamespace(manifest={"definition": definition})
    recorded("builder.collection.read.open_collection", opened)
    report = {"b": "é", "a": 1}
    calls = recorded("builder.commands.drift.compute_drift", report)
    recorded("builder.drift.list_findings", FINDINGS)
    recorded("builder.drift.list_undecided_checks", ["one\x1b", "two"])
    recorded("builder.drift.summarize_undecided_checks", ["both"])
    recorded("builder.drift.render_report", "<html>é")
    from builder.drift import SUMMARY_COLUMNS

    recorded("builder.drift.summarize_pairs", [])
    assert run("drift", "c", "--from", "x", "--to", "y", "--memory", "2GiB") == 0
    undecided = ["? cannot tell: both"] if is_release else []
    undecided = undecided or ["? cannot tell: one\\x1b", "? cannot tell: two"]
    assert capsys.readouterr().out.splitlines() == [
        "nothing to compare: only one snapshot",
        "! a\\x1b",
        "- b",
        *undecided,
    ]
    ((arguments, _),) = calls
    assert arguments[:3] == (Path("c"), "x", "y")
    assert arguments[3].memory == 2 * 2**30
    recorded("builder.drift.summarize_pairs", [["x"] * len(SUMMARY_COLUMNS)])
    assert run("drift", "c") == 0
    assert capsys.readouterr().out.startswith(SUMMARY_COLUMNS[0])
    html = tmp_path / "r.html"
    assert run("drift", "c", "--html", html) == 0
    assert capsys.readouterr().out == f"wrote {html}\n"
    assert html.read_text("utf-8") == "<html>é"
    assert run("drift", "c", "--html", html, "--format", "json") == 0
    assert capsys.readouterr().out == '{\n "a": 1,\n "b": "é"\n}\n'


def test_crawls_are_compared_in_text_or_json(
    recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    calls = recorded("builder.drift.compare_crawls", {"b": {"c": 0.5}, "a": "é"})
    assert run("changes", "old", "new") == 0
    assert capsys.readouterr().out == "statistic  value\nb.c        0.5\na          é\n"
    (tmp_path / "d.toml").write_text('[crawl]\ntime_format = "%d"\n')
    options = ("--format", "json", "--definition", tmp_path / "d.toml", "--memory", "2GiB")
    assert run("changes", "old", "new", *options) == 0
    assert capsys.readouterr().out == '{\n "a": "é",\n "b": {\n  "c": 0.5\n }\n}\n'
    assert [(arguments[:2], arguments[3].memory) for arguments, _ in calls] == [
        ((Path("old"), Path("new")), 4 * 2**30),
        ((Path("old"), Path("new")), 2 * 2**30),
    ]
    assert [named["crawl_params"] for _, named in calls] == [
        None,
        CrawlParameters(time_format="%d"),
    ]


COLUMNS_ONLY = TableDifference("t", 0, 0, 0, (), ("x: only in the new version",))


@pytest.mark.parametrize(
    ("tables", "lines", "end", "code"),
    [
        ((), [], "no row differs", 0),
        ((COLUMNS_ONLY,), [], "no row differs", 1),
        (
            (
                TableDifference("t", 1200, 0, 0, ("k1", "k2")),
                COLUMNS_ONLY,
                TableDifference("u", 0, 3, 0, ("k3",)),
                TableDifference("v", 0, 0, 4, ("k4",)),
            ),
            [
                "table  added  removed  changed  first",
                "t      1,200        0        0  k1",
                "u          0        3        0  k3",
                "v          0        0        4  k4",
            ],
            "rows differ",
            1,
        ),
    ],
)
def test_versions_are_compared_by_rows(
    tables: tuple[TableDifference, ...],
    lines: list[str],
    end: str,
    code: int,
    recorded: Recorder,
    capsys: Captured,
) -> None:
    difference = VersionDifference(
        *("a", "b", ("key\x1b changed",), (), ("lost\x1b",), tables, (), (), ("f\x1b differs",))
    )
    recorded("builder.collection.compare.compare", difference)
    assert run("diff", "a", "b", "--exit-code") == code
    columns = ["t: columns differ (x: only in the new version)"] * (COLUMNS_ONLY in tables)
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        *lines,
        *columns,
        "key\\x1b changed",
        "not compared: lost\\x1b",
        end,
    ]
    assert said.err == "warning: f\\x1b differs; the version is compared as is\n"
    assert run("diff", "a", "b") == 0
    capsys.readouterr()
    assert run("diff", "a", "b", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["lost"] == ["lost\x1b"]


def test_a_changelog_ends_as_it_does(recorded: Recorder, capsys: Captured) -> None:
    recorded("builder.collection.compare.compare", SimpleNamespace(changed_files=()))
    recorded("builder.collection.compare.changelog.format_changelog", "# Changes\n")
    assert run("diff", "a", "b", "--format", "markdown") == 0
    assert capsys.readouterr().out == "# Changes\n"


@pytest.mark.parametrize(
    ("options", "languages", "size"),
    [((), (), 2**28), (("--language", "fr,en", "--file-size", "1MiB"), ("fr", "en"), 2**20)],
)
def test_options_of_an_export(
    options: tuple[str, ...],
    languages: tuple[str, ...],
    size: int,
    recorded: Recorder,
    capsys: Captured,
) -> None:
    calls = recorded("builder.collection.export.export", Path("out/x"))
    recorded("builder.collection.export.read_omitted_row_counts", {})
    recorded("builder.collection.export.omitted.describe_omitted_rows", ["rows"])
    recorded("builder.collection.export.url_database.describe_omitted_urls", ["urls"])
    assert run("export", "c", "--layout", "longeval-sci", "--out", "out", *options) == 0
    assert capsys.readouterr().out == "rows\nurls\nwrote out/x\n"
    ((arguments, named),) = calls
    assert arguments == (Path("c"), "longeval-sci", Path("out"))
    assert (named["languages"], named["max_file_bytes"]) == (languages, size)


def test_options_of_an_import(recorded: Recorder, capsys: Captured) -> None:
    plan = SimpleNamespace(warnings=lambda: ["odd\x1b"])
    planned = recorded("builder.collection.imports.plan.plan_import", plan)
    calls = recorded("builder.collection.imports.import_release", SimpleNamespace(plan=plan))
    printed = recorded("builder.cli.release._print_import_plan")
    reported = recorded("builder.cli.release._print_import_report")
    recorded("builder.cli.release.import_report_to_json", {"a": 1})
    use = ("import", "r", "--layout", "longeval-web", "--out", "out")
    assert run(*use, "--explain", "--version", "2.0.0", "--qrels", "raw") == 0
    assert planned == [((Path("r"), "longeval-web", Path("out/2.0.0"), "raw"), {})]
    assert (len(printed), calls) == (1, [])
    assert run(*use) == 0
    assert len(reported) == 1
    assert capsys.readouterr() == ("", "warning: odd\\x1b\n" * 2)
    more = ("--name", "n", "--version", "2.0.0", "--qrels", "raw", "--allow-empty")
    assert run(*use, *more, "--format", "json") == 0
    assert capsys.readouterr().out == '{\n "a": 1\n}\n'
    assert [arguments for arguments, _ in calls] == [(Path("r"), "longeval-web", Path("out"))] * 2
    names = ("name", "version", "qrels_variant", "allow_empty")
    assert [[named[name] for name in names] for _, named in calls] == [
        [None, "1.0.0", None, False],
        ["n", "2.0.0", "raw", True],
    ]


@pytest.mark.parametrize("is_opened", [False, True])
def test_the_explorer_is_opened_on_demand(
    is_opened: bool, monkeypatch: pytest.MonkeyPatch, recorded: Recorder, capsys: Captured
) -> None:
    opened = recorded("builder.cli.explore.webbrowser.open")

    def serve(collection: Path, *, runs: Path, port: int, on_ready: Callable[[str], None]) -> None:
        on_ready(f"{collection} {runs} {port}")

    monkeypatch.setattr("builder.explore.serve.serve", serve)
    options = ("--open",) if is_opened else ()
    assert run("explore", "c", "--runs", "r", "--port", "0", *options) == 0
    assert opened == ([(("c r 0",), {})] if is_opened else [])
    assert capsys.readouterr().out == (
        "c r 0  (read-only, accessible from this machine only; Ctrl-C to stop)\n"
    )


@pytest.mark.parametrize("kind", ["text", "json", "github"])
@pytest.mark.parametrize(("severity", "code"), [("warning", 0), ("error", 1)])
def test_options_of_a_validation(
    kind: str, severity: Any, code: int, recorded: Recorder, capsys: Captured
) -> None:
    finding = Finding("LB101", severity, "x\x1b", "m", 1, (), "f", "c/1.0.0")
    calls = recorded("builder.collection.validate.validate", [finding])
    every = recorded("builder.collection.validate.validate_all_versions", [])
    versions = recorded("builder.collection.validate.find_versions_to_validate", [Path("c/1.0.0")])
    recorded("builder.collection.validate.read_snapshot_names", ["2022-06"])
    options = ("--select", "LB1,LB2", "--ignore", "LB101", "--severity", "LB205=warning")
    assert run("validate", "c", *options, "--format", kind) == code
    ((arguments, named),) = calls
    assert arguments == (Path("c"),)
    assert named == {
        "select": ("LB1", "LB2"),
        "ignore": ("LB101",),
        "severities": {"LB205": "warning"},
    }
    assert versions == [((Path("c"),), {"all_versions": False})]
    said = capsys.readouterr()
    summary = "1 finding in c/1.0.0 (2022-06)\n"
    if kind == "json":
        assert json.loads(said.out)["findings"][0]["check"] == "LB101"
    elif kind == "text":
        assert said.out.startswith(f"LB101 {severity}: c/1.0.0/x\\x1b: m")
        assert said.out.endswith(summary)
        assert said.err == ""
    else:
        assert said.out.startswith(f"::{severity} file=")
        assert said.err == summary
    assert run("validate", "c", "--all") == 0
    assert every == [((Path("c"),), {"select": (), "ignore": (), "severities": {}})]


def test_the_schema_of_findings_is_that_of_json(capsys: Captured) -> None:
    from builder.collection.findings import FINDINGS_SCHEMA

    assert run("schema", "findings") == 0
    shown = capsys.readouterr().out
    assert json.loads(shown) == FINDINGS_SCHEMA
    assert shown.startswith('{\n "')
