import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DataError, FormatError, UsageError
from builder.evaluation.baselines.fusion import read_scores, reciprocal_rank_fusion, rerank
from builder.evaluation.runs.dates import check_distinct_runs
from builder.trec.runs import Run, read_run, write_run
from tests.cli.test_cli import run as run_command


def ranking(run: Run, query: str = "q") -> list[str]:
    return run.ranking.filter(query_id=query)["doc_id"].to_list()


def test_fusion_by_hand(make_run) -> None:
    first = make_run({"q": ["a", "b", "c"], "only": ["x"]})
    second = make_run({"q": ["c", "a"]})
    fused = reciprocal_rank_fusion([first, second], k=60, tag="both", depth=2)
    assert fused.tag == "both"
    assert fused.depth == 2
    assert ranking(fused) == ["a", "c"]
    assert ranking(fused, "only") == ["x"]
    scores = dict(fused.ranking.filter(query_id="q").select("doc_id", "score").rows())
    assert scores == pytest.approx({"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61})


def test_the_constant_moves_documents(make_run) -> None:
    runs = [make_run({"q": ["a", "b", "x"]}), make_run({"q": ["c", "b", "y"]})]
    assert ranking(reciprocal_rank_fusion(runs, k=0))[0] == "c"  # tied with a and b, largest id
    assert ranking(reciprocal_rank_fusion(runs, k=60))[0] == "b"


ranks = st.lists(st.permutations("abcdef").map(lambda p: p[:4]), min_size=1, max_size=4)


@given(ranks, st.integers(0, 100))
def test_fusion_is_the_sum_of_its_definition(orders: list[list[str]], k: int) -> None:
    runs = [
        Run.from_scores(
            pl.DataFrame({"query_id": "q", "doc_id": order, "score": [4.0, 3.0, 2.0, 1.0]}), "t"
        )
        for order in orders
    ]
    expected = {
        d: sum(1 / (k + o.index(d) + 1) for o in orders if d in o) for o in orders for d in o
    }
    fused = reciprocal_rank_fusion(runs, k=k)
    assert dict(fused.ranking.select("doc_id", "score").rows()) == pytest.approx(expected)


def test_a_written_fusion_reads_back_in_the_same_order(make_run, tmp_path: Path) -> None:
    runs = [make_run({"q": ["a", "b", "c", "d"]}), make_run({"q": ["b", "a", "d", "c"]})]
    fused = reciprocal_rank_fusion(runs)
    write_run(fused, tmp_path / "rrf.txt")
    assert ranking(read_run(tmp_path / "rrf.txt")) == ranking(fused) == ["b", "a", "d", "c"]


def test_nothing_to_fuse(make_run) -> None:
    for runs, k in (([], 60), ([make_run({})], -1)):
        with pytest.raises(UsageError) as caught:
            reciprocal_rank_fusion(runs, k=k)
        assert str(caught.value) == (
            f"rank fusion: expected at least one run and k >= 0, found {len(runs)} runs and k={k}"
        )
    assert reciprocal_rank_fusion([make_run({})]).ranking.is_empty()


def scores(rows: list[tuple[str, str, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def test_runs_without_a_common_query_are_not_fused(make_run) -> None:
    runs = [make_run({"q1": ["a"]}), make_run({"1": ["b"]})]
    with pytest.raises(DataError, match="have no query in common; expected runs for the same snap"):
        reciprocal_rank_fusion(runs)


def test_runs_without_a_common_document_are_not_fused(make_run) -> None:
    runs = [make_run({"q": ["1", "2"]}), make_run({"q": ["2", "3"]}), make_run({"q": ["3"]})]
    assert ranking(reciprocal_rank_fusion(runs)) == ["3", "2", "1"]
    with pytest.raises(DataError) as caught:
        reciprocal_rank_fusion([*runs, make_run({"q": ["doc1"]}, "dense")])
    assert str(caught.value) == (
        "rank fusion: run dense has no document in common with the runs before it; expected runs "
        "for the same snapshot, with the same document ids"
    )


def test_rerank_moves_scored_documents_of_the_top(make_run) -> None:
    run = make_run({"q": ["a", "b", "c", "d", "e"], "p": ["a", "b"]})
    given_scores = scores(
        [("q", "c", 0.9), ("q", "a", 0.1), ("q", "e", 5.0), ("q", "z", 9.0), ("x", "a", 1.0)]
    )
    again = rerank(run, given_scores, top=4, tag="model")
    # e is below the top 4, z was not retrieved, b and d have no score
    assert ranking(again) == ["c", "a", "b", "d", "e"]
    assert ranking(again, "p") == ["a", "b"]
    assert again.ranking.filter(query_id="q")["score"].to_list() == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert ranking(rerank(run, given_scores, top=5, depth=2)) == ["e", "c"]


def test_a_hundred_documents_are_reranked_unless_another_number_is_given(make_run) -> None:
    names = [f"d{number:03}" for number in range(102)]
    run = make_run({"q": names})
    again = rerank(run, scores([("q", "d100", 2.0), ("q", "d099", 1.0)]))
    assert ranking(again) == ["d099", *names[:99], "d100", "d101"]
    assert (again.tag, again.depth) == ("rerank", None)
    fused = reciprocal_rank_fusion([run])
    assert (fused.tag, fused.depth, ranking(fused)) == ("rrf", None, names)
    assert fused.ranking["score"][0] == pytest.approx(1 / 61)


def test_ties_keep_the_old_order(make_run) -> None:
    run = make_run({"q": ["a", "b", "c"]})
    same = scores([("q", d, 1.0) for d in "abc"])
    assert ranking(rerank(run, same)) == ["a", "b", "c"]


def test_wrong_scores(make_run) -> None:
    run = make_run({"q": ["a"]})
    with pytest.raises(DataError, match="a score in every row"):
        rerank(run, scores([("q", "a", float("nan"))]))
    with pytest.raises(UsageError, match="at least 1"):
        rerank(run, scores([("q", "a", 1.0)]), top=0)
    for other in (scores([("Q", "a", 1.0), ("q", "A", 1.0)]), scores([("q", "a", 1.0)]).clear()):
        with pytest.raises(DataError) as error:
            rerank(run, other)
        assert str(error.value) == (
            "expected scores for query-document pairs of the run, found none; compare the ids in "
            "both files"
        )
    assert rerank(make_run({}), scores([("q", "a", 1.0)])).ranking.is_empty()


def test_scores_files_have_three_or_six_columns(tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv.gz"
    path.write_bytes(gzip.compress(b"q\ta\t0.5\nq\tb\t-1\n"))
    assert read_scores(path).rows() == [("q", "a", 0.5), ("q", "b", -1.0)]
    path.write_bytes(b"q Q0 a 1 0.5 t\n")
    assert read_scores(path).rows() == [("q", "a", 0.5)]
    path.write_bytes(b"q a 1\nq b\n")
    with pytest.raises(FormatError, match="line 2: expected the 3 columns"):
        read_scores(path)


def test_runs_of_different_snapshots_and_repeated_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("a/2022-06.txt", "b/202206/run.txt", "c/2022_07/fr/run.txt", "d/snapshot-02.txt", "e")
    june, same, july, number, none = (tmp_path / name for name in names)
    for path in (june, same, july, number, none):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("q Q0 d 1 1 t\n")
    out = tmp_path / "out_2022-09.txt"
    assert run_command("fuse", june, same, none, "--out", out) == 0
    assert capsys.readouterr().err == ""
    assert run_command("fuse", june, same, july, number, "--out", out) == 0
    assert capsys.readouterr().err == (
        "warning: expected runs of the same snapshot, found paths that name 2022-06, 2022-07, "
        "snapshot-2; results of different snapshots should not be combined\n"
    )
    with pytest.raises(UsageError) as caught:
        check_distinct_runs([june, same, tmp_path / "b" / ".." / "a" / "2022-06.txt"])
    assert str(caught.value) == (
        f"{tmp_path}/b/../a/2022-06.txt: expected distinct runs, found this run twice"
    )
    assert run_command("fuse", june, june, "--out", out) == 2
    assert "expected distinct runs" in capsys.readouterr().err
