"""Per-query scores of other tools: trec_eval -q and CSV give the same evaluation as the run."""

import gzip
import os
from pathlib import Path

import pytest

from builder.errors import FormatError, UsageError
from builder.evaluation import EvaluationParameters, evaluate_paths
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.runs.score_tables import (
    is_score_table,
    read_run_scores,
    read_score_table,
)
from builder.trec.runs import read_run

QRELS = "q1 0 a 1\nq1 0 b 2\nq2 0 a 1\nq3 0 a 1\n"
RUN = "q1 Q0 a 1 3 x\nq1 Q0 c 2 2 x\nq2 Q0 c 1 3 x\nq2 Q0 a 2 2 x\nq9 Q0 a 1 1 x\n"
TREC_EVAL = (
    "runid\tall\tx\nmap\tq1\t0.5\nP_1\tq1\t1.0\nmap\tq2\t0.5\nP_1\tq2\t0.0\n"
    "gm_map\tq2\t0.5\nP_1\tq9\t0\nmap \tall\t0.5000\n"
)
CSV = "query_id,measure,score\nq1,MAP,0.5\nq1,P@1,1\nq2,AP,0.5\nq2,P@1,0\nq9,P@1,0\n"
PARAMETERS = EvaluationParameters(measures=("AP", "P@1"), resamples=50)


@pytest.mark.parametrize(("name", "text"), [("s.eval", TREC_EVAL), ("s.csv", CSV)])
def test_a_table_is_evaluated_as_its_run(tmp_path: Path, name: str, text: str) -> None:
    qrels = tmp_path / "2022-06.qrels"
    qrels.write_text(QRELS)
    run = tmp_path / "a" / "s_2022-06.txt"
    table = tmp_path / "b" / name.replace("s.", "s_2022-06.")
    for path, content in ((run, RUN), (table, text)):
        path.parent.mkdir()
        path.write_text(content)
    assert is_score_table(table)
    assert not is_score_table(run)
    by_run, by_table = (
        evaluate_paths({"2022-06": qrels}, [path], PARAMETERS) for path in (run, table)
    )
    assert by_table.systems == ("s",)
    # q3 is missing and counts 0; q9 was judged by nobody
    assert by_table.effectiveness.equals(by_run.effectiveness)
    assert by_table.query_scores.equals(by_run.query_scores)
    assert by_table.effectiveness["value"][0] == pytest.approx(1 / 3)
    with pytest.raises(UsageError, match=r"expected scores for RR, found AP, P@1"):
        evaluate_paths({"2022-06": qrels}, [table], EvaluationParameters(measures=("RR",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map\tq1\tnan\n", "finite value"),
        (
            "map q2 0.5\nmap q2 0.5\nmap q1 0.5\nP_1 q1 1\nmap q1 0.6\n",
            "expected one score per query and measure, found several values of AP for query 'q1'$",
        ),
        (
            "map q2 1.5\nmap q1 7\n",
            "expected scores of AP from 0 to 1, found 7.0 for query 'q1'; divide percentages by",
        ),
        (
            "map\tq1\t0.5\n\nmap q1\n",
            r"s\.eval, line 3: expected `measure query value`, found 'map q1'$",
        ),
        ("map\tq1\t0.5\nall\r\n", "line 2: expected `measure query value`, found 'all'$"),
        (f"map\tq1\t0.5\n{'x ' * 41}\n", f"line 2: .*, found '{'x ' * 40}'$"),
        (
            f"map\tq1\t{'x' * 41}\n",
            f"line 1: expected a finite value in column 3, found '{'x' * 40}'$",
        ),
        ("map\tq1\tinf\n", "line 1: expected a finite value in column 3, found 'inf'$"),
        (
            "query_id,measure,score\nq1,AP,high\n",
            r"s\.eval, line 2: expected a finite number in column 'score', found 'high'$",
        ),
        ("query_id,measure,score\nq1,AP,\n", "every row must have a query"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.eval"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_score_table(path)


@pytest.mark.parametrize(
    "header",
    [
        "query_id;measure;score",
        "qid,measure,value",
        "query_id\tmeasure\tscore",
        '"measure" "value"',
    ],
)
def test_a_table_with_other_columns_is_refused(tmp_path: Path, header: str) -> None:
    qrels, table = tmp_path / "2022-06.qrels", tmp_path / "s_2022-06.csv"
    qrels.write_text(QRELS)
    table.write_text(f"{header}\r\nq1 AP 0.5\r\n")
    with pytest.raises(FormatError) as caught:
        evaluate_paths({"2022-06": qrels}, [table], PARAMETERS)
    assert str(caught.value) == (
        f"{table}: expected `measure query value` as printed by trec_eval -q, or CSV with the "
        f"columns query_id, measure and score, found the header {header!r}"
    )


def test_a_table_with_the_columns_in_another_order_is_refused(tmp_path: Path) -> None:
    """The output of `ir_measures -q`."""
    qrels, table = tmp_path / "2022-06.qrels", tmp_path / "s_2022-06.txt"
    qrels.write_text(QRELS)
    table.write_text("q1\tAP\t0.5\n")
    with pytest.raises(UsageError) as caught:
        evaluate_paths({"2022-06": qrels}, [table], PARAMETERS)
    assert str(caught.value) == (
        f"{table}: expected scores for AP, found no measures; the expected format is "
        "`measure query value` as printed by trec_eval -q, or CSV with the columns query_id, "
        "measure and score"
    )


def test_a_query_with_only_some_of_the_measures_is_refused(tmp_path: Path) -> None:
    qrels, table = tmp_path / "2022-06.qrels", tmp_path / "s_2022-06.eval"
    qrels.write_text(QRELS)
    table.write_text("map\tq1\t0.5\nP_1\tq1\t1.0\nmap\tq2\t0.5\n")
    with pytest.raises(FormatError, match=r"expected a score of P@1 for query 'q2', found none"):
        evaluate_paths({"2022-06": qrels}, [table], PARAMETERS)


def test_spaces_around_columns_and_values_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text('query_id, measure , "score"\nq1, "MAP",0.5 \n q2,AP, 1\n')
    assert is_score_table(path)
    assert read_score_table(path).rows() == [("q1", "AP", 0.5), ("q2", "AP", 1.0)]


def test_columns_in_another_case_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("query_id,measure,score,System\nq1,AP,0.5,A\n")
    with pytest.raises(FormatError) as caught:
        read_score_table(path)
    assert str(caught.value) == f"{path}, line 1: expected the column 'system', found 'System'"


@pytest.mark.parametrize(
    ("columns", "first", "second", "expected", "found"),
    [
        ("system", "A", "B", "one system", "A, B"),
        ("snapshot", "2022-06", "2022-07", "one snapshot (2022-06)", "2022-06, 2022-07"),
        ("snapshot", "2022-07", "2022-07", "one snapshot (2022-06)", "2022-07"),
    ],
)
def test_a_table_of_several_systems_or_another_snapshot_is_refused(
    tmp_path: Path, columns: str, first: str, second: str, expected: str, found: str
) -> None:
    qrels, table = tmp_path / "2022-06.qrels", tmp_path / "s_2022-06.csv"
    qrels.write_text(QRELS)
    table.write_text(f"{columns},query_id,measure,score\n{first},q1,AP,1\n{second},q2,AP,0\n")
    with pytest.raises(FormatError) as caught:
        evaluate_paths({"2022-06": qrels}, [table], EvaluationParameters(("AP",), resamples=0))
    assert str(caught.value) == (
        f"{table}: expected scores of {expected}, found {found}; write one file per system and "
        "snapshot, named after both"
    )


def test_a_table_that_states_its_system_and_snapshot_is_read(tmp_path: Path) -> None:
    qrels, table = tmp_path / "2022-06.qrels", tmp_path / "s_2022-06.csv"
    qrels.write_text(QRELS)
    table.write_text(
        "snapshot,system,query_id,measure,score\n2022-06,S,q1,AP,1\n2022-06,S,q2,AP,0.5\n"
    )
    found = evaluate_paths({"2022-06": qrels}, [table], EvaluationParameters(("AP",), resamples=0))
    assert found.systems == ("s",)
    assert found.effectiveness["value"][0] == pytest.approx(0.5)


@pytest.mark.parametrize("text", ["query_id,measure,score\nq1,AP,{}\n", "map q1 {}\n"])
def test_scores_out_of_range_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.eval"
    for score in (7.0, 1.001, -0.5):
        path.write_text(text.format(score))
        with pytest.raises(FormatError) as caught:
            read_score_table(path)
        assert str(caught.value) == (
            f"{path}: expected scores of AP from 0 to 1, found {score} for query 'q1'; divide "
            "percentages by 100"
        )
    for score in (1.0000000000000002, 1, 0, -0.0):
        path.write_text(text.format(score))
        assert read_score_table(path).rows() == [("q1", "AP", score)]
    path.write_text("query_id,measure,score\nq1,ir_measures:NumRet,12\n")
    assert read_score_table(path)["score"].to_list() == [12.0]


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("map q1 0.5\nx\n", True),
        ("\ufeff\n \r\nP_10\tq1\t0.5\r\n", True),
        ("query_id,measure,score\n", True),
        ("measure;qid;value\n", True),
        ('"score" "measure"\n', True),
        ("measure,query_id,grade\n", False),
        ("query_id,score\n", False),
        ("map q1\n", False),
        ("map all 0.5 x\n", False),
        ("0 q1 0.5\n", False),
        ("q1 Q0 d1 1 0.5 t\n", False),
        ("", False),
        ("\n", False),
    ],
)
def test_what_is_taken_for_a_table_of_scores(tmp_path: Path, text: str, is_table: bool) -> None:
    path = tmp_path / "s.txt"
    for data in (text.encode(), gzip.compress(text.encode())):
        path.write_bytes(data)
        assert is_score_table(path) is is_table
    assert not is_score_table(tmp_path)
    assert not is_score_table(tmp_path / "absent.txt")


def test_summaries_and_unknown_measures_of_trec_eval_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.eval"
    path.write_text(
        "runid all x y\nmap q2 0.5\n\nndcg_cut_10\tq1 1\ngm_map q1 0.1\nmap q1 -0.0000005\n"
        "map all 0.3\nnum_q all\n"
    )
    assert read_score_table(path).rows() == [
        ("q1", "AP", -0.0000005), ("q1", "nDCG@10", 1.0), ("q2", "AP", 0.5)
    ]  # fmt: skip


def test_scores_of_queries_that_were_not_judged_are_counted(make_qrels, tmp_path: Path) -> None:
    """q2 is missing, and three other queries have scores."""
    path = tmp_path / "s.eval"
    path.write_text("".join(f"map q{n} 0.{n}\nrecip_rank q{n} 1\n" for n in (3, 1, 4, 5, 6)))
    scorer = RunScorer(
        make_qrels([(query, "a", 1) for query in ("q1", "q2", "q3")]), parse_measures(["RR", "AP"])
    )
    scores = read_run_scores(path, scorer)
    assert scores.values.tolist() == [[1.0, 0.1], [0.0, 0.0], [1.0, 0.3]]
    assert (scores.missing.tolist(), scores.unjudged) == ([False, True, False], 3)
    path.write_text("map q1 0.1\nrecip_rank q4 0.1\nmap q3 0.3\n")
    with pytest.raises(FormatError) as caught:
        read_run_scores(path, scorer)
    assert str(caught.value) == f"{path}: expected a score of RR for query 'q1', found none"
    path.write_text("map q1 0.1\nP_5 q1 0.2\n")
    with pytest.raises(UsageError) as wrong:
        read_run_scores(path, scorer)
    assert str(wrong.value) == f"{path}: expected scores for RR, found AP, P@5"


def test_rows_without_a_system_or_a_snapshot_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("system,snapshot,query_id,measure,score\nA,2022-06,q,AP,1\n,,p,AP,0\n")
    assert read_score_table(path, "2022-06").rows() == [("p", "AP", 0.0), ("q", "AP", 1.0)]
    path.write_text("snapshot,query_id,measure,score\n,q,AP,1\n")
    assert read_score_table(path, "2022-06").height == 1
    path.write_text("snapshot,query_id,measure,score\n1,q,AP,1\n2,p,AP,1\n")
    with pytest.raises(FormatError) as caught:
        read_score_table(path)
    assert str(caught.value) == (
        f"{path}: expected scores of one snapshot, found 1, 2; write one file per system and "
        "snapshot, named after both"
    )


def test_a_named_pipe_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "2022-06.txt"
    os.mkfifo(path)
    assert not is_score_table(path)
    with pytest.raises(UsageError, match="expected a regular file, found a special file"):
        read_run(path)


def test_ids_end_at_ascii_white_space_as_in_runs(tmp_path: Path) -> None:
    """U+0085, U+00A0 and U+2028 are characters of an id: `runs check` and qrels read them so."""
    path = tmp_path / "s.eval"
    path.write_bytes("map\tq\x85\xa0\u2028 0.5\r\nmap q2 1\r\n".encode())
    table = read_score_table(path)
    assert table.select("query_id", "score").rows() == [("q2", 1.0), ("q\x85\xa0\u2028", 0.5)]
