"""Attacks by what a format allows: bombs of columns, headers, tags, cells and numbers."""

import gzip
import json
import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder import BuildReport
from builder.documents.url_lists import read_url_list
from builder.errors import FormatError, LongEvalError
from builder.evaluation.runs.qrels import read_qrels
from builder.io.sources import Source
from builder.judging.assessments import read_assessments
from builder.judging.sheets import write_sheet
from builder.queries.texts import read_query_texts
from tests.security.tools import SCRIPT, at_most, read_crawl, read_log

LONG = "x" * 2_000_000


def _repeated(column: str, rows: int, others: dict[str, list[object]]) -> pa.Table:
    """A table whose column names one long text many times."""
    indices = pa.array([0] * rows, pa.int32())
    return pa.table({**others, column: pa.DictionaryArray.from_arrays(indices, pa.array([LONG]))})


def _parquet(table: pa.Table, path: Path) -> bytes:
    pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=10**8)
    assert path.stat().st_size < 2**20
    return path.read_bytes()


def _warc(body: bytes, headers: bytes = b"Content-Type: text/html\r\n") -> bytes:
    """A WARC file with one response."""
    http = b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + body
    head = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://a.example/\r\n"
        b"WARC-Date: 2022-06-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    length = b"Content-Length: " + str(len(http)).encode()
    return head + length + b"\r\n\r\n" + http + b"\r\n\r\n"


def test_a_bomb_of_texts_in_a_parquet_crawl_stops(tmp_path: Path) -> None:
    rows = 20_000
    others = {"url": [f"https://a.example/{n}" for n in range(rows)], "timestamp": [5] * rows}
    data = _parquet(_repeated("text", rows, others), tmp_path / "bomb")
    with at_most(60):
        ledger = read_crawl(tmp_path, data)
    assert ledger.rejected["decompression_bomb"] == 1
    assert ledger.rows_in < 1000


def test_a_bomb_of_queries_in_a_parquet_log_stops(tmp_path: Path) -> None:
    rows = 20_000
    others = {"time": [5] * rows, "results": [["https://a.example/"]] * rows}
    data = _parquet(_repeated("query", rows, others), tmp_path / "bomb")
    with at_most(60):
        ledger = read_log(tmp_path, data)
    assert ledger.rejected["decompression_bomb"] == 1
    assert ledger.rejected["query_too_long"] == ledger.rows_in - 1 < 1000


def test_a_table_of_more_rows_than_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queries.parquet"
    same = pl.select(query_id=pl.repeat("q", 2**22 + 1), text=pl.lit("eau"))
    same.write_parquet(path)
    assert path.stat().st_size < 2**20
    with pytest.raises(
        FormatError, match=r"declares 4,194,305 rows but has only .* bytes; expected at most one"
    ):
        read_query_texts(path)
    same.tail(-1).write_parquet(path)
    assert read_query_texts(path).height == 2**22


def test_a_bomb_in_a_response_stops(tmp_path: Path) -> None:
    body = gzip.compress(b"<p>" + b"a " * 2**27, 9)
    with at_most(60):
        ledger = read_crawl(tmp_path, _warc(body, b"Content-Encoding: gzip\r\n"))
    assert ledger.rows_in == sum(ledger.rejected.values()) == 1


def test_endless_headers_are_rejects(tmp_path: Path) -> None:
    with at_most(60):
        ledger = read_crawl(tmp_path, _warc(b"<p>Un texte.", b"X: y\r\n" * 500_000))
    assert ledger.rows_in == ledger.rows_out + sum(ledger.rejected.values())


@pytest.mark.parametrize("tag", [b"<div>", b"<table><tr><td>", b"<b><i>", b"<svg><math>"])
def test_deep_pages_end(tmp_path: Path, tag: bytes) -> None:
    with at_most(60):
        ledger = read_crawl(tmp_path, _warc(tag * 50_000 + b"Un texte."))
    assert ledger.rows_in == 1


@pytest.mark.parametrize(
    "attribute",
    [b" a%d=1", b' a%d="<"', b" a%d='>'", b'a%d=""', b" =a%d", b"/a%d", b"\n<a%d", b'a%d="" b%d'],
)
def test_a_page_of_attributes_ends(tmp_path: Path, attribute: bytes) -> None:
    count = attribute.count(b"%d")
    attributes = b"".join(attribute % ((n,) * count) for n in range(100_000))
    with at_most(60):
        ledger = read_crawl(tmp_path, _warc(b"<p " + attributes + b">Un texte."))
    assert ledger.rejected == {"too_many_attributes": 1}


def test_a_cell_that_never_ends_is_a_reject(tmp_path: Path) -> None:
    data = b'time,query,results,clicks\n5,"' + b"x\n" * 2**16
    with at_most(60):
        ledger = read_log(tmp_path, data, max_line_bytes=2**16)
    assert ledger.rows_out == 0 < ledger.rows_in


def test_a_line_that_never_ends_is_one_reject(tmp_path: Path) -> None:
    with at_most(60):
        ledger = read_log(tmp_path, b'{"query": "' + b"x" * 2**26, max_line_bytes=2**20)
    assert ledger.rejected["line_too_long"] == ledger.rows_in == 1


def test_a_session_of_a_million_clicks_ends(tmp_path: Path) -> None:
    data = b"0\t0\tQ\t17\t0\t1\t2\n" + b"0\t3\tC\t9\n" * 300_000
    with at_most(60):
        ledger = read_log(tmp_path, data)
    assert ledger.rejected["click_not_shown"] == 300_000


@pytest.mark.parametrize("grade", ["9" * 5000, "1e9", "-" + "9" * 40, "0x10", "१"])
def test_grades_that_are_no_small_numbers_are_errors(tmp_path: Path, grade: str) -> None:
    (tmp_path / "q").write_text(f"q 0 d {grade}\n", encoding="utf-8")
    with at_most(30), pytest.raises(LongEvalError, match="line 1"):
        read_qrels(tmp_path / "q")


def test_addresses_on_lists_are_no_patterns(tmp_path: Path) -> None:
    (tmp_path / "deny").write_text("(a+)+$\n", encoding="utf-8")
    with at_most(30), pytest.raises(FormatError, match="line 1"):
        read_url_list([Source(tmp_path / "deny", "deny")])


def test_urls_with_other_schemes_are_rejects(tmp_path: Path) -> None:
    schemes = ("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://a/", "//")
    lines = "".join(
        json.dumps({"url": url, "timestamp": 5, "title": "", "text": "Un texte."}) + "\n"
        for url in schemes
    )
    ledger = read_crawl(tmp_path, lines.encode())
    assert (ledger.rows_in, ledger.rows_out) == (len(schemes), 0)


def _sheet(folder: Path, text: str, name: str) -> str:
    pairs = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"]})
    queries = pl.LazyFrame({"query_id": ["q"], "text": [text]})
    page = {"doc_id": ["d"], "url": ["https://a.example/"], "title": [text], "text": [text]}
    write_sheet(pairs, folder / name, queries=queries, documents=pl.LazyFrame(page))
    return (folder / name).read_text("utf-8")


def test_judging_pages_run_no_text(tmp_path: Path) -> None:
    page = _sheet(tmp_path, f"</script>{SCRIPT}<img src=x onerror=alert(1)>", "j.html")
    assert SCRIPT not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == page.count("<script")
    assert "Content-Security-Policy" in page


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1"])
def test_sheets_hold_no_formulas(tmp_path: Path, text: str) -> None:
    for line in _sheet(tmp_path, text, "s.tsv").splitlines()[1:]:
        for cell in line.split("\t"):
            assert not re.match(r"\s*[=+@-]", cell), cell


@pytest.mark.parametrize("grade", ["=1+1", "1e400", "99999999999999999999", "<b>", "--"])
def test_sheets_that_come_back_are_checked(tmp_path: Path, grade: str) -> None:
    text = _sheet(tmp_path, "eau", "s.tsv").splitlines()
    cells = text[1].split("\t")
    cells[2:4] = ["ann", grade]
    (tmp_path / "s.tsv").write_text("\n".join([text[0], "\t".join(cells)]) + "\n", "utf-8")
    with pytest.raises(FormatError, match="line 2"):
        read_assessments([Source(tmp_path / "s.tsv", "s.tsv")])


def test_control_characters_do_not_leave_ingestion(built: BuildReport) -> None:
    assert built.version is not None
    for path in built.version.rglob("*.parquet"):
        frame = pl.read_parquet(path)
        for column in frame.get_columns():
            if column.dtype == pl.String and column.name in {"text", "title", "label"}:
                assert not column.str.contains(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]").any(), path
