"""Options of the commands on clicks, judgements, topics, queries and translations."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.judging import LONGEVAL_STRATA, depth_strata
from builder.parameters import ClickParameters
from tests.cli.passed_options.recorder import Recorder
from tests.cli.test_cli import Captured, run


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
