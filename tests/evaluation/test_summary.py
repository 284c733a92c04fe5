"""Values of an evaluation as JSON and as a table per query."""

import json
from pathlib import Path

import polars as pl
import pytest

from builder.errors import UsageError
from builder.evaluation.evaluator import Evaluation, evaluate
from builder.evaluation.measures.registry import from_trec_eval_name
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.reports.summary import to_json, write_query_scores

pytest.importorskip("pytrec_eval")


@pytest.fixture
def evaluation(make_qrels, make_run) -> Evaluation:
    qrels = dict.fromkeys(("2022-06", "2022-07"), make_qrels([("q1", "a", 1)]))
    runs = {"sé": dict.fromkeys(qrels, make_run({"q1": ["b", "a"]}, depth=None))}
    parameters = EvaluationParameters(("RR", "P@1"), resamples=10, depth=None)
    return evaluate(qrels, runs, parameters)


def test_the_signature_names_every_parameter(evaluation: Evaluation) -> None:
    parts = evaluation.signature().split("|")
    assert parts[:8] == [
        *("measures:RR+P@1", "depth:all", "pivot:none", "pairs:first"),
        *("bootstrap:10@0.95", "seed:0", "rbo_p:0.9", "splits:all"),
    ]
    assert [part.split(":")[0] for part in parts[8:]] == ["pytrec_eval", "longeval-builder"]


def test_tables_per_query_are_left_out_unless_asked_for_by_name(evaluation: Evaluation) -> None:
    tables = ["effectiveness", "significance", "persistence", "agreement"]
    keys = ["signature", "parameters", "snapshots", "systems", *tables]
    assert list(to_json(evaluation)) == keys
    assert list(to_json(evaluation, include_queries=True)) == [*keys, "query_scores", "query_drops"]
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        to_json(evaluation, True)


def test_scores_per_query_are_written_by_suffix(evaluation: Evaluation, tmp_path: Path) -> None:
    scores = evaluation.query_scores
    paths = {
        suffix: tmp_path / "new" / "folder" / f"s{suffix}"
        for suffix in (".csv", ".tsv", ".parquet", ".json")
    }
    for path in paths.values():
        write_query_scores(evaluation, path)
    header = paths[".csv"].read_text().splitlines()[0]
    assert header == ",".join(scores.columns)
    assert paths[".tsv"].read_text().splitlines()[0] == header.replace(",", "\t")
    assert pl.read_parquet(paths[".parquet"]).equals(scores)
    text = paths[".json"].read_text("utf-8")
    assert text.startswith(
        '{\n "query_scores": [\n  {\n   "snapshot": "2022-06",\n   "system": "sé",'
    )
    assert text.endswith("]\n}\n")
    assert json.loads(text) == {
        "query_scores": scores.to_dicts(),
        "query_drops": evaluation.query_drops.to_dicts(),
    }
    with pytest.raises(UsageError) as caught:
        write_query_scores(evaluation, tmp_path / "s.xlsx")
    assert (
        str(caught.value) == "--per-query: expected .csv, .tsv, .parquet or .json, found 's.xlsx'"
    )


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("map", "AP"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
        ("gm_map", None),
        ("unknown_10", None),
        ("P_x", None),
        ("ndcg_10", None),
        ("recip_rank_10", None),
        ("_10", None),
    ],
)
def test_names_of_trec_eval(name: str, measure: str | None) -> None:
    assert from_trec_eval_name(name) == measure
