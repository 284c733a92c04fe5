"""ir_measures as a provider of measures."""

import math
import shutil
import sys

import numpy as np
import pytest

from builder.errors import DataError, MissingExtraError, UsageError
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.registry import parse_measure, parse_measures

ir_measures = pytest.importorskip("ir_measures")


def test_a_measure_of_ir_measures_is_that_of_trec_eval(make_qrels, make_run) -> None:
    qrels = make_qrels([("q1", "a", 2), ("q1", "b", 1), ("q1", "c", 0), ("q2", "a", 1)])
    run = make_run({"q1": ["c", "a", "x", "b"], "q9": ["a"]})
    names = ["AP", "ir_measures:AP", "ir_measures:nDCG@2", "ir_measures:infAP"]
    measures = parse_measures(names)
    assert [str(measure) for measure in measures] == names
    values = RunScorer(qrels, measures).score(run).values
    assert values[0, 0] == values[0, 1] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert values[0, 2] == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert values[0, 3] == pytest.approx(values[0, 0], abs=1e-4)
    assert (values[1] == 0).all()


def test_inferred_ap_distinguishes_unjudged_documents_of_the_pool(make_qrels, make_run) -> None:
    """Above a: b, in the pool. Above c: b, a, d; a and d are judged. p has no judgement."""
    judged = [("q", "a", 1), ("q", "c", 1), ("q", "d", 0), ("q", "h", 0)]
    pooled = [("q", "b", -1), ("q", "e", -1), ("p", "a", -1)]
    run = make_run({"q": list("badcefgh"), "p": ["a"]})
    measures = parse_measures(["ir_measures:infAP", "ir_measures:AP", "ir_measures:Judged@2"])
    values = RunScorer(make_qrels(judged + pooled), measures).score(run).values
    inferred = ((1 / 2 + 1 / 2 * 1 / 2) + (1 / 4 + 3 / 4 * 1 / 2)) / 2
    assert values == pytest.approx(np.array([[0, 0, 0], [inferred, 1 / 2, 1 / 2]]), abs=1e-4)
    outside = RunScorer(make_qrels(judged), measures[:1]).score(run).values
    assert outside == pytest.approx(np.array([[(1 / 2 + (1 / 4 + 2 / 4 * 1 / 2)) / 2]]), abs=1e-4)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs perl")
def test_gdeval_scores_queries_whose_ids_are_not_numbers(make_qrels, make_run) -> None:
    """ERR with R(g) = (2^g - 1) / 16; q1 has grades 0, 2, 4 at ranks 1 to 3, q3 no result."""
    qrels = make_qrels([("q1", "b", 2), ("q1", "c", 4), ("q10", "a", 1), ("q3", "a", 1)])
    run = make_run({"q10": ["a"], "q1": ["a", "b", "c"], "unjudged": ["a"]})
    names = ["ir_measures:ERR@20", "ir_measures:nDCG(dcg='exp-log2')@2", "ir_measures:P@1"]
    scorer = RunScorer(qrels, parse_measures(names))
    assert list(scorer.query_ids) == ["q1", "q10", "q3"]
    err = 3 / 16 / 2 + (1 - 3 / 16) * 15 / 16 / 3
    ndcg = (3 / math.log2(3)) / (15 + 3 / math.log2(3))
    expected = [[err, ndcg, 0], [1 / 16, 1, 1], [0, 0, 0]]
    assert scorer.score(run).values == pytest.approx(np.array(expected), abs=1e-5)
    assert (scorer.score(make_run({"q9": ["a"]})).values == 0).all()


def test_a_provider_that_fails_is_an_error_of_the_data(
    make_qrels, make_run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = RunScorer(make_qrels([("q1", "a", 2)]), parse_measures(["ir_measures:AP"]))

    def fail(*_: object) -> None:
        raise RuntimeError("perl not available")

    monkeypatch.setattr(ir_measures, "iter_calc", fail)
    with pytest.raises(DataError) as caught:
        scorer.score(make_run({"q1": ["a"]}))
    assert str(caught.value) == "ir_measures:AP: ir_measures failed (perl not available)"


@pytest.mark.parametrize("name", ["nDGC", "", "AP(x=1)", "P", "P@1.5"])
def test_an_unknown_measure_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measure(f"ir_measures:{name}")
    assert str(caught.value).startswith(f"measure 'ir_measures:{name}': unknown to ir_measures (")


def test_a_measure_without_a_provider_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(parse_measure(" ir_measures:AP(rel=2)@5 ")) == "ir_measures:AP(rel=2)@5"
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [])
    with pytest.raises(UsageError) as caught:
        parse_measure("ir_measures:AP")
    assert str(caught.value) == (
        "measure 'ir_measures:AP': no installed provider of ir_measures supports it"
    )


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"\[ir-measures\]"):
        parse_measure("ir_measures:AP")
