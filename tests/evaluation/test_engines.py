"""Scores per query against trec_eval itself, gdeval, and hand computation."""

import json
import math
import shutil
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DataError, UsageError
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.err import expected_reciprocal_rank
from builder.evaluation.measures.registry import parse_measures
from builder.trec.runs import Run

FIXTURE = json.loads((Path(__file__).parent / "fixtures" / "one_query.json").read_text())
TREC_NAMES = {
    "nDCG": "ndcg",
    "nDCG@5": "ndcg_cut_5",
    "AP": "map",
    "AP@5": "map_cut_5",
    "P@5": "P_5",
    "R@5": "recall_5",
    "RR": "recip_rank",
    "bpref": "bpref",
    "Rprec": "Rprec",
    "Success@5": "success_5",
}


def frame(rows: list[tuple[str, str, float]], number: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")


def scores(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], *names: str
) -> pl.DataFrame:
    """A column per measure, a row per judged query."""
    judged = frame([(q, d, g) for q, docs in qrels.items() for d, g in docs.items()], "grade")
    ranked = frame([(q, d, s) for q, docs in run.items() for d, s in docs.items()], "score")
    scorer = RunScorer(judged, parse_measures(names))
    values = scorer.score(Run.from_scores(ranked, "t")).values
    return pl.DataFrame(values, schema=list(names)).insert_column(
        0, pl.Series("query_id", scorer.query_ids)
    )


def random_world(seed: int, queries: int) -> tuple[dict, dict]:
    """Grades 0-3 on a part of the documents; scores with ties; some queries without a run."""
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(25)]
    qrels, run = {}, {}
    for query in (f"q{i}" for i in range(queries)):
        judged = rng.choice(documents, rng.integers(1, 12), replace=False)
        qrels[query] = {d: int(rng.integers(0, 4)) for d in judged}
        found = rng.choice(documents, rng.integers(0, 20), replace=False)
        if len(found):
            run[query] = {d: float(rng.integers(0, 12)) / 4 for d in found}
    return qrels, run


def test_trec_eval_on_the_whole_run_says_the_same() -> None:
    qrels, run = random_world(1, 1000)
    expected = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values())).evaluate(run)
    found = scores(qrels, run, *TREC_NAMES)
    assert found["query_id"].to_list() == sorted(qrels)
    for row in found.iter_rows(named=True):
        for ours, theirs in TREC_NAMES.items():
            assert row[ours] == pytest.approx(
                expected.get(row["query_id"], {}).get(theirs, 0), abs=1e-12
            )


def test_the_grade_that_counts_as_relevant() -> None:
    qrels, run = random_world(2, 200)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "bpref"}, relevance_level=2)
    expected = evaluator.evaluate(run)
    found = scores(qrels, run, "AP(rel=2)", "bpref(rel=2)", "AP")
    for query, ap, bpref, _ in found.iter_rows():
        assert ap == pytest.approx(expected.get(query, {}).get("map", 0))
        assert bpref == pytest.approx(expected.get(query, {}).get("bpref", 0))
    assert found["AP(rel=2)"].sum() != found["AP"].sum()


def test_cut_reciprocal_rank_is_that_of_ir_measures() -> None:
    qrels, run = random_world(3, 300)
    # distinct scores, because the reference breaks ties otherwise
    run = {q: {d: -i for i, d in enumerate(sorted(docs))} for q, docs in run.items()}
    reference = {
        m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.RR @ 3], qrels, run)
    }
    for query, cut, whole in scores(qrels, run, "RR@3", "RR").iter_rows():
        assert cut == pytest.approx(reference.get(query, 0))
        assert cut == (whole if whole > 0.3 else 0)


def naive_err(grades: list[int], k: int, top: int) -> float:
    """Chapelle et al. 2009, algorithm 1, one rank after the other."""
    goes_on, err = 1.0, 0.0
    for rank, grade in enumerate(grades[:k], start=1):
        stops = (2**grade - 1) / 2**top
        err += goes_on * stops / rank
        goes_on *= 1 - stops
    return err


def test_err_reads_a_negative_grade_as_not_relevant() -> None:
    found = scores({"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "ERR")
    assert found.row(0) == ("q", 1 / 16 / 2)


def test_err_against_the_algorithm_of_the_paper() -> None:
    qrels, run = random_world(4, 1000)
    found = scores(qrels, run, "ERR@5", "ERR@20(max=3)", "ERR")
    for query, at_5, at_20, whole in found.iter_rows():
        order = sorted(
            run.get(query, {}).items(), key=lambda item: (item[1], item[0]), reverse=True
        )
        grades = [qrels[query].get(document, 0) for document, _ in order]
        assert at_5 == pytest.approx(naive_err(grades, 5, 4), abs=1e-12)
        assert at_20 == pytest.approx(naive_err(grades, 20, 3), abs=1e-12)
        assert whole == pytest.approx(naive_err(grades, 1000, 4), abs=1e-12)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_err_against_gdeval() -> None:
    qrels, run = random_world(5, 100)
    numbers = {query: str(i + 1) for i, query in enumerate(qrels)}
    theirs = {
        m.query_id: m.value
        for m in ir_measures.iter_calc(
            [ir_measures.ERR @ 10],
            {numbers[q]: docs for q, docs in qrels.items()},
            {numbers[q]: docs for q, docs in run.items()},
        )
    }
    for query, err in scores(qrels, run, "ERR@10").iter_rows():
        assert err == pytest.approx(theirs.get(numbers[query], 0), abs=6e-6)


def test_the_published_case_of_one_query() -> None:
    qrels = {"anything": FIXTURE["qrels"]}
    run = {"anything": {d: -float(i) for i, d in enumerate(FIXTURE["ranking"])}}
    found = scores(qrels, run, *FIXTURE["expected"]).drop("query_id").row(0, named=True)
    assert found == pytest.approx(FIXTURE["expected"], abs=1e-9)


def test_err_refuses_a_grade_above_its_maximum() -> None:
    with pytest.raises(DataError, match=r"found grade 3 .*; set the parameter max to 3 or higher"):
        expected_reciprocal_rank(np.array([[0, 3]]), 2)
    with pytest.raises(DataError, match="maximum grade 1"):
        scores({"q": {"d": 2}}, {"q": {"d": 1.0}}, "ERR@5(max=1)")


@given(
    st.dictionaries(
        st.sampled_from("pqr"),
        st.dictionaries(st.sampled_from("abcd"), st.integers(-2, 4)),
        max_size=3,
    ),
    st.dictionaries(
        st.sampled_from("pqrx"),
        st.dictionaries(st.sampled_from("abcde"), st.floats(-2, 2)),
        max_size=4,
    ),
)
def test_degenerate_inputs_score_between_0_and_1(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    names = (*TREC_NAMES, "ERR@5", "Judged@5", "RR@2")
    found = scores(qrels, run, *names)
    judged = {q for q, docs in qrels.items() if docs}
    assert found["query_id"].to_list() == sorted(judged)
    for name in names:
        assert all(math.isfinite(v) and 0 <= v <= 1 for v in found[name])
    for query in judged - set(run):
        assert sum(found.filter(query_id=query).drop("query_id").row(0)) == 0


def test_the_share_of_judged_documents_by_hand() -> None:
    """Of x, a, b and y, a and b are judged; p has two documents, of which c is judged."""
    qrels = {"q": {"a": 1, "b": 0}, "p": {"c": 2}, "r": {"a": 1}}
    run = {"q": {"x": 4.0, "a": 3.0, "b": 2.0, "y": 1.0}, "p": {"c": 2.0, "x": 1.0}}
    names = [f"Judged@{k}" for k in (1, 2, 3, 4, 10)]
    assert scores(qrels, run, *names).rows() == [
        ("p", 1.0, 0.5, 0.5, 0.5, 0.5),
        ("q", 0.0, 0.5, 2 / 3, 0.5, 0.5),
        ("r", 0.0, 0.0, 0.0, 0.0, 0.0),
    ]


def test_err_by_hand() -> None:
    """Grades 0, 2 and 4 at ranks 2, 3 and 4 of a scale up to 4: 3/16 and 15/16 stop."""
    qrels = {"q": {"a": 0, "b": 2, "c": 4}}
    run = {"q": {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0}}
    found = scores(qrels, run, "ERR@2", "ERR@3", "ERR", "ERR(max=5)").row(0)
    at_three, at_four = 3 / 16 / 3, 13 / 16 * 15 / 16 / 4
    whole = 3 / 32 / 3 + 29 / 32 * 15 / 32 / 4
    assert found == ("q", *map(pytest.approx, (0, at_three, at_three + at_four, whole)))
    with pytest.raises(DataError) as caught:
        scores(qrels, run, "ERR(max=3)")
    assert str(caught.value) == (
        "ERR with maximum grade 3: found grade 4 in the judgements; set the parameter max to 4 or "
        "higher, for example ERR@10(max=4)"
    )


def test_a_negative_grade_is_no_judgement() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "p": {"a": 1.0}}
    spam = {"q": {"a": -2, "b": -1, "c": 1, "d": 0}, "p": {"a": -1}}
    clean = {"q": {"c": 1, "d": 0}, "p": {"b": 0}}
    names = (*TREC_NAMES, "ERR@5", "Judged@5")
    assert scores(spam, run, *names).equals(scores(clean, run, *names))


def test_missing_unjudged_and_irrelevant_queries(make_qrels, make_run) -> None:
    qrels = make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 0)])
    scorer = RunScorer(qrels, parse_measures(["P@1", "AP"]))
    scored = scorer.score(make_run({"q1": ["a"], "q9": ["a"], "q8": ["b"]}))
    assert scorer.query_ids == ("q1", "q2", "q3")
    assert scored.values.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert scored.missing.tolist() == [False, True, True]
    assert scored.unjudged == 2
    assert scorer.irrelevant.tolist() == [False, False, True]


def test_a_measure_may_not_look_below_the_cut(make_qrels, make_run) -> None:
    scorer = RunScorer(make_qrels([("q", "a", 1)]), parse_measures(["R@100"]))
    with pytest.raises(UsageError, match=r"largest cutoff of the measures is 100, .* only 50"):
        scorer.score(make_run({"q": ["a"]}, depth=50))
    assert scorer.score(make_run({"q": ["a"]}, depth=100)).values.tolist() == [[1.0]]


def test_document_ids_with_white_space_are_refused(make_qrels) -> None:
    with pytest.raises(DataError, match="must not contain whitespace"):
        RunScorer(make_qrels([("q", " 1", 1)]), parse_measures(["AP"]))
