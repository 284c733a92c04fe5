"""What commands print of plans, builds, verifications and demos that are given, whole."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from builder import BuildReport
from builder.cli import build as build_command
from builder.cli.json_output import build_report_to_json, print_json, verification_to_json
from builder.cli.simulate import _format_next_steps
from builder.pipeline import STAGES
from builder.runtime.ledger import RowLedger
from builder.runtime.plan import Step
from builder.runtime.runner import StepResult
from tests.cli.test_cli import Captured, run

LOG, CRAWL, EXPORT = (
    Step(next(stage for stage in STAGES if stage.name == name), key)
    for name, key in (("log", "2022-06"), ("crawl", "2022-06"), ("trec", "all"))
)


def test_a_plan_lists_what_would_run(capsys: Captured) -> None:
    report = BuildReport(
        Path("out"),
        [
            StepResult(LOG, ("not built yet",)),
            StepResult(CRAWL, ("the input table x may change",), is_conditional=True),
            StepResult(EXPORT, ()),
        ],
        refusal="version 1.0.0\x1b is released",
    )
    build_command._print_plan(report)
    assert capsys.readouterr().out.splitlines() == [
        "run   log 2022-06    not built yet",
        "maybe crawl 2022-06  the input table x may change",
        "skip  trec all       up to date",
        "1 of 3 steps would run; 1 more would run only if an input table changes",
        "the build would stop: version 1.0.0\\x1b is released",
    ]
    build_command._print_plan(BuildReport(Path("out"), [StepResult(EXPORT, ())]))
    assert capsys.readouterr().out == ("skip  trec all  up to date\n0 of 1 steps would run\n")
    build_command._print_plan(BuildReport(Path("out")))
    assert capsys.readouterr().out == "0 of 0 steps would run\n"


@pytest.mark.parametrize(
    ("version", "published", "reasons", "lines"),
    [
        (
            None,
            False,
            ("new",),
            [
                "1 of 2 steps ran; the others were up to date",
                "a partial build publishes nothing; its tables are in out",
            ],
        ),
        (
            Path("out/1.0.0"),
            True,
            ("new",),
            [
                "1 of 2 steps ran; the others were up to date",
                "(statistics of out/1.0.0)",
                "change from the replaced draft: topic eau is gone\\x1b",
                "published out/1.0.0",
            ],
        ),
        (
            Path("out/1.0.0"),
            False,
            (),
            [
                "0 of 2 steps ran; the others were up to date",
                "nothing to do: out/1.0.0 is up to date",
            ],
        ),
    ],
)
def test_a_build_tells_what_it_published(
    version: Path | None,
    published: bool,
    reasons: tuple[str, ...],
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.setattr(
        build_command,
        "print_snapshot_statistics",
        lambda report: typer.echo(f"(statistics of {report.version})"),
    )
    results = [StepResult(LOG, reasons), StepResult(CRAWL, ())]
    changes = ("topic eau is gone\x1b",)
    build_command._print_result(BuildReport(Path("out"), results, version, published, changes))
    assert capsys.readouterr().out.splitlines() == lines


def test_a_build_of_all_steps_does_not_speak_of_others(capsys: Captured) -> None:
    build_command._print_result(BuildReport(Path("out"), [StepResult(LOG, ("new",))]))
    assert capsys.readouterr().out.splitlines()[0] == "1 of 1 steps ran"


@pytest.mark.parametrize(
    ("differing", "changed", "text"),
    [
        ((), (), "v: verified, all files are identical\n"),
        (("a.parquet", "b.json"), (), "differs: a.parquet\ndiffers: b.json\n"),
    ],
)
def test_a_verification_names_files_that_differ(
    differing: tuple[str, ...],
    changed: tuple[str, ...],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.setattr("builder.commands.build.verify", lambda *_, **__: differing)
    monkeypatch.setattr("builder.commands.build.changed_tools", lambda _: changed)
    assert run("build", "w.toml", "--verify", "v") == bool(differing)
    assert capsys.readouterr().out == text


LEDGER = RowLedger("lines", 5, 3, Counter({"b": 1, "a": 1}), ["read as utf-8"])
LEDGER_JSON = {
    "unit": "lines",
    "rows_in": 5,
    "rows_out": 3,
    "rejected": {"a": 1, "b": 1},
    "notes": ["read as utf-8"],
}


def test_a_build_for_machines() -> None:
    steps = [
        StepResult(LOG, ("not built yet",), LEDGER, 1.23456),
        StepResult(EXPORT, ("an input may change",), is_conditional=True),
    ]
    assert build_report_to_json(BuildReport(Path("out"), steps, Path("out/1.0.0"), True)) == {
        "root": "out",
        "version": "out/1.0.0",
        "published": True,
        "refusal": "",
        "units": [
            {
                "stage": "log",
                "unit": "2022-06",
                "ran": True,
                "conditional": False,
                "reasons": ["not built yet"],
                "seconds": 1.235,
                "account": LEDGER_JSON,
            },
            {
                "stage": "trec",
                "unit": "all",
                "ran": False,
                "conditional": True,
                "reasons": ["an input may change"],
                "seconds": 0.0,
                "account": None,
            },
        ],
    }
    assert build_report_to_json(BuildReport(Path("out"), refusal="released")) == {
        "root": "out",
        "version": None,
        "published": False,
        "refusal": "released",
        "units": [],
    }


def test_json_is_indented_by_one_and_has_letters_as_they_are(capsys: Captured) -> None:
    print_json({"b": "é", "a": [1]})
    assert capsys.readouterr().out == '{\n "b": "é",\n "a": [\n  1\n ]\n}\n'


def test_a_verification_for_machines_is_the_same_or_differs() -> None:
    assert verification_to_json(Path("v"), [], ["x"])["same"] is True
    assert verification_to_json(Path("v"), ["a"], ["x"]) == {
        "version": "v",
        "same": False,
        "differing": ["a"],
        "tools": ["x"],
    }


@pytest.mark.parametrize("model", [None, "embedded"])
@pytest.mark.parametrize("version", [Path("c/0.1.0"), None])
def test_the_demo_tells_what_to_do_next(
    model: str | None, version: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = {"definition": {"parameters": {"translate": {"model": model}}}}
    opened = SimpleNamespace(manifest=manifest)
    monkeypatch.setattr("builder.collection.read.open_collection", lambda folder: opened)
    folder = version or Path("c")
    off = "translation  off; to enable it, set [translate] model in the definition"
    assert _format_next_steps(Path("w"), BuildReport(Path("c"), version=version)).splitlines() == [
        f"collection   {folder}",
        "raw data     w",
        *([off] if model is None else []),
        "",
        "Next steps:",
        f"  {folder}/report.html",
        f"  longeval validate {folder}",
        "  longeval build w/workflow.toml --out c --explain",
        f"  python -c \"import builder; print(builder.open_collection('{folder}').snapshots)\"",
    ]


def test_snapshots_are_summarized_in_two_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    row = SimpleNamespace(
        snapshot="2022-06",
        documents=1200,
        queries=30,
        grades=(4, 5, 6),
        added=None,
        removed=7,
        not_kept=8,
        updated=9,
    )
    opened = SimpleNamespace(
        snapshots=("2022-06",), snapshot=lambda name: SimpleNamespace(folder=Path(name))
    )
    collection, evidence = "builder.collection.read", "builder.collection.evidence"
    monkeypatch.setattr(f"{collection}.open_collection", lambda folder: opened)
    monkeypatch.setattr("builder.collection.summary.summarize_snapshots", lambda opened: [row])
    monkeypatch.setattr(
        f"{evidence}.click_crawl_and_translation_shares", lambda folders: [("clicked", [0.25])]
    )
    build_command.print_snapshot_statistics(BuildReport(Path("c")))
    head = (
        "snapshot  documents  queries  grade 0  grade 1  grade 2  added  removed  not kept  updated"
    )
    line = (
        "2022-06       1,200       30        4        5        6      -        7         8        9"
    )
    shares = ["evidence  2022-06", "clicked    25.0 %"]
    assert capsys.readouterr().out.splitlines() == ["", head, line, "", *shares, ""]
