import gzip
from pathlib import Path

import polars as pl
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DataError, UsageError
from builder.trec.runs import Run, read_run, write_run

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def scored(*rows: tuple[str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_order_is_by_score_then_by_document_descending() -> None:
    run = Run.from_scores(
        scored(("q2", "a", 1.0), ("q1", "a", 1.0), ("q1", "b", 3.0), ("q1", "c", 1.0)), "t"
    )
    assert run.ranking.drop("score").rows() == [
        ("q1", "b", 1),
        ("q1", "c", 2),
        ("q1", "a", 3),
        ("q2", "a", 1),
    ]


def test_scores_are_compared_as_32_bit_floats() -> None:
    run = Run.from_scores(scored(("q", "a", 1.0 + 1e-9), ("q", "b", 1.0)), "t")
    assert run.ranking["doc_id"].to_list() == ["b", "a"]
    assert run.ranking["score"].to_list() == [1.0, 1.0 + 1e-9]


close = st.sampled_from(
    [0.0, -0.0, 1.0, 1 + 1e-9, 1 + 1e-6, -1e-50, 1e39, 2e39, float("inf"), -3.5]
)
names = st.text(st.sampled_from("aAbZz09é€-_"), min_size=1, max_size=3)


@given(st.dictionaries(names, close | st.floats(allow_nan=False), min_size=1, max_size=7))
def test_ranks_are_those_of_trec_eval(documents: dict[str, float]) -> None:
    # one query per document, in which it alone is relevant: the reciprocal rank tells its rank
    truth = {f"q{i}": {doc: 1} for i, doc in enumerate(documents)}
    evaluator = pytrec_eval.RelevanceEvaluator(truth, {"recip_rank"})
    found = evaluator.evaluate(dict.fromkeys(truth, documents))
    expected = {doc: 1 / found[f"q{i}"]["recip_rank"] for i, doc in enumerate(documents)}
    run = Run.from_scores(scored(*[("q", d, s) for d, s in documents.items()]), "t")
    ranks = dict(run.ranking.select("doc_id", "rank").rows())
    assert ranks == pytest.approx(expected)


def test_depth_cuts_after_ranking_and_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q Q0 low 1 1 mine\nq Q0 high 2 3 mine\nq Q0 middle 3 2 mine\n")
    run = read_run(path, depth=2)
    assert run.ranking["doc_id"].to_list() == ["high", "middle"]
    assert (run.tag, run.depth) == ("mine", 2)
    assert run.truncate(1).ranking["doc_id"].to_list() == ["high"]
    assert run.truncate(2) is run
    assert read_run(path, None).depth is None
    for deeper, requested in ((3, "depth 3"), (None, "unlimited depth")):
        with pytest.raises(UsageError) as caught:
            run.truncate(deeper)
        assert str(caught.value) == (
            f"run mine: cannot extend to {requested}, because the run was truncated at depth 2; "
            "read the file again with a larger depth"
        )
    scores = scored(("q", "a", 1.0), ("q", "b", 2.0))
    assert Run.from_scores(scores, "t", 1).ranking["doc_id"].to_list() == ["b"]
    whole = Run.from_scores(scores, "t")
    assert (whole.depth, whole.truncate(1).depth, whole.truncate(1).tag) == (None, 1, "t")
    assert dict(whole.ranking.schema)["rank"] == pl.UInt32
    with pytest.raises(UsageError, match="expected a run depth of at least 1, found 0"):
        read_run(path, 0)
    with pytest.raises(UsageError, match="expected a run depth of at least 1, found -1"):
        run.truncate(-1)
    with pytest.raises(UsageError, match="expected a run depth of at least 1, found 0"):
        Run.from_scores(scores, "t", 0)


def test_runs_are_read_up_to_a_thousand_documents(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(f"q Q0 d{n} 1 {n} t{n}\n" for n in range(1002)))
    run = read_run(path)
    assert (run.tag, run.depth, run.ranking.height) == ("t0", 1000, 1000)
    assert run.ranking["doc_id"].to_list()[-1] == "d2"


def test_an_empty_run_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("")
    run = read_run(path)
    assert run.ranking.is_empty()
    assert run.tag == "empty.txt"


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2"]), names),
        close | st.floats(allow_nan=False),
        max_size=8,
    ),
    st.sampled_from(["run.txt", "run.txt.gz"]),
)
def test_written_runs_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, pairs: dict[tuple[str, str], float], name: str
) -> None:
    path = tmp_path_factory.mktemp("run") / name
    run = Run.from_scores(scored(*[(q, d, s) for (q, d), s in pairs.items()]), "t", 5)
    write_run(run, path)
    assert read_run(path, 5).ranking.equals(run.ranking)
    first = path.read_bytes()
    write_run(run, path)
    assert path.read_bytes() == first


def test_the_format_of_a_written_run(tmp_path: Path) -> None:
    run = Run.from_scores(scored(("q", "a", 0.1), ("q", "b", 1e-7)), "my{}tag")
    write_run(run, tmp_path / "new" / "run.gz")
    text = gzip.decompress((tmp_path / "new" / "run.gz").read_bytes()).decode()
    assert text == "q Q0 a 1 0.1 my{}tag\nq Q0 b 2 1e-07 my{}tag\n"


def test_frames_are_checked() -> None:
    with pytest.raises(DataError, match="duplicate document 'a' for query 'q'"):
        Run.from_scores(scored(("q", "a", 1.0), ("q", "a", 2.0)), "t")
    with pytest.raises(DataError, match="a score in every row"):
        Run.from_scores(scored(("q", "a", float("nan"))), "t")
    with pytest.raises(DataError, match="a score in every row"):
        Run.from_scores(pl.DataFrame({"query_id": ["q"], "doc_id": [None], "score": [1]}), "t")
    with pytest.raises(DataError, match="run t: expected a query id, a document id and a score"):
        Run.from_scores(pl.DataFrame({"query_id": [None], "doc_id": ["d"], "score": [None]}), "t")
    for tag in ("", "two words"):
        with pytest.raises(UsageError, match="without whitespace"):
            Run.from_scores(scored(), tag)


@pytest.mark.parametrize(
    ("query", "document", "found"),
    [("q", "a b", "doc_id 'a b'"), ("", "a", "query_id ''"), ("q\n", "a", "query_id 'q\\n'")],
)
def test_ids_with_white_space_cannot_be_written(
    tmp_path: Path, query: str, document: str, found: str
) -> None:
    scores = {"query_id": ["p", query], "doc_id": ["c", document], "score": [1.0, 0.5]}
    path = tmp_path / "run.txt"
    with pytest.raises(DataError) as error:
        write_run(Run.from_scores(pl.DataFrame(scores), "t"), path)
    assert str(error.value) == f"{path}: expected ids without whitespace in a run, found {found}"
    assert not path.exists()
