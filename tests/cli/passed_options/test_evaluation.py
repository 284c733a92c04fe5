"""Options of the commands that evaluate, attribute, search, boost, fuse and check runs."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.cli.baseline import (
    ExpansionMethod,
    _check_earlier_statistics,
    _parse_expansion,
    baseline,
)
from builder.cli.evaluation import find_qrels
from builder.errors import UsageError
from builder.evaluation import (
    Bm25Parameters,
    EvaluationParameters,
    KeyQueryParameters,
    Rm3Parameters,
)
from tests.cli.passed_options.recorder import Recorder
from tests.cli.test_cli import Captured, run


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ((), {}),
        (
            (
                *("--measures", "P@5", "--pivot", "bm25", "--depth", "7", "--pairs", "all"),
                *("--resamples", "0", "--seed", "3", "--confidence", "0.5", "--rbo-p", "0.25"),
                *("--split", "test,heldout"),
            ),
            {
                "measures": ("P@5",),
                "pivot": "bm25",
                "depth": 7,
                "pairs": "all",
                "resamples": 0,
                "seed": 3,
                "confidence": 0.5,
                "rbo_p": 0.25,
                "splits": ("test", "heldout"),
            },
        ),
    ],
)
def test_options_of_an_evaluation(
    options: tuple[str, ...],
    changed: dict[str, Any],
    recorded: Recorder,
    collection: Any,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    evaluation = SimpleNamespace(signature=lambda: "measures:P@5")
    calls = recorded("builder.evaluation.evaluate_paths", evaluation)
    recorded("builder.evaluation.summary_rows", [{"system": "a", "value": 0.25}])
    summary = "builder.evaluation.reports.summary"
    recorded(f"{summary}.zero_score_warnings", ["all zero\x1b"])
    recorded(f"{summary}.missing_interval_notes", ["no interval\x1b"])
    assert run("evaluate", tmp_path, tmp_path / "run.txt", *options) == 0
    ((qrels, runs, parameters),) = [arguments for arguments, _ in calls]
    assert qrels == {
        name: tmp_path / name / "qrels.parquet" for name in ("2022-06", "2022-07", "2022-08")
    }
    assert list(runs) == [tmp_path / "run.txt"]
    defaults = {
        "measures": parameters.measures,
        "pivot": None,
        "depth": 1000,
        "pairs": "first",
        "resamples": 1000,
        "confidence": 0.95,
        "seed": 0,
        "rbo_p": 0.9,
        "splits": None,
    }
    assert asdict(parameters) == defaults | changed
    assert changed or parameters == EvaluationParameters()
    assert capsys.readouterr() == (
        "system   value\na       0.2500\nnote: no interval\\x1b\nmeasures:P@5\n",
        "warning: all zero\\x1b\n",
    )


def test_qrels_in_a_folder_are_found_by_their_names(tmp_path: Path, capsys: Captured) -> None:
    found = ("2022-06.qrels", "2022-07.qrels.gz", "2022-08.qrels.txt", "2022-09.qrels.txt.zst")
    for name in (*found, ".2022-05.qrels", "2022-10.qrels.xz", ".qrels", "qrels", "notes.md"):
        (tmp_path / name).touch()
    (tmp_path / "2022-11.qrels").mkdir()
    assert find_qrels(tmp_path) == {name[:7]: tmp_path / name for name in found}
    expected = "expected a name such as 2022-06.qrels, .qrels.txt, .qrels.gz or .qrels.zst"
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {tmp_path / name} was not read; {expected}"
        for name in ("2022-10.qrels.xz", "qrels")
    ]
    (tmp_path / "2022-06.qrels.zst").touch()
    with pytest.raises(UsageError) as refused:
        find_qrels(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}/2022-06.qrels and {tmp_path}/2022-06.qrels.zst are both qrels of 2022-06; "
        "remove one of them"
    )


def test_qrels_without_dates_are_warned_of(tmp_path: Path, capsys: Captured) -> None:
    for name in ("new.qrels", "old.qrels"):
        (tmp_path / name).touch()
    assert list(find_qrels(tmp_path)) == ["new", "old"]
    assert capsys.readouterr().err.startswith(
        "warning: snapshots are compared in the order of their names (new, old); if this order is "
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), (("nDCG@10",), {"depth": 1000, "splits": None, "earlier_statistics": ()})),
        (
            (
                *("--measures", "P@5", "AP", "--depth", "7", "--split", "test"),
                *("--earlier-statistics", "x"),
            ),
            (
                ("P@5", "AP"),
                {"depth": 7, "splits": ("test",), "earlier_statistics": (Path("x"),)},
            ),
        ),
    ],
)
def test_options_of_an_attribution(
    options: tuple[str, ...],
    expected: tuple[Any, ...],
    recorded: Recorder,
    collection: Any,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    change = SimpleNamespace(to_json=lambda: {"a": "é"}, to_row=lambda: {"a": 1.0})
    calls = recorded("builder.evaluation.attribute_score_changes", [change])
    assert run("attribute", tmp_path, tmp_path / "run.txt", *options) == 0
    assert capsys.readouterr().out == "     a\n1.0000\n"
    (((qrels, changes, runs, *more), named),) = calls
    assert list(qrels) == ["2022-06", "2022-07", "2022-08"]
    assert changes == tmp_path / "changes/documents.parquet"
    assert list(runs) == [tmp_path / "run.txt"]
    assert (*more, named) == expected
    assert run("attribute", tmp_path, tmp_path / "run.txt", *options, "--format", "json") == 0
    assert capsys.readouterr().out == '[\n {\n  "a": "\\u00e9"\n }\n]\n'


def test_options_of_reproducibility(
    recorded: Recorder, collection: Any, tmp_path: Path, capsys: Captured
) -> None:
    calls = recorded("builder.evaluation.compare_runs_between_snapshots", pl.DataFrame())
    assert run("reproducibility", tmp_path, tmp_path / "run.txt") == 0
    options = ("--measures", "P@5", "--pivot", "p", "--depth", "7", "--rbo-p", "0.5")
    assert run("reproducibility", tmp_path, tmp_path / "run.txt", *options) == 0
    folders = {name: tmp_path / name for name in ("2022-06", "2022-07", "2022-08")}
    plain, given = [(*arguments[:2], *arguments[3:]) for arguments, _ in calls]
    assert plain == (folders, tmp_path / "documents_map.parquet", ("nDCG@10",))
    assert given == (folders, tmp_path / "documents_map.parquet", ("P@5",))
    assert [named for _, named in calls] == [
        {"pivot": None, "depth": 100, "rbo_p": 0.9},
        {"pivot": "p", "depth": 7, "rbo_p": 0.5},
    ]


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [
        (None, (10, 10, 0.5), None),
        ("rm3", (10, 10, 0.5), Rm3Parameters(10, 10, 0.5)),
        ("rm3", (3, 4, 0.25), Rm3Parameters(3, 4, 0.25)),
        ("keyquery", (3, 4, 0.5), KeyQueryParameters(3, 4)),
    ],
)
def test_options_of_expansion(
    method: str | None, options: tuple[int, int, float], expected: object
) -> None:
    assert _parse_expansion(ExpansionMethod(method) if method else None, *options) == expected


@pytest.mark.parametrize("options", [(3, 10, 0.5), (10, 3, 0.5), (10, 10, 0.25)])
def test_options_of_expansion_need_a_method(options: tuple[int, int, float]) -> None:
    with pytest.raises(UsageError, match="found no --expand"):
        _parse_expansion(None, *options)
    if options[2] != 0.5:
        with pytest.raises(UsageError, match="expected --expand rm3, found --expand keyquery"):
            _parse_expansion(ExpansionMethod.KEYQUERY, *options)


def test_earlier_statistics_need_two_snapshots_and_no_expansion() -> None:
    _check_earlier_statistics(("2022-06", "2022-07"), None)
    message = "^--earlier-statistics: expected at least two snapshots, found only 2022-06$"
    with pytest.raises(UsageError, match=message):
        _check_earlier_statistics(("2022-06",), None)
    message = "^--earlier-statistics cannot be combined with --expand keyquery$"
    with pytest.raises(UsageError, match=message):
        _check_earlier_statistics(("2022-06", "2022-07"), ExpansionMethod.KEYQUERY)


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_baseline_searches_each_snapshot_with_its_own_statistics_or_earlier_ones(
    is_earlier: bool, recorded: Recorder, collection: Any, tmp_path: Path
) -> None:
    searched = recorded("builder.evaluation.search_snapshot", "run")
    measured = recorded("builder.evaluation.snapshot_bm25_statistics", "statistics")
    written = recorded("builder.cli.baseline.write_run_file")
    baseline(
        tmp_path,
        tmp_path / "out",
        language="en",
        depth=7,
        earlier_statistics=is_earlier,
        quiet=True,
    )
    names = ("2022-06", "2022-07", "2022-08")[int(is_earlier) :]
    parameters = Bm25Parameters(language="en", depth=7)
    options = {
        "suffix": "_en",
        "tag": "bm25-en",
        "statistics": "statistics" if is_earlier else None,
    }
    assert searched == [
        (([f"{name}.parquet"], tmp_path / name / "queries.parquet", parameters), options)
        for name in names
    ]
    assert written == [
        (("run", tmp_path / "out" / f"{name}.txt.gz", ""), {"quiet": True}) for name in names
    ]
    earlier = ("2022-06.parquet", "2022-07.parquet")
    assert measured == [(([name], parameters), {"suffix": "_en"}) for name in earlier if is_earlier]


def test_a_baseline_is_expanded_by_all_earlier_snapshots(
    recorded: Recorder, collection: Any, tmp_path: Path
) -> None:
    expanded = pl.DataFrame({"source": [*["judged"] * 1200, "none", "pseudo", "pseudo"]})
    searched = recorded("builder.evaluation.search_snapshot_with_expansion", ("run", expanded))
    written = recorded("builder.cli.baseline.write_run_file")
    baseline(tmp_path, tmp_path / "out", expansion_method=ExpansionMethod.KEYQUERY, fb_docs=3)
    assert [
        (snapshot.name, [each.name for each in earlier], *more)
        for (snapshot, earlier, *more), _ in searched
    ] == [
        (name, earlier, KeyQueryParameters(3, 10), Bm25Parameters(language="fr", depth=1000))
        for name, earlier in (
            ("2022-06", []),
            ("2022-07", ["2022-06"]),
            ("2022-08", ["2022-06", "2022-07"]),
        )
    ]
    assert searched[0][1] == {"suffix": "", "tag": "bm25-fr-keyqueryparameters"}
    assert written[0][0][2] == (
        " (queries with earlier judgements: 1,200, pseudo-relevance feedback: 2, no expansion: 1)"
    )


def test_a_run_is_boosted_by_qrels_whose_ids_are_those_of_their_release(
    monkeypatch: pytest.MonkeyPatch, recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    run_file = SimpleNamespace(ranking=pl.DataFrame({"a": range(1200)}))
    read = recorded("builder.trec.read_run", "run")
    recorded("builder.evaluation.read_qrels", "qrels")
    monkeypatch.setattr("builder.trec.to_release_ids", lambda run, folder: f"{run} by {folder}")
    calls = recorded("builder.evaluation.qrel_boost", run_file)
    written = recorded("builder.evaluation.write_run")
    options = ("--out", "o.txt", "--weight", "2.5", "--tag", "mine")
    assert run("boost", "r.txt", "x/qrels", "y/qrels", *options) == 0
    assert read == [((Path("r.txt"), None), {})]
    assert calls == [
        (("run by x by y", ["qrels", "qrels"]), {"weight": 2.5, "tag": "mine"}),
    ]
    assert written == [((run_file, Path("o.txt")), {})]
    assert capsys.readouterr().out == "wrote o.txt: 1,200 lines\n"


@pytest.mark.parametrize("warning", ["odd\x1b", None])
def test_runs_are_fused_down_to_a_depth(
    warning: str | None, recorded: Recorder, capsys: Captured
) -> None:
    read = recorded("builder.trec.read_run", "run")
    recorded("builder.evaluation.runs.dates.check_distinct_runs")
    recorded("builder.evaluation.runs.dates.different_snapshots_warning", warning)
    calls = recorded("builder.evaluation.reciprocal_rank_fusion", "fused")
    written = recorded("builder.cli.runs.write_run_file")
    assert run("fuse", "a", "b", "--out", "o", "--k", "7", "--depth", "9", "--tag", "t") == 0
    assert read == [((Path("a"), 9), {}), ((Path("b"), 9), {})]
    assert calls == [((["run", "run"],), {"k": 7, "tag": "t", "depth": 9})]
    assert written == [(("fused", Path("o")), {})]
    assert capsys.readouterr().err == ("warning: odd\\x1b\n" if warning else "")


@pytest.mark.parametrize(("levels", "code"), [(["warning"], 0), (["warning", "error"], 1)])
def test_runs_with_errors_exit_with_one_and_have_their_paths_in_the_archive(
    levels: list[str], code: int, recorded: Recorder, collection: Any, capsys: Captured
) -> None:
    from builder.evaluation.runs.archives import EXTRACTED_PREFIX

    inside = "/tmp/" + EXTRACTED_PREFIX.removeprefix("^.*/").replace("[^/]+", "abc").replace(
        r"\d+", "0"
    )
    checked = SimpleNamespace(
        runs=pl.DataFrame({"run": [f"{inside}bm25/2022-06.txt"]}),
        findings=pl.DataFrame({"level": levels, "message": [f"{inside}bm25: odd"] * len(levels)}),
    )
    recorded("builder.evaluation.check_submissions", checked)
    recorded("builder.evaluation.extract_archives", nullcontext([Path("x")]))
    assert run("runs", "check", "c", "team.zip") == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["runs", "run", "bm25/2022-06.txt"]
    assert [line.split(maxsplit=1)[1] for line in lines[6:-1]] == ["bm25: odd"] * len(levels)
