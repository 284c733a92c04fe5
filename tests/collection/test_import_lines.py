"""Lines and documents of the files that an import reads, and those that it rejects."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports import import_release
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.lines import read_qrels, read_queries, read_url_list
from builder.collection.imports.pages import _iter_json_values, read_documents
from builder.runtime.limits import ResourceLimits
from tests.collection.progress import Heard
from tests.collection.release_files import rejects
from tests.collection.releases import opened, write


def test_lines_of_more_than_a_megabyte_are_rejected(tmp_path: Path) -> None:
    longest = "1\t" + "a" * (2**20 - 2)
    write(tmp_path / "q.txt", f"{longest}\n{longest}b\n3\tsel\n")
    log = ImportLog()
    found = read_queries(tmp_path / "q.txt", "q.txt", "test", log)
    assert found.select("query_id", "split", "line").rows() == [("1", "test", 1), ("3", "test", 3)]
    assert rejects(log, tmp_path) == [("line_too_long", "q.txt", 2, None)]
    assert log.records_read == 3


def test_a_file_that_is_cut_off_counts_as_one_more_record(tmp_path: Path) -> None:
    lines = "".join(f"{n} 0 {n * 7919 % 1009} 1\n" for n in range(1000))
    write(tmp_path / "q.txt.gz", gzip.compress(lines.encode())[:-2000])
    log = ImportLog()
    found = read_qrels(tmp_path / "q.txt.gz", "q", log)
    (reject,) = rejects(log, tmp_path)
    assert 0 < found.height < 1000
    assert reject[:2] == ("file_truncated", "q")
    assert (log.records_read, reject[2]) == (found.height + 1, found.height + 1)


def test_values_that_are_nested_too_deeply_are_no_json(tmp_path: Path) -> None:
    deep = '{"id": ' + "[" * 100_000
    write(tmp_path / "a.jsonl", f'{deep}\n{{"id": "2", "contents": "b"}}\n')
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.jsonl", "a", log, is_markup_escaped=False))
    assert found == [("2", "", "b", 2, "")]
    assert rejects(log, tmp_path) == [("not_json", "a", 1, None)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("[1]", "not_an_object"),
        ('{"contents": "a"}', "document_without_id"),
        ('{"id": true, "contents": "a"}', "document_without_id"),
        ('{"id": 1.5, "contents": "a"}', "document_without_id"),
        ('{"id": "1"}', "document_without_text"),
        ('{"id": "\\ud800", "contents": "a"}', "lone_surrogate"),
        ('{"id": "1", "contents": "a", "url": "\\ud800"}', "lone_surrogate"),
        ('{"id": "1", "title": "\\ud83d\\ude00", "contents": "a"}', None),
    ],
)
def test_records_of_json_that_are_no_documents(
    record: str, reason: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "a.json", f'{{"id": 7, "contents": "x"}}\n{record}')
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.json", "a", log, is_markup_escaped=False))
    assert found[0] == ("7", "", "x", 1, "")
    if reason is None:
        assert found[1:] == [("1", "\U0001f600", "a", 2, "")]
    assert [each[0] for each in rejects(log, tmp_path)] == ([] if reason is None else [reason])
    assert log.records_read == 2


PAGE = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"


def test_the_first_of_several_documents_with_one_id_counts(tmp_path: Path) -> None:
    home = tmp_path / "r/publish"
    for name, pages in (
        ("French/Documents/a.txt", (("1", "x"), ("1", "x"), ("1", "y"), ("2", "z"), ("4", ""))),
        ("French/Documents/b.txt", (("2", "z"), ("3", "w"))),
        ("English/Documents/a.txt", (("1", "X"), ("1", "Y"), ("9", "Q"), ("9", "Q"), ("2", ""))),
    ):
        write(home / name, "".join(PAGE.format(own, text) for own, text in pages))
    write(home / "French/Queries/train.tsv", "q1\teau\n")
    write(home / "French/Qrels/train.txt", "q1 0 1 1\nq1 0 9 0\n")
    (tmp_path / "scratch").mkdir()
    heard = Heard()
    report = import_release(
        tmp_path / "r",
        "longeval-2023",
        tmp_path / "out",
        name="own",
        limits=ResourceLimits(tmp_path / "scratch"),
        progress=heard,
    )
    assert heard.said[:5] == [("import 2022-06", None, "documents"), 4, 2, 5, "end"]
    assert report.version == tmp_path / "out/1.0.0"
    assert report.rows == {"2022-06": {"queries": 1, "qrels": 2, "documents": 3}}
    ledger = report.ledgers["2022-06"]
    assert (ledger.rows_in, ledger.rows_out) == (1 + 2 + 12, 1 + 2 + 5)
    snapshot = opened(report).snapshot("2022-06")
    assert opened(report).name == "own"
    documents = snapshot.documents.select("doc_id", "text", "text_en", "shown").collect()
    assert documents.rows() == [
        ("1", "x", "X", True),
        ("2", "z", "", False),
        ("3", "w", None, False),
    ]
    rows = snapshot.rejects.select("reason", "file", "line", "key").sort("file", "line").collect()
    english, first, second = (
        f"publish/{name}/Documents/{file}.txt"
        for name, file in (("English", "a"), ("French", "a"), ("French", "b"))
    )
    assert rows.rows() == [
        ("contradicting_document", english, 2, "1"),
        ("english_without_french", english, 3, None),
        ("repeated_document", english, 4, "9"),
        ("repeated_document", first, 2, "1"),
        ("contradicting_document", first, 3, "1"),
        ("empty_text", first, 5, None),
        ("repeated_document", second, 1, "2"),
    ]
    ids = pl.read_parquet(snapshot.folder / "release_ids.parquet").filter(kind="document")
    assert ids["id"].to_list() == ["1", "2", "3", "9"]


def test_quotes_around_a_query_are_removed_as_in_csv(tmp_path: Path) -> None:
    lines = '1\t"\n2\t""\n3\t"a""b"\n4\t"a" b\n5\t"a\n6\ta"\n7\t"a\x0b b"\n\teau\n \tx\n'
    write(tmp_path / "a/q.txt", lines)
    log = ImportLog()
    found = read_queries(tmp_path / "a/q.txt", "q.txt", "train", log)
    assert dict(found.select("query_id", "text").iter_rows()) == {
        "1": '"',
        "3": 'a"b',
        "4": '"a" b',
        "5": '"a',
        "6": 'a"',
        "7": "a b",
    }
    assert rejects(log, tmp_path) == [
        ("empty_query", "q.txt", 2, None),
        ("no_tab", "q.txt", 8, None),
        ("no_tab", "q.txt", 9, None),
    ]
    write(tmp_path / "a/longeval-export.json", '{"markup": "none"}')
    own = read_queries(tmp_path / "a/q.txt", "q.txt", "train", ImportLog())
    assert own["text"].to_list() == ['"', '""', '"a""b"', '"a" b', '"a', 'a"', '"a b"']


def test_odd_lines_are_counted_with_the_first_as_the_example(tmp_path: Path) -> None:
    lines = "1\teau  douce\r\n2\t pain\r\n\x013\tsel  fin\n\ufeff4\tmer\n\x025\tsite:a.example x\n"
    write(tmp_path / "q.txt", lines)
    write(tmp_path / "r.txt", "1 0 7 1\n1 0 \x018 1\n\x022 0 7 1\n")
    log = ImportLog()
    found = read_queries(tmp_path / "q.txt", "q", "train", log)
    assert found["query_id"].to_list() == ["1", "2", "\x013", "\ufeff4", "\x025"]
    read_qrels(tmp_path / "r.txt", "r", log)
    log.write_tables(tmp_path)
    assert sorted(pl.read_parquet(tmp_path / "irregularities.parquet").rows()) == [
        ("q", "control_character_in_id", 2, 3, "\x013"),
        ("q", "crlf", 2, 1, "1\teau  douce"),
        ("q", "double_space", 2, 1, "eau  douce"),
        ("q", "mixed_line_ends", 1, 1, "2 of 5 lines end with CRLF"),
        ("q", "outer_space", 1, 2, " pain"),
        ("q", "search_operator", 1, 5, "site:a.example x"),
        ("r", "control_character_in_id", 2, 2, "1 \x018"),
    ]


def test_lines_of_a_url_list_need_an_id_and_a_url(tmp_path: Path) -> None:
    write(tmp_path / "urls.txt", " 1 \t https://a.example/a b \n\thttps://b.example\n3\t \n4\n")
    log = ImportLog()
    found = list(read_url_list(tmp_path / "urls.txt", "urls", log))
    assert found == [("1", "https://a.example/a b")]
    assert rejects(log, tmp_path) == [("no_address", "urls", n, None) for n in (2, 3, 4)]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (b"<DOCNO>" + b"a" * 200 + b"</DOCNO><TEXT>x</TEXT>", ("a" * 200, "", "x", 1, "")),
        (b"<DOCNO>" + b"a" * 201 + b"</DOCNO><TEXT>x</TEXT>", "document_without_id"),
        (b"<DOCID>" + b"a" * 200 + b"</DOCID><TEXT>x</TEXT>", ("a" * 200, "", "x", 1, "")),
        (b"<DOCID>" + b"a" * 201 + b"</DOCID><TEXT>x</TEXT>", "document_without_id"),
        (b"<DOCNO>\n1 </DOCNO><DOCID>2</DOCID><TEXT>x</TEXT>", ("1", "", "x", 1, "")),
        (b"<DOCNO>1 2</DOCNO><TEXT>x</TEXT>", "document_without_id"),
        (b"<TEXT>x</TEXT><DOCNO>1</DOCNO>", "document_without_id"),
        (b"<DOCNO>1</DOCNO><DOCNO>2</DOCNO><TEXT>x</TEXT>", "document_with_several_ids"),
        (b"<DOCNO>1</DOCNO><TEXT>x", "document_without_text"),
        (b"<DOCNO>1</DOCNO></TEXT><TEXT>x", "document_without_text"),
        (b"<DOCNO>1</DOCNO>x</TEXT>", "document_without_text"),
        (b"<DOCNO>1</DOCNO><TEXT></TEXT>", ("1", "", "", 1, "")),
        (b"<DOCNO>1</DOCNO><TEXT>\xe9</TEXT>", "not_utf8"),
        (b"<DOCNO>1</DOCNO><TITLE>\xe9</TITLE><TEXT>x</TEXT>", "not_utf8"),
        (b"<DOCNO>\xe9</DOCNO><URL>\xe8</URL><TEXT>x</TEXT>", ("\ufffd", "", "x", 1, "\ufffd")),
        (
            b"<DOCNO>1</DOCNO><TEXT>a</TEXT> b <TEXT>c</TEXT>",
            ("1", "", "a</TEXT> b <TEXT>c", 1, ""),
        ),
    ],
)
def test_elements_that_are_documents_or_not(
    element: bytes, expected: tuple[object, ...] | str, tmp_path: Path
) -> None:
    write(tmp_path / "a.trec", b"\xef\xbb\xbf<DOC>" + element + b" </DOC>\n")
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.trec", "a", log, is_markup_escaped=False))
    if isinstance(expected, str):
        assert found == []
        assert rejects(log, tmp_path) == [(expected, "a", 1, None)]
    else:
        assert found == [expected]
        assert rejects(log, tmp_path) == []
    assert log.records_read == 1


def test_a_damaged_value_costs_the_rest_of_its_line(tmp_path: Path) -> None:
    first, third, fifth = (f'{{"id": {n}, "contents": "é{n}"}}' for n in (1, 3, 5))
    data = f'\ufeff [{first}, {{"id": 2 "x": 0}}, {third},\n{third},\n[7], {fifth}]\n'
    write(tmp_path / "a.json", data)
    log = ImportLog()
    found = read_documents(tmp_path / "a.json", "a", log, is_markup_escaped=False)
    assert [(each.doc_id, each.text, each.number) for each in found] == [
        ("1", "é1", 1),
        ("3", "é3", 3),
        ("5", "é5", 5),
    ]
    assert rejects(log, tmp_path) == [("not_json", "a", 2, None), ("not_an_object", "a", 4, None)]
    assert log.records_read == 5


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_values_of_json_may_be_cut_anywhere(size: int) -> None:
    data = '[{"a": "é\\n"}, null,\n{"b": [1, {"c": "]"}]}]\n{"d": 2} x\n{"e": 3}'.encode()
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(_iter_json_values(iter(parts))) == [
        {"a": "é\n"},
        None,
        {"b": [1, {"c": "]"}]},
        {"d": 2},
        None,
        {"e": 3},
    ]


@pytest.mark.parametrize("text", [PAGE.format("{0}", "é" * 9), '{{"id": {0}, "contents": "ab"}}\n'])
def test_a_file_of_documents_that_is_cut_off_counts_as_one_more_record(
    text: str, tmp_path: Path
) -> None:
    pages = "".join(text.format(n * 7919 % 1009) for n in range(1000))
    write(tmp_path / "a.gz", gzip.compress(pages.encode())[:-1500])
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.gz", "a", log, is_markup_escaped=False))
    reasons = [reject[0] for reject in rejects(log, tmp_path)]
    assert 0 < len(found) < 1000
    assert "file_truncated" in reasons
    assert log.records_read == len(found) + len(reasons)
