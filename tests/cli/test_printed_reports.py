"""What commands print of results that are given, whole."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import typer

from builder import BuildReport
from builder.cli import build as build_command
from builder.cli.analysis import _flatten_dict
from builder.cli.classification import classification
from builder.cli.clicks import _print_comparison, _print_report
from builder.cli.collection import _print_schema
from builder.cli.evaluation import format_sanity_rows
from builder.cli.json_output import (
    build_report_to_json,
    import_plan_to_json,
    import_report_to_json,
    print_json,
    sanity_rows_to_json,
    verification_to_json,
)
from builder.cli.judging import _print_agreement
from builder.cli.options import OutputFormat
from builder.cli.release import _print_import_plan, _print_import_report
from builder.cli.simulate import _format_next_steps, _print_sanity_scores
from builder.cli.translation import _print_model_properties, _print_summary
from builder.cli.trends import _print_report as print_trends
from builder.clicks import ModelComparison, ModelReport
from builder.clicks.comparison import ModelScores
from builder.clicks.log_summary import LogSummary
from builder.clicks.scores import ClickModelScore
from builder.collection.imports.files import SnapshotFiles
from builder.collection.imports.plan import ImportPlan
from builder.collection.imports.release import ImportReport
from builder.collection.imports.unread import UnreadFiles
from builder.evaluation import SanityCheckRow
from builder.judging.agreement import AgreementReport, PairwiseAgreement
from builder.pipeline import STAGES
from builder.runtime.ledger import RowLedger
from builder.runtime.plan import Step
from builder.runtime.runner import StepResult
from tests.cli.test_cli import run

Captured = pytest.CaptureFixture[str]
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


def _plan(unread: dict[str, UnreadFiles], outside: list[str], missing: list[str]) -> ImportPlan:
    snapshots = [
        SimpleNamespace(name="2022-06", queries=[1], qrels=[1, 2], documents={"fr": [1, 2, 3]}),
        SimpleNamespace(name="2022-07", queries=[1], qrels=[], documents={"fr": [1], "en": [1]}),
    ]
    rows: list[SnapshotFiles] = snapshots  # type: ignore[assignment]
    return ImportPlan(Path("r"), Path("out/1.0.0"), rows, unread, outside, missing)


UNREAD = {
    "a\x1b": UnreadFiles("not a table", 1),
    "b": UnreadFiles("hidden", 1200),
    "c": UnreadFiles("not a table", 2),
}
FEW = _plan(UNREAD, ["x\x1b", "y"], ["p"])
MANY = _plan(
    {f"f{n:02}": UnreadFiles("hidden", 1) for n in range(12)},
    [f"l{n:02}" for n in range(11)],
    [f"m{n:02}" for n in range(10)],
)
SKIPPED = [
    "skipped files (not a table): a\\x1b, c (2 files)",
    "skipped files (hidden): b (1,200 files)",
    "skipped links to files outside the release: x\\x1b, y",
    "prior datasets not found: p",
]


def test_an_import_plan_counts_files(capsys: Captured) -> None:
    _print_import_plan(FEW, OutputFormat.TEXT)
    assert capsys.readouterr().out.splitlines() == [
        "snapshot  query files  qrels files  document files",
        "2022-06             1            2               3",
        "2022-07             1            0               2",
        *SKIPPED,
        "would write out/1.0.0",
    ]
    _print_import_plan(FEW, OutputFormat.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (
        found
        == import_plan_to_json(FEW)
        == {
            "version": "out/1.0.0",
            "files": {
                "2022-06": {"queries": 1, "qrels": 2, "documents": 3},
                "2022-07": {"queries": 1, "qrels": 0, "documents": 2},
            },
            "unread": {"a\x1b": 1, "b": 1200, "c": 2},
            "unread_reasons": {"a\x1b": "not a table", "b": "hidden", "c": "not a table"},
            "outside": ["x\x1b", "y"],
            "missing": ["p"],
        }
    )


def test_ten_skipped_files_are_named(capsys: Captured) -> None:
    _print_import_plan(MANY, OutputFormat.TEXT)
    files, links, datasets = (", ".join(f"{letter}{n:02}" for n in range(10)) for letter in "flm")
    assert capsys.readouterr().out.splitlines()[3:] == [
        f"skipped files (hidden): {files} and 2 more",
        f"skipped links to files outside the release: {links} and 1 more",
        f"prior datasets not found: {datasets}",
        "would write out/1.0.0",
    ]
    _print_import_plan(_plan({}, [], []), OutputFormat.TEXT)
    assert capsys.readouterr().out.splitlines()[3:] == ["would write out/1.0.0"]


def test_an_import_counts_records_and_rejects(capsys: Captured) -> None:
    ledgers = {
        "2022-06": RowLedger("records", 1500, 1497, Counter({"b": 2, "a": 1}), ["odd\x1b"]),
        "2022-07": RowLedger("records", 7, 7),
    }
    rows = {
        "2022-06": {"queries": 1000, "qrels": 400, "documents": 97},
        "2022-07": {"queries": 1, "qrels": 2, "documents": 4},
    }
    report = ImportReport(Path("out/1.0.0"), ledgers, rows, FEW)
    _print_import_report(report)
    assert capsys.readouterr().out.splitlines() == [
        "snapshot  queries  judgements  documents  records   kept",
        "2022-06     1,000         400         97    1,500  1,497",
        "2022-07         1           2          4        7      7",
        "",
        "snapshot  reject reason  records",
        "2022-06   a                    1",
        "2022-06   b                    2",
        "note: 2022-06: odd\\x1b",
        *SKIPPED,
        "wrote out/1.0.0; check it with: longeval validate out/1.0.0",
    ]
    assert import_report_to_json(report) == {
        "version": "out/1.0.0",
        "rows": rows,
        "accounts": {
            "2022-06": {
                "unit": "records",
                "rows_in": 1500,
                "rows_out": 1497,
                "rejected": {"a": 1, "b": 2},
                "notes": ["odd\x1b"],
            },
            "2022-07": {
                "unit": "records",
                "rows_in": 7,
                "rows_out": 7,
                "rejected": {},
                "notes": [],
            },
        },
        "unread": {"a\x1b": 1, "b": 1200, "c": 2},
        "unread_reasons": {"a\x1b": "not a table", "b": "hidden", "c": "not a table"},
        "outside": ["x\x1b", "y"],
        "missing": ["p"],
    }
    _print_import_report(ImportReport(Path("v"), {"2022-07": ledgers["2022-07"]}, rows, MANY))
    assert "reject reason" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pairs", "clicks", "is_warned"), [(1200, 0, True), (1200, 1, False), (0, 0, False)]
)
def test_a_log_without_clicks_is_warned_of(
    pairs: int, clicks: int, is_warned: bool, capsys: Captured
) -> None:
    log = LogSummary("l", 2001, Counter({"b": 1, "a": 1000}), notes=["odd\x1b"])
    _print_report(ModelReport(log, pairs, 1000, clicks, None), Path("o.tsv"))
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "1,000 impressions from 2,001 records; rejected: a 1,000, b 1",
        "note: odd\\x1b",
        f"wrote {pairs:,} pairs to o.tsv; 1,000 of them were never examined and have no estimate",
    ]
    assert said.err.startswith("warning: found no clicks in the log; ") == is_warned


def test_models_are_compared_by_both_conventions(capsys: Captured) -> None:
    first = ClickModelScore(-0.1234567, 1.25, 2.5, (1.0, 1.5), (2.0, 3.0))
    second = ClickModelScore(-12.5, 1.0, 1.0, (1.23456, 1.0), (1.0, 1.0))
    models = (ModelScores("sdbn", first, second), ModelScores("rank-ctr", second, first))
    logs = (LogSummary("a", 1), LogSummary("b", 2))
    comparison = ModelComparison(1234, 5678, 9012, logs, models)
    _print_comparison(comparison, by_rank=True)
    lines = capsys.readouterr().out.splitlines()
    head = [
        "1 impression from 1 record; rejected: none",
        "2 impressions from 2 records; rejected: none",
        (
            "trained on 1,234 impressions, tested on 5,678; skipped 9,012 test impressions of "
            "queries without training impressions"
        ),
        "",
        "convention pyclick",
        "model     log-likelihood  perplexity  conditional",
        "sdbn           -0.123457    1.250000     2.500000",
        "rank-ctr      -12.500000    1.000000     1.000000",
    ]
    assert lines == [
        *head,
        "perplexity by rank       1       2",
        "sdbn                1.0000  1.5000",
        "rank-ctr            1.2346  1.0000",
        "",
        "convention per_rank",
        "model     log-likelihood  perplexity  conditional",
        "sdbn          -12.500000    1.000000     1.000000",
        "rank-ctr       -0.123457    1.250000     2.500000",
        "perplexity by rank       1       2",
        "sdbn                1.2346  1.0000",
        "rank-ctr            1.0000  1.5000",
    ]
    _print_comparison(comparison, by_rank=False)
    assert capsys.readouterr().out.splitlines() == [*head, *lines[11:16]]


def test_a_comparison_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    score = ClickModelScore(-0.5, 1.25, 2.5, (1.0,), (2.0,))
    comparison = ModelComparison(
        1, 2, 3, (LogSummary("été", 4),), (ModelScores("rank-ctr", score, score),)
    )
    monkeypatch.setattr("builder.clicks.compare_models", lambda *_, **__: comparison)
    assert run("clicks", "compare", "log", "--format", "json") == 0
    shown = capsys.readouterr().out
    assert shown.startswith('{\n "train": 1,\n "test": 2,\n "unseen": 3,\n "logs": [\n  {\n')
    assert '   "file": "été",\n' in shown
    scores = {
        "log_likelihood": -0.5,
        "perplexity": 1.25,
        "conditional_perplexity": 2.5,
        "by_rank": [1.0],
        "conditional_by_rank": [2.0],
    }
    assert json.loads(shown)["scores"] == [
        {"model": "rank-ctr", "pyclick": scores, "per_rank": scores}
    ]


def test_agreement_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    report = AgreementReport((), 0.25, None, 0, None)
    monkeypatch.setattr("builder.judging.read_assessments", lambda sources: pl.DataFrame())
    monkeypatch.setattr("builder.judging.measure_agreement", lambda *_: report)
    assert run("assess", "agreement", "j.parquet", "--format", "json") == 0
    assert capsys.readouterr().out == (
        '{\n "assessors": [],\n "alpha_nominal": 0.25,\n "alpha_ordinal": null,\n "units": 0,\n'
        ' "clicks": null\n}\n'
    )


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


SANITY = [
    SanityCheckRow("fr", "2022-06", 1200, 0.51236, 0.4, 0.0),
    SanityCheckRow("en", "2022-06", 0, None, None, None),
]


def test_sanity_scores_have_three_decimals(capsys: Captured) -> None:
    table = [
        "language  snapshot  queries  nDCG@10   P@10  by chance",
        "fr        2022-06     1,200    0.512  0.400      0.000",
        "en        2022-06         0        -      -          -",
    ]
    assert format_sanity_rows(SANITY).splitlines() == table
    _print_sanity_scores(SANITY)
    assert capsys.readouterr().out.splitlines() == [
        "BM25 compared with a chance baseline:",
        *table,
        "",
    ]
    _print_sanity_scores(None)
    assert capsys.readouterr().out == (
        "BM25 scores: install the extras [baseline] and [evaluation] to compute them\n\n"
    )
    assert sanity_rows_to_json(SANITY)[1] == {
        "language": "en",
        "snapshot": "2022-06",
        "queries": 0,
        "ndcg": None,
        "precision": None,
        "by_chance": None,
    }


def test_agreement_is_printed_by_pair_of_assessors(capsys: Captured) -> None:
    pair = PairwiseAgreement("ann", "bob", 1200, 700, 0.51234, None, ())
    clicks = PairwiseAgreement("manual", "click", 9, 8, 0.0, 1.0, ())
    _print_agreement(AgreementReport((pair,), 0.25, None, 1300, clicks))
    assert capsys.readouterr().out.splitlines() == [
        "first   second  pairs  same   kappa  quadratic kappa",
        "ann     bob     1,200   700  0.5123  undefined",
        "manual  click       9     8  0.0000  1.0000",
        "Krippendorff's alpha over 1,300 pairs: nominal 0.2500, ordinal undefined",
    ]
    _print_agreement(AgreementReport((), None, 0.5, 0, None))
    assert capsys.readouterr().out.splitlines() == [
        "no pair was judged more than once",
        "Krippendorff's alpha over 0 pairs: nominal undefined, ordinal 0.5000",
    ]


def test_models_are_described_with_their_settings_and_samples(capsys: Captured) -> None:
    properties = {"kind": "CTranslate2", "examples": {"un": "one", "été": "summer"}}
    _print_model_properties(dict(properties), OutputFormat.TEXT)
    described = "property  value\nkind      CTranslate2\n"
    samples = "\nun\n  one\n\nété\n  summer\n"
    assert capsys.readouterr().out == described + samples
    _print_model_properties({**properties, "definition": "[translate]"}, OutputFormat.TEXT)
    section = "\nAdd to the collection definition:\n\n[translate]\n"
    assert capsys.readouterr().out == described + section + samples
    _print_model_properties(dict(properties), OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == properties


@pytest.mark.parametrize("out", [None, Path("b.txt")])
def test_flags_of_translations_are_counted(out: Path | None, capsys: Captured) -> None:
    sentences = [SimpleNamespace(flags=flags) for flags in (("b", "a"), ("a",), ())]
    translations: list[Any] = [
        SimpleNamespace(sentences=sentences[:2]),
        SimpleNamespace(sentences=sentences[2:]),
    ]
    _print_summary(translations, out)
    table = "flag  sentences\na             2\nb             1\n"
    expected = (f"wrote b.txt: 2 texts, 3 sentences\n{table}", "") if out else ("", table)
    assert capsys.readouterr() == expected
    _print_summary(translations[1:], out)
    assert capsys.readouterr() == ("wrote b.txt: 1 text, 1 sentence\n" if out else "", "")


def test_a_schema_is_printed_as_a_table(capsys: Captured) -> None:
    columns = [
        {"name": "id", "type": "String", "nullable": False, "rules": "key", "description": "Id"},
        {"name": "n", "type": "UInt8", "nullable": True, "rules": "", "description": "Number"},
    ]
    rules = [{"name": "odd", "description": "No even number."}]
    _print_schema("t", {"description": "D", "columns": columns, "rules": rules, "order": ["id"]})
    assert capsys.readouterr().out == (
        "t: D\n"
        "column  type    rules  meaning\n"
        "id      String  key    Id\n"
        "n       UInt8?         Number\n"
        "rule odd: No even number.\n"
        "order: id\n\n"
    )


def test_nested_statistics_are_flattened_without_lists() -> None:
    nested = {"a": {"b": 1, "c": [1, 2], "d": {"e": 0.123456789, "f": None}}, "g": "x"}
    assert list(_flatten_dict(nested)) == [
        ("a.b", 1),
        ("a.d.e", "0.123457"),
        ("a.d.f", None),
        ("g", "x"),
    ]


def test_trends_have_all_columns_in_json_only(tmp_path: Path, capsys: Captured) -> None:
    hidden = (
        *("intercept", "t", "df", "end_point_observed", "anderson_darling", "durbin_watson"),
        *("durbin_watson_p_positive", "slope_per_batch"),
    )
    trends = pl.DataFrame({"system": ["s"], **{name: [1.0] for name in hidden}, "p": [0.5]})
    report: Any = SimpleNamespace(
        trends=trends, ranking=pl.DataFrame({"system": ["s"]}), comparisons=pl.DataFrame()
    )
    print_trends(OutputFormat.TEXT, report, None)
    assert capsys.readouterr().out == (
        "trends\nsystem       p\ns       0.5000\n\nranking\nsystem\ns\n\ncomparisons\n(none)\n\n"
    )
    print_trends(OutputFormat.JSON, report, None)
    assert set(json.loads(capsys.readouterr().out)["trends"][0]) == {"system", "p", *hidden}


KAPPA = SimpleNamespace(value=0.51234, reason="")
NO_ALPHA = SimpleNamespace(value=None, reason="no pair has two labels")


def test_agreement_of_annotators_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    report = SimpleNamespace(
        pairs=pl.DataFrame({"first": ["ann"], "second": ["bob"], "kappa": [0.25]}),
        posts=1200,
        annotators=["ann"],
        fleiss=KAPPA,
        krippendorff=NO_ALPHA,
    )
    monkeypatch.setattr(
        "builder.tasks.classification.measure_agreement_in_files", lambda files: report
    )
    assert run("classification", "agreement", tmp_path / "ann.tsv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "first  second   kappa",
        "ann    bob     0.2500",
        "1,200 posts, 1 annotator",
        "Fleiss' kappa 0.5123",
        "Krippendorff's alpha undefined (no pair has two labels)",
    ]


@pytest.mark.parametrize("rebuilt", [True, False])
@pytest.mark.parametrize("unused", [{}, {"b": 1, "a": 1200}])
def test_a_build_of_posts_tells_what_was_not_used(
    rebuilt: bool,
    unused: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    report = SimpleNamespace(
        splits=pl.DataFrame({"split": ["train"], "posts": [7]}),
        ledger=RowLedger("posts", 9, 7, Counter({"bad_time": 2})),
        unused_labels=unused,
        rebuilt=rebuilt,
        folder="posts/0.1.0",
    )
    monkeypatch.setattr("builder.tasks.classification.build_classification", lambda *_: report)
    assert run("classification", "build", "p.toml", "--out", "posts") == 0
    told = "human labels of 1,201 posts were not used (b 1, a 1,200)"
    assert capsys.readouterr().out.splitlines() == [
        "split  posts",
        "train      7",
        "9 posts = 7 kept + 2 rejected (bad_time 2)",
        *([told] if unused else []),
        "published posts/0.1.0" if rebuilt else "nothing to do: posts/0.1.0",
    ]
    assert run("classification", "build", "p.toml", "--out", "posts", "--quiet") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("reasons", "text"),
    [((), "skip  up to date\n"), (("not built yet", "new"), "run   not built yet; new\n")],
)
def test_a_build_of_posts_is_explained(
    reasons: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(
        "builder.tasks.classification.classification_rebuild_reasons", lambda *_: reasons
    )
    assert run("classification", "build", "p.toml", "--out", "posts", "--explain") == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("count", "code", "end"), [(0, 0, "no findings"), (1, 1, "1 finding"), (2, 1, "2 findings")]
)
def test_findings_in_posts_exit_with_one(
    count: int, code: int, end: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from builder.collection.checks import Finding

    finding = Finding("CL101", "error", "t.tsv", "m", 1, (), "f")
    monkeypatch.setattr(
        "builder.tasks.classification.validate_classification", lambda folder: [finding] * count
    )
    assert run("classification", "validate", "posts") == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count + 1
    assert lines[-1] == end


def test_the_baseline_of_posts_counts_its_predictions(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("builder.tasks.classification.run_classification_baseline", lambda *_: 1200)
    assert run("classification", "baseline", "posts", "--out", "p.tsv") == 0
    assert capsys.readouterr().out == "wrote 1,200 predictions to p.tsv\n"
    assert classification.info.name == "classification"
