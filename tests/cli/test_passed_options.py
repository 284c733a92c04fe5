"""Options reach the function that a command calls, and its result decides the exit code."""

import io
import json
import sys
from collections.abc import Callable
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
from builder.cli.filtering import create_filtering_parameters
from builder.cli.options import limits_with_temporary_folder, parse_options
from builder.cli.trends import (
    JSON_ONLY,
    TrendGroup,
    _check_chart_path,
    _create_trend_parameters,
)
from builder.collection.checks import Finding
from builder.collection.compare import VersionDifference
from builder.collection.compare.tables import TableDifference
from builder.errors import UsageError
from builder.evaluation import (
    Bm25Parameters,
    EvaluationParameters,
    KeyQueryParameters,
    Rm3Parameters,
)
from builder.judging import LONGEVAL_STRATA, depth_strata
from builder.parameters import ClickParameters, CrawlParameters
from builder.tasks.filtering import KENTER_SWEEP, FilteringParameters, FilteringTrendParameters
from builder.tasks.summarization import SummarizationParameters
from tests.cli.test_cli import run

Captured = pytest.CaptureFixture[str]
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]
Recorder = Callable[..., Calls]
SWEEP = tuple(range(50, 1001, 50))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Replaces a function by one that records its arguments and returns a given result."""

    def replace(name: str, result: Any = None) -> Calls:
        calls: Calls = []

        def record(*arguments: Any, **options: Any) -> Any:
            calls.append((arguments, options))
            return result

        monkeypatch.setattr(name, record)
        return calls

    return replace


@pytest.fixture
def collection(recorded: Recorder, tmp_path: Path) -> Any:
    """A collection of three snapshots, as `open_collection` returns it."""
    snapshots = {
        name: SimpleNamespace(
            name=name,
            folder=tmp_path / name,
            queries=f"queries of {name}",
            documents=f"documents of {name}",
            qrels=f"qrels of {name}",
            document_files=lambda name=name: [f"{name}.parquet"],
        )
        for name in ("2022-06", "2022-07", "2022-08")
    }
    opened = SimpleNamespace(
        path=tmp_path,
        snapshots=tuple(snapshots),
        snapshot=snapshots.__getitem__,
        languages={"fr": ""},
        resolve_language=lambda language: (language or "fr", "_en" if language else ""),
    )
    recorded("builder.collection.read.open_collection", opened)
    return opened


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


@pytest.mark.parametrize("is_given", [False, True])
def test_options_of_a_pool(
    is_given: bool, recorded: Recorder, collection: Any, tmp_path: Path, capsys: Captured
) -> None:
    pool = SimpleNamespace(
        pairs=pl.DataFrame({"a": range(1200)}),
        eligible=2300,
        unknown_queries=3400,
        unknown_documents=4500,
        judged=5600,
    )
    report = SimpleNamespace(pool=pool, files=(Path("pool.parquet"), Path("sheet.tsv")))
    calls = recorded("builder.judging.pool_runs", report)
    read = recorded("builder.judging.read_assessments", pl.DataFrame({"a": [1]}))
    given = ("--depth", "3", "--seed", "x", "--assessor", "ann,bob", "--judged", "old/j.parquet")
    options = ("--snapshot", "2022-07", "--out", tmp_path / "out", *(given if is_given else ()))
    assert run("pool", tmp_path, tmp_path / "run.txt", *options) == 0
    ((arguments, named),) = calls
    assert arguments == ([tmp_path / "run.txt"], tmp_path / "out")
    existing = named.pop("judgements")
    assert named == {
        "queries": "queries of 2022-07",
        "documents": "documents of 2022-07",
        "strata": depth_strata(3) if is_given else LONGEVAL_STRATA,
        "seed": "x" if is_given else "longeval-builder",
        "assessors": ["ann", "bob"] if is_given else (),
        "snapshot": tmp_path / "2022-07",
    }
    assert existing.collect().rows() == [(1,)] if is_given else existing is None
    assert [source.name for ((sources,), _) in read for source in sources] == (
        ["j.parquet"] if is_given else []
    )
    assert capsys.readouterr().out.splitlines() == [
        (
            "1,200 of 2,300 eligible pairs selected for judging; excluded: 3,400 with an unknown "
            "query, 4,500 with an unknown document, 5,600 already judged"
        ),
        "wrote pool.parquet",
        "wrote sheet.tsv",
    ]
    assert run("pool", tmp_path, tmp_path / "run.txt", *options, "--quiet") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("given", "missing"), [("collection", "snapshot"), ("snapshot", "collection")]
)
def test_agreement_with_clicks_needs_a_collection_and_a_snapshot(
    given: str, missing: str, capsys: Captured
) -> None:
    assert run("assess", "agreement", "j.parquet", f"--{given}", "x") == 2
    assert capsys.readouterr().err == (
        "longeval: --collection and --snapshot: expected both or neither, found only "
        f"--{given}; add --{missing}\n"
    )


def test_judgements_are_counted_by_assessor(recorded: Recorder, capsys: Captured) -> None:
    report = SimpleNamespace(judgements=1200, unjudged=3400, assessors={"bob": 200, "ann": 1000})
    calls = recorded("builder.judging.import_assessments", report)
    assert run("assess", "import", "a.tsv", "b.tsv", "--out", "j.parquet") == 0
    assert calls == [(([Path("a.tsv"), Path("b.tsv")], Path("j.parquet")), {})]
    assert capsys.readouterr().out.splitlines() == [
        "wrote 1,200 judgements; 3,400 pairs are unjudged",
        "assessor  judgements",
        "ann            1,000",
        "bob              200",
    ]
    assert run("assess", "import", "a.tsv", "--out", "j.parquet", "--quiet") == 0
    assert capsys.readouterr().out == ""


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


CLICK_OPTIONS = (
    *("--no-click", "skip", "--prior", "beta", "--prior-alpha", "2.5", "--prior-beta", "3.5"),
    *("--last", "time", "--iterations", "7"),
)
CLICK_VALUES = {
    "no_click": "skip",
    "prior": "beta",
    "prior_alpha": 2.5,
    "prior_beta": 3.5,
    "last": "time",
    "iterations": 7,
}


def test_options_of_a_click_model(recorded: Recorder, capsys: Captured) -> None:
    log = SimpleNamespace(rejected={}, impressions=1, records=1, notes=[])
    report = SimpleNamespace(log=log, pairs=1, never_examined=0, clicks=1)
    calls = recorded("builder.clicks.estimate_from_log", report)
    more = ("--votes", "user", "--pages", "joined", "--model", "pbm", "--memory", "2GiB")
    assert run("clicks", "log", "--out", "o.tsv", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert run("clicks", "run", "log", "--out", "o.tsv", *CLICK_OPTIONS, *more) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("wrote 1 pairs to o.tsv; ")
    assert [arguments for arguments, _ in calls] == [
        (Path("log"), "sdbn", Path("o.tsv")),
        (Path("log"), "pbm", Path("o.tsv")),
    ]
    values = CLICK_VALUES | {"votes": "user", "pages": "joined"}
    assert [options["params"] for _, options in calls] == [
        ClickParameters(),
        ClickParameters.model_validate(values),
    ]
    assert [options["limits"].memory for _, options in calls] == [4 * 2**30, 2 * 2**30]


def test_options_of_a_comparison(recorded: Recorder, capsys: Captured) -> None:
    comparison = SimpleNamespace(
        train=1, test=2, unseen=3, logs=(), scores=(), models_worse_than_baseline=lambda: ("dcm",)
    )
    calls = recorded("builder.clicks.compare_models", comparison)
    warning = (
        "warning: dcm predicts held-out clicks worse than the click-through rate by rank; do not "
        "derive grades from it\n"
    )
    for options in (("--chosen", "dcm"), ("--chosen", "pbm"), ()):
        assert run("clicks", "compare", "log", "--held-out", "0.5", *options) == 0
        assert capsys.readouterr().err == (warning if "dcm" in options else "")
    more = ("--model", "dcm,pbm", "--test", "other")
    assert run("clicks", "compare", "log", *more, *CLICK_OPTIONS) == 0
    default = ("sdbn", "dcm", "ccm", "cascade", "dbn", "pbm", "ubm", "document-ctr", "global-ctr")
    assert [arguments for arguments, _ in calls] == [
        *[(Path("log"), default)] * 3,
        (Path("log"), ("dcm", "pbm")),
    ]
    found = [[named[name] for name in ("test", "held_out", "params")] for _, named in calls]
    assert found == [
        *[[None, 0.5, ClickParameters()]] * 3,
        [Path("other"), 0.25, ClickParameters.model_validate(CLICK_VALUES)],
    ]


def test_filtering_parameters_are_those_of_the_options() -> None:
    assert create_filtering_parameters() == FilteringParameters()
    assert create_filtering_parameters(sweep_cutoffs=True).cutoffs == KENTER_SWEEP == SWEEP
    assert create_filtering_parameters(cutoffs=[7], sweep_cutoffs=True).cutoffs == (7,)
    values = ("week", [5, 6], 1, "any", "ignored", "micro", 2.5, "above")
    assert create_filtering_parameters(*values) == FilteringParameters(
        granularity="week",
        cutoffs=(5, 6),
        relevance=1,
        assessors="any",
        unjudged="ignored",
        average="micro",
        zeta=2.5,
        cutoff_rule="above",
    )
    trend = FilteringParameters(granularity="week", cutoffs=SWEEP, relevance=1, zeta=2.5)
    assert _create_trend_parameters("week", None, 1, 2.5) == FilteringTrendParameters(
        filtering=trend
    )


@pytest.mark.parametrize(
    ("true", "official", "is_warned"), [([2, 0], 0, True), ([0, 0], 0, False), ([2, 0], 1, False)]
)
def test_options_of_filtering(
    true: list[int], official: int, is_warned: bool, recorded: Recorder, capsys: Captured
) -> None:
    frame = pl.DataFrame({"system": ["a"]})
    report = SimpleNamespace(
        whole=pl.DataFrame({"targets_true": true}),
        official=frame.head(official),
        official_cutoffs=frame,
        batches=frame,
        runs=frame,
    )
    calls = recorded("builder.tasks.filtering.evaluate_filtering", report)
    recorded("builder.tasks.filtering.matches.mismatch_warnings", ["odd\x1b"])
    assert run("filtering", "truth", "a", "b", "--cutoff", "5,6", "--min-positives", "7") == 0
    parameters = FilteringParameters(cutoffs=(5, 6), min_positives=7)
    assert calls == [((Path("truth"), [Path("a"), Path("b")], parameters), {})]
    said = capsys.readouterr()
    assert [line for line in said.out.splitlines() if line in vars(report)] == list(vars(report))
    told = (
        "warning: no target has 7 or more relevant documents, so the official averages are "
        "undefined: see --min-positives\n"
    )
    assert said.err == "warning: odd\\x1b\n" + (told if is_warned else "")


def test_options_of_summaries(recorded: Recorder, capsys: Captured) -> None:
    names = ("official_means", "official", "means", "events", "tau_means", "taus", "ignored")
    report = SimpleNamespace(**dict.fromkeys(names, pl.DataFrame()))
    calls = recorded("builder.tasks.summarization.evaluate_summaries", report)
    files = [Path(name) for name in "numr"]
    assert run("summarization", *files) == 0
    assert capsys.readouterr().out.split() == [word for name in names for word in (name, "(none)")]
    options = (
        *("--events", "e", "--relevance", "binary", "--max-importance", "3"),
        *("--zero-importance", "dropped", "--latency-step", "60", "--unpooled", "ignored"),
        *("--tau", "5", "--tau", "6"),
    )
    assert run("summarization", *files, *options) == 0
    given = SummarizationParameters("binary", 3, "dropped", 60, "ignored", (5, 6))
    assert [arguments for arguments, _ in calls] == [
        (*files[:3], files[3:], None, SummarizationParameters()),
        (*files[:3], files[3:], Path("e"), given),
    ]


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        ("rankings", (), ()),
        ("granularities", (), (("day", "604800", "2592000"),)),
        ("granularities", ("--granularity", "hour,week"), (["hour", "week"],)),
        ("assumptions", ("--granularity", "hour", "--level", "0.01"), (["hour"], 0.01)),
    ],
)
def test_options_of_trends_of_filtering(
    command: str, options: tuple[str, ...], expected: tuple[Any, ...], recorded: Recorder
) -> None:
    function = {"rankings": "compare_rankings", "granularities": "compare_granularities"}
    name = function.get(command, "check_trend_assumptions")
    calls = recorded(f"builder.tasks.filtering.{name}", pl.DataFrame())
    assert run("trend", command, "truth", "a", "b", "--zeta", "2", *options) == 0
    filtering = FilteringParameters(cutoffs=SWEEP, zeta=2)
    parameters = FilteringTrendParameters(filtering=filtering)
    (((truth, runs, found, *more), _),) = calls
    assert (truth, runs, found) == (Path("truth"), [Path("a"), Path("b")], parameters)
    if options:
        assert tuple(more) == expected
    else:
        assert len(more) == len(expected)


def test_options_of_filtering_trends(recorded: Recorder, tmp_path: Path) -> None:
    calls = recorded("builder.tasks.filtering.evaluate_filtering_trends", "report")
    printed = recorded("builder.cli.trends._print_report")
    (tmp_path / "truth").touch()
    options = (
        *("--measure", "recall", "--granularity", "week", "--cutoff", "5", "--relevance", "1"),
        *("--assessors", "any", "--unjudged", "ignored", "--average", "micro", "--zeta", "2"),
        *("--cutoff-rule", "above", "--residuals", "weighted", "--chart", "c.svg"),
    )
    assert run("trend", tmp_path / "truth", "a", *options) == 0
    assert run("trend", "filtering", tmp_path / "truth", "a", "b") == 0
    given = FilteringParameters(
        granularity="week",
        cutoffs=(5,),
        relevance=1,
        assessors="any",
        unjudged="ignored",
        average="micro",
        zeta=2,
        cutoff_rule="above",
    )
    plain = FilteringTrendParameters(filtering=FilteringParameters(cutoffs=SWEEP))
    assert [arguments for arguments, _ in calls] == [
        (tmp_path / "truth", [Path("a")], FilteringTrendParameters("recall", "weighted", given)),
        (tmp_path / "truth", [Path("a"), Path("b")], plain),
    ]
    assert [arguments[1:] for arguments, _ in printed] == [
        ("report", Path("c.svg")),
        ("report", None),
    ]


def test_trends_of_a_table_may_be_plotted(
    recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    frame = pl.DataFrame({"system": ["a"]})
    trends = frame.with_columns(**dict.fromkeys(JSON_ONLY, pl.lit(1.0)))
    report = SimpleNamespace(trends=trends, ranking=frame, comparisons=frame)
    calls = recorded("builder.evaluation.snapshot_trend_report_from_file", report)
    recorded("builder.evaluation.trend_chart", "<svg>é")
    chart = tmp_path / "c.svg"
    options = ("--residuals", "weighted", "--chart", chart)
    assert run("trend", "scores", "s.tsv", *options) == 0
    assert chart.read_text("utf-8") == "<svg>é"
    assert calls == [((Path("s.tsv"), "weighted"), {})]
    printed = "".join(f"{name}\nsystem\na\n\n" for name in ("trends", "ranking", "comparisons"))
    assert capsys.readouterr().out == printed


def test_trends_of_snapshots_are_fitted_without_resamples(
    recorded: Recorder, collection: Any, tmp_path: Path
) -> None:
    calls = recorded("builder.evaluation.evaluate_paths", "evaluation")
    fitted = recorded("builder.evaluation.evaluation_trend_report")
    recorded("builder.cli.trends._print_report")
    assert run("trend", tmp_path, tmp_path / "run.txt") == 0
    options = ("--measures", "P@5", "--residuals", "weighted")
    assert run("trend", "snapshots", tmp_path, tmp_path / "run.txt", *options) == 0
    assert [list(qrels) for (qrels, _, _), _ in calls] == [["2022-06", "2022-07", "2022-08"]] * 2
    found = [(parameters.measures, parameters.resamples) for (*_, parameters), _ in calls]
    assert found == [(("nDCG@10",), 0), (("P@5",), 0)]
    assert fitted == [(("evaluation", "raw"), {}), (("evaluation", "weighted"), {})]


def test_trends_are_of_snapshots_if_an_argument_is_a_folder(tmp_path: Path) -> None:
    group = TrendGroup()
    (tmp_path / "file").touch()
    assert group.default_command([str(tmp_path / "file"), str(tmp_path)]) == "snapshots"
    assert group.default_command([str(tmp_path / "file")]) == "filtering"


def test_a_chart_is_an_svg_file_and_no_input(tmp_path: Path) -> None:
    _check_chart_path(None, tmp_path / "a.svg")
    _check_chart_path(tmp_path / "a.SVG", tmp_path / "b.svg")
    message = "^--chart: expected a file name that ends in .svg, found 'a.png'$"
    with pytest.raises(UsageError, match=message):
        _check_chart_path(tmp_path / "a.png")
    (tmp_path / "a.svg").touch()
    with pytest.raises(UsageError, match="the output would overwrite an input"):
        _check_chart_path(tmp_path / "a.svg", tmp_path / "b", tmp_path / "a.svg")


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


RANKED = pl.DataFrame({"label": ["eau", "été", "mer"], "score": [0.75, 0.5, 0.25]})


def test_topics_are_ranked_and_written(
    recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    recorded("builder.queries.read_monthly_counts", "counts")
    calls = recorded("builder.queries.rank_topics", RANKED)
    recorded("builder.queries.note_missing_months", iter(["a month is missing"]))
    written = recorded("builder.queries.write_topics")
    out = tmp_path / "t.tsv"
    options = ("--stability", "floor", "--top", "2", "--out", out, "--language", "en")
    assert run("topics", "rank", "c.tsv", *options) == 0
    assert calls == [(("counts", "floor"), {})]
    (((frame, *more), _),) = written
    assert frame.equals(RANKED.head(2))
    assert more == [out, "en", "floor"]
    formula, *lines = capsys.readouterr().out.splitlines()
    assert "floor" in formula
    assert lines == [
        "label   score",
        "eau    0.7500",
        "été    0.5000",
        "note: a month is missing",
        f"wrote {out}",
    ]
    recorded("builder.queries.note_missing_months", [])
    assert run("topics", "rank", "c.tsv", "--top", "1", "--format", "json") == 0
    assert capsys.readouterr().out == (
        '{\n "formula": ' + json.dumps(formula.replace("floor", "cv"), ensure_ascii=False) + ",\n"
        ' "topics": [\n  {\n   "label": "eau",\n   "score": 0.75\n  }\n ],\n "notes": []\n}\n'
    )
    assert run("topics", "rank", "c.tsv") == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert len(written) == 1


def test_topics_are_audited(recorded: Recorder, capsys: Captured) -> None:
    audit = SimpleNamespace(
        counts=pl.DataFrame({"topic_id": ["eau"]}),
        false_words=pl.DataFrame({"word": ["peau"]}),
        differences=pl.DataFrame(),
        queries=1,
        texts=1200,
    )
    calls = recorded("builder.queries.audit_topics_in_files", audit)
    assert run("topics", "audit", "t.tsv", "q.tsv", "--examples", "3") == 0
    assert calls == [((Path("t.tsv"), [Path("q.tsv")], 3), {})]
    assert capsys.readouterr().out == (
        "1,200 texts, 1 distinct query\n"
        "\ncounts\ntopic_id\neau\n\nfalse words\nword\npeau\n\ndifferences\n(none)\n"
    )
    assert run("topics", "audit", "t.tsv", "q.tsv", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "queries": 1,
        "texts": 1200,
        "counts": [{"topic_id": "eau"}],
        "false_words": [{"word": "peau"}],
        "differences": [],
    }


def test_queries_are_audited(recorded: Recorder, capsys: Captured) -> None:
    groups = pl.DataFrame({"text": ["eau", "mer"], "ids": [["q1", "q2"], ["q3", "q4"]]})
    audit = SimpleNamespace(
        lines=1200,
        longest=1,
        faults={"b": 1, "a": 2300},
        same_text=groups,
        same_folded=groups.head(0),
    )
    recorded("builder.queries.audit_texts_in_file", audit)
    head = (
        "1,200 lines; the longest text has 1 character\n\n"
        "fault  lines\na      2,300\nb          1\n"
        "\nsame text under several ids: 2 groups\n"
    )
    tail = "\nsame folded under several ids: 0 groups\n"
    for examples, table in (("1", "text  ids\neau   q1, q2\n"), ("0", "")):
        assert run("queries", "audit", "q.tsv", "--examples", examples) == 0
        assert capsys.readouterr().out == head + table + tail
    assert run("queries", "audit", "q.tsv", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "lines": 1200,
        "longest": 1,
        "faults": {"b": 1, "a": 2300},
        "same_text": groups.to_dicts(),
        "same_folded": [],
    }


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


class Filter(io.BytesIO):
    """Standard input or output as bytes."""

    @property
    def buffer(self) -> io.BytesIO:
        return self


def test_options_of_a_translation(
    monkeypatch: pytest.MonkeyPatch, recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    calls = recorded("builder.translation.translate_file", [])
    options = ("--model", tmp_path, "--column", "q", "--kind", "query", "--beam-size", "3")
    more = ("--compute-type", "float32")
    assert run("translate", "a.txt", "--out", "b.txt", *options, *more) == 0
    assert capsys.readouterr().out == "wrote b.txt: 0 texts, 0 sentences\n"
    assert run("translate", "run", "a.txt", "--out", "b.txt", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert [(arguments[:2], named) for arguments, named in calls] == [
        ((Path("a.txt"), Path("b.txt")), {"column": "q", "kind": "query"}),
        ((Path("a.txt"), Path("b.txt")), {"column": "text", "kind": "text"}),
    ]
    given, plain = (arguments[2] for arguments, _ in calls)
    assert (given.model, given.compute_type, given.beam_size) == (tmp_path, "float32", 3)
    assert (str(plain.model), plain.compute_type, plain.beam_size) == ("embedded", "int8", 1)


@pytest.mark.parametrize("is_file", [False, True])
def test_standard_input_is_translated_block_by_block(
    is_file: bool, monkeypatch: pytest.MonkeyPatch, recorded: Recorder, tmp_path: Path
) -> None:
    texts = [[SimpleNamespace(text="é", sentences=())], [SimpleNamespace(text="", sentences=())]]
    calls = recorded("builder.translation.translate_stream", texts)
    given, shown = Filter(b"x"), Filter()
    monkeypatch.setattr(sys, "stdin", given)
    monkeypatch.setattr(sys, "stdout", shown)
    out = tmp_path / "out.txt"
    options = ("--out", out) if is_file else ()
    assert run("translate", "-", "--kind", "query", "--quiet", *options) == 0
    assert (out.read_bytes() if is_file else shown.getvalue()) == "é\n\n".encode()
    ((arguments, named),) = calls
    assert arguments[0] is given
    assert named == {"kind": "query"}


def test_an_option_with_a_wrong_value_is_named() -> None:
    message = "^--prior-alpha: Input should be greater than 0, found -1$"
    with pytest.raises(UsageError, match=message):
        parse_options(ClickParameters, prior="beta", prior_alpha=-1, prior_beta=-2)
    assert parse_options(ClickParameters, prior_beta=2) == ClickParameters(prior_beta=2)


def test_the_schema_of_findings_is_that_of_json(capsys: Captured) -> None:
    from builder.collection.findings import FINDINGS_SCHEMA

    assert run("schema", "findings") == 0
    shown = capsys.readouterr().out
    assert json.loads(shown) == FINDINGS_SCHEMA
    assert shown.startswith('{\n "')


def test_memory_is_limited_and_scratch_is_deleted() -> None:
    with limits_with_temporary_folder("2GiB") as limits:
        assert limits.memory == 2 * 2**30
        assert limits.scratch.is_dir()
        assert limits.scratch.name.startswith("longeval-")
    assert not limits.scratch.exists()
