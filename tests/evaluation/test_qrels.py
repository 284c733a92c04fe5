import gzip
from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError, FormatError, UsageError
from builder.evaluation.runs.qrels import check_qrels, read_qrels

REAL = Path(__file__).parents[3] / "shared" / "data" / "longeval-web"


def test_a_trec_file_is_sorted(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q2 0 d1 1\r\nq1 0 d2 0\n\nq1 0 d1 2\n")
    assert read_qrels(path).rows() == [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d1", 1)]


def test_a_pair_judged_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 d1 1\nq1 0 d2 1\nq1 0 d1 1\n")
    with pytest.raises(FormatError, match=r"line 3: duplicate document"):
        read_qrels(path)


def snapshot(folder: Path) -> Path:
    rows = {"query_id": ["qb", "qa", "qa"], "doc_id": ["d1", "d2", "d1"], "grade": [1, 0, 2]}
    pl.DataFrame(rows).with_columns(pl.col("grade").cast(pl.UInt8), score=0.5).write_parquet(
        folder / "qrels.parquet"
    )
    queries = {"query_id": ["qa", "qb"], "split": ["train", "heldout"]}
    pl.DataFrame(queries).write_parquet(folder / "queries.parquet")
    return folder / "qrels.parquet"


def test_a_snapshot_of_a_collection(tmp_path: Path) -> None:
    path = snapshot(tmp_path)
    qrels = read_qrels(path)
    assert qrels.rows() == [("qa", "d1", 2), ("qa", "d2", 0), ("qb", "d1", 1)]
    assert qrels.schema["grade"] == pl.Int32
    assert read_qrels(path, ["heldout"]).rows() == [("qb", "d1", 1)]
    assert read_qrels(path, ["heldout", "train"]).rows() == qrels.rows()
    assert read_qrels(path, []).is_empty()


def test_wrong_tables(tmp_path: Path) -> None:
    path = snapshot(tmp_path)
    with pytest.raises(UsageError, match="expected a Parquet file, found none"):
        read_qrels(tmp_path / "absent.parquet")
    pl.DataFrame({"query_id": ["q"]}).write_parquet(path)
    with pytest.raises(FormatError, match="Parquet table with query_id, doc_id, grade"):
        read_qrels(path)
    path.write_bytes(b"not parquet")
    with pytest.raises(FormatError, match="Parquet table"):
        read_qrels(path)
    twice = {"query_id": ["q", "q"], "doc_id": ["d", "d"], "grade": [1, 2]}
    pl.DataFrame(twice).write_parquet(path)
    with pytest.raises(DataError, match="several grades for query 'q' and document 'd'"):
        read_qrels(path)
    half = {"query_id": ["q"] * 3, "doc_id": ["d", "e", "f"], "grade": [1.0, 0.5, 1.5]}
    pl.DataFrame(half).write_parquet(path)
    message = "qrels.parquet: expected integers as grades, found 0.5 for query 'q' and document 'e'"
    with pytest.raises(DataError, match=message):
        read_qrels(path)
    text = tmp_path / "qrels.txt"
    text.write_text("q 0 d 1\n")
    with pytest.raises(UsageError, match=r"only supported for the qrels\.parquet"):
        read_qrels(text, ["test"])


@pytest.mark.parametrize("column", ["query_id", "doc_id", "grade"])
def test_every_row_needs_a_query_a_document_and_a_grade(column: str) -> None:
    rows = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "e"], "grade": [1, 0]})
    holed = rows.with_columns(
        pl.when(pl.col("doc_id") == "e").then(None).otherwise(pl.col(column)).alias(column)
    )
    with pytest.raises(DataError) as caught:
        check_qrels(holed, "June")
    assert str(caught.value) == (
        "June: every row must have a query, a document and a grade; found nulls"
    )


def test_judgements_in_memory_are_cast_and_sorted() -> None:
    """A document may be judged for several queries, and ids may be numbers."""
    rows = pl.DataFrame({"grade": [2.0, 0.0, -1.0], "doc_id": [7, 8, 7], "query_id": [2, 1, 1]})
    found = check_qrels(rows, "June")
    assert found.schema == {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int32}
    assert found.rows() == [("1", "7", -1), ("1", "8", 0), ("2", "7", 2)]
    several = pl.concat([rows, rows.tail(2)])
    with pytest.raises(DataError) as caught:
        check_qrels(several, "June")
    assert str(caught.value) == (
        "June: expected one grade per query and document, found several grades for query '1' and "
        "document '8'"
    )


def test_the_size_of_a_trec_file_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 d1 1\n")
    assert read_qrels(path, max_bytes=10).height == 1
    with pytest.raises(FormatError, match="expected at most 9 bytes after decompression"):
        read_qrels(path, max_bytes=9)


@pytest.mark.skipif(not REAL.is_dir(), reason="the published releases are not here")
def test_the_broken_release_is_refused_and_the_repaired_one_is_read() -> None:
    with pytest.raises(FormatError, match="duplicate document"):
        read_qrels(REAL / "2022-06_qrels_broken_release.txt.gz")
    repaired = REAL / "2022-06_qrels.txt.gz"
    lines = gzip.decompress(repaired.read_bytes()).split(b"\n")
    assert read_qrels(repaired).height == sum(bool(line.strip()) for line in lines)
