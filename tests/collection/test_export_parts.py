"""Parts of an export: files of documents, numbers of ids, markup, URLs, and what is left out."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.collection.export import export
from builder.collection.export.files import (
    DocumentFileWriter,
    render_json_documents,
    render_trec_documents,
    write_document_files,
)
from builder.collection.export.markup import (
    collapse_whitespace_expr,
    document_body_expr,
    escape_markup,
    unescape_markup,
)
from builder.collection.export.numeric_ids import (
    assign_document_numbers,
    assign_query_numbers,
    replace_ids_with_numbers,
)
from builder.collection.export.omitted import describe_omitted_rows
from builder.collection.export.url_database import (
    URL_DATABASE,
    describe_omitted_urls,
    write_url_database,
)
from builder.errors import DataError
from builder.io.tables import Table
from schemas import Documents
from tests.collection.progress import Heard
from tests.collection.releases import imported, write


def test_only_french_collections_have_the_layouts_of_the_web(tmp_path: Path) -> None:
    write(tmp_path / "r/2024-11/queries.txt", "1\twater\n")
    write(tmp_path / "r/2024-11/qrels.txt", "1 0 7 1\n")
    version = imported(tmp_path / "r", "longeval-sci").version
    for layout in ("longeval-2023", "longeval-web"):
        with pytest.raises(DataError) as error:
            export(version, layout, tmp_path / "export")
        assert str(error.value) == (
            f"{version}: this layout supports only French with an English translation, but the "
            "collection is in 'en'; export it as trec or huggingface"
        )
    out = export(version, "longeval-sci", tmp_path / "export")
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert names == [
        "2024-11/metadata.json",
        "2024-11/qrels.txt",
        "2024-11/queries.txt",
        "SHA256SUMS",
        "longeval-export.json",
    ]


@pytest.mark.parametrize(
    ("size", "batches", "files"),
    [
        (5, (["aa", "bbb"], ["c", "dd", "e"]), ["[aa,bbb]", "[c,dd,e]"]),
        (3, (["aa", "bbb"], ["c", "dd", "e"]), ["[aa,bbb]", "[c,dd]", "[e]"]),
        (4, (["a"], ["bb", "cc", "d"]), ["[a,bb,cc]", "[d]"]),
        (4, (["aa", "bb", "cc", "dd", "ee"],), ["[aa,bb]", "[cc,dd]", "[ee]"]),
        (1, (["é", "b"], ["c"]), ["[é]", "[b]", "[c]"]),
        (4, (["é", "é", "b"],), ["[é,é]", "[b]"]),
        (9, ([], ["a"], []), ["[a]"]),
        (9, ([],), []),
    ],
)
def test_a_file_ends_after_the_document_that_reaches_the_size(
    size: int, batches: tuple[list[str], ...], files: list[str], tmp_path: Path
) -> None:
    writer = DocumentFileWriter(tmp_path / "a/b", lambda n: f"{n}.txt", size, ("[", ",", "]"))
    series = (pl.Series(texts, dtype=pl.String) for texts in batches)
    assert write_document_files(writer, series) == sum(map(len, batches))
    written = sorted((tmp_path / "a/b").iterdir())
    assert [path.name for path in written] == [f"{n}.txt" for n in range(1, len(files) + 1)]
    assert [path.read_text("utf-8") for path in written] == files
    writer.close()


DOCUMENTS = [
    ("a", "T ", "x\r\n\n y <doc>", "One", None),
    ("b", None, "", None, ""),
    ("c", "", " z\u2028w ", "Three", "t"),
]


@pytest.mark.parametrize(
    ("suffix", "keep", "texts"),
    [
        ("", False, {"a": "T\nx\ny <doc>", "b": "", "c": "z\nw"}),
        ("", True, {"a": "T \nx\r\n\n y <doc>", "b": "", "c": "z\u2028w"}),
        ("_en", False, {"b": "", "c": "Three\nt"}),
    ],
)
def test_documents_as_text(suffix: str, keep: bool, texts: dict[str, str], tmp_path: Path) -> None:
    columns = ("doc_id", "title", "text", "title_en", "text_en")
    frame = pl.DataFrame(DOCUMENTS, dict.fromkeys(columns, pl.String), orient="row")
    frame.write_parquet(tmp_path / "documents.parquet")
    table = Table((tmp_path / "documents.parquet",), Documents)
    numbers = pl.DataFrame({"id": ["c", "b", "a"], "number": [3, 2, 1]})
    heard = Heard()
    plain = render_trec_documents(table, suffix, heard, keep_blank_lines=keep)
    numbered = render_json_documents(table, suffix, heard, numbers, keep_blank_lines=keep)
    head = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\n"
    escaped = {name: text.replace("<doc>", "&lt;doc>") for name, text in texts.items()}
    assert [text for batch in plain for text in batch] == [
        head.format(name) + (f"{text}\n" if text else "") + "</TEXT>\n</DOC>\n"
        for name, text in escaped.items()
    ]
    found = [text for batch in numbered for text in batch]
    assert [json.loads(text) for text in found] == [
        {"id": f"doc{'abc'.index(name) + 1}", "contents": text} for name, text in texts.items()
    ]
    assert all(text.startswith('{"id":') for text in found)
    assert heard.said == [3, 3]


@pytest.mark.parametrize(
    ("ids", "numbers"),
    [
        (["9", "10", "9"], {"9": 9, "10": 10}),
        (["0", "9223372036854775807"], {"0": 0, "9223372036854775807": 2**63 - 1}),
        (["d8000000000000003"], {"d8000000000000003": 0x4000000000000001}),
        (
            ["1", "d0000000000000006"],
            {"1": 7_090_109_593_855_758_785, "d0000000000000006": 3},
        ),
        ([], {}),
    ],
)
def test_numbers_of_documents(ids: list[str], numbers: dict[str, int]) -> None:
    """Ids that are numbers stay; others become the first 63 bits of their key or MD5 hash."""
    frame = assign_document_numbers(pl.Series(ids, dtype=pl.String))
    assert frame.schema == {"id": pl.String, "number": pl.Int64}
    assert dict(frame.rows()) == numbers
    assert frame["id"].is_sorted()


@pytest.mark.parametrize(
    ("ids", "numbers"),
    [
        (["8", "2147483647", "8"], {"8": 8, "2147483647": 2**31 - 1}),
        (["q8000000000000000"], {"q8000000000000000": 2**30}),
        (["2147483648"], {"2147483648": 235_873_452}),
        (["007"], {"007": 1_330_272_431}),
        (["q80000000000000x0"], {"q80000000000000x0": 1_029_713_486}),
        (
            ["q00000002ffffffff", "q0000000200000000", "q0000000400000000"],
            {"q0000000200000000": 1, "q00000002ffffffff": 2, "q0000000400000000": 3},
        ),
        (
            ["qffffffff00000000", "qffffffffffffffff", "q0000000100000000"],
            {"q0000000100000000": 0, "qffffffff00000000": 2**31 - 1, "qffffffffffffffff": 1},
        ),
        ([], {}),
    ],
)
def test_numbers_of_queries(ids: list[str], numbers: dict[str, int]) -> None:
    """Of two queries with the same 31 bits, the second gets the next number; after the last, 0."""
    frame = assign_query_numbers(pl.Series(ids, dtype=pl.String))
    assert frame.schema == {"id": pl.String, "number": pl.Int64}
    assert dict(frame.rows()) == numbers


def test_two_documents_of_one_number_are_named() -> None:
    ids = ["d0000000000000003", "d0000000000000002", "d0000000000000004", "d0000000000000005"]
    with pytest.raises(DataError) as error:
        assign_document_numbers(pl.Series(ids))
    assert str(error.value) == (
        "documents d0000000000000002, d0000000000000003 would have the same number, because the "
        "first 63 bits of their ids are equal; export them in a layout with string ids, such as "
        "trec"
    )


def test_numbers_replace_ids_in_the_order_of_the_rows() -> None:
    frame = pl.LazyFrame({"query_id": ["b", "x", "a", "b"], "text": [1, 2, 3, 4]})
    numbers = pl.DataFrame({"id": ["a", "b"], "number": [5, 6]})
    found = replace_ids_with_numbers(frame, "query_id", numbers).collect()
    assert found.columns == ["query_id", "text"]
    assert found.rows() == [(6, 1), (None, 2), (5, 3), (6, 4)]


def test_omitted_rows_are_told_by_snapshot_and_language() -> None:
    omitted = {
        "2022-06": {"en": {"documents": 1, "queries": 1234}},
        "2022-07": {"en": {"documents": 2}, "de": {"queries": 1}},
    }
    assert describe_omitted_rows(omitted) == [
        "omitted from 2022-06 (no text in en): 1,234 queries, 1 document",
        "omitted from 2022-07 (no text in en): 2 documents",
        "omitted from 2022-07 (no text in de): 1 query",
    ]
    assert describe_omitted_rows({}) == []


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<num>", "&lt;num>"),
        ("</Narr >", "&lt;/Narr >"),
        ("<DESC x=1>", "&lt;DESC x=1>"),
        ("<HEADLINE", "&lt;HEADLINE"),
        ("<docid/>", "&lt;docid/>"),
        ("&LT;doc>", "&amp;LT;doc>"),
        ("&amp;lt;/top>", "&amp;amp;lt;/top>"),
        ("&amp;<top>", "&amp;&lt;top>"),
        ("&lt;b> < DOC> <numb>", "&lt;b> < DOC> <numb>"),
    ],
)
def test_tags_of_trec_formats_are_escaped(text: str, escaped: str) -> None:
    assert escape_markup(text) == escaped


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("&lt;DOC>", "<DOC>"),
        ("&LT;/top>", "</top>"),
        ("&amp;lt;DOC>", "&lt;DOC>"),
        ("&amp;amp;lt;DOC>", "&amp;lt;DOC>"),
        ("&lt;documents> &amp;lt;b>", "&lt;documents> &amp;lt;b>"),
    ],
)
def test_escaped_tags_are_restored(escaped: str, text: str) -> None:
    assert unescape_markup(escaped) == text


def test_white_space_of_a_line_is_collapsed() -> None:
    texts = pl.DataFrame({"a": ["\x1c a \t\n b\x1f\x85c ", None], "b": ["x ", "\n y"]})
    found = texts.select(collapse_whitespace_expr(pl.col("a")), body=document_body_expr("a", "b"))
    assert found.rows() == [("a b c", "\x1c a \t\n b\x1f\x85c \nx"), (None, "y")]


def test_the_database_of_urls_has_the_latest_url_of_each_document(tmp_path: Path) -> None:
    """Of two documents with one URL, that of the earlier snapshot has it."""
    rows = {
        "2022-06": [("a", "u1", 1), ("d", "u2", 2)],
        "2022-07": [("a", "u3", 3), ("b", "u2", 4), ("c", "u2", 5)],
        "2022-08": [],
    }
    columns = {"doc_id": pl.String, "url": pl.String, "fetched_at": pl.Int64}
    snapshots: list[Any] = []
    for name, documents in rows.items():
        path = tmp_path / f"{name}.parquet"
        pl.DataFrame(documents, columns, orient="row").write_parquet(path)
        table = Table((path,) if documents else (), Documents)
        snapshots.append(SimpleNamespace(name=name, documents=table))
    numbers = pl.DataFrame({"id": ["a", "b", "c", "d"], "number": [14, 13, 12, 11]})
    path = tmp_path / "out" / URL_DATABASE
    assert describe_omitted_urls(tmp_path / "out") == []
    write_url_database(snapshots[:1], numbers, path)
    assert describe_omitted_urls(tmp_path / "out") == []
    path.unlink()
    write_url_database(snapshots, numbers, path)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT * FROM mapping ORDER BY id").fetchall()
    assert found == [
        (11, "u2", "[2]", '["2022-06"]'),
        (12, None, "[5]", '["2022-07"]'),
        (13, None, "[4]", '["2022-07"]'),
        (14, "u3", "[1, 3]", '["2022-06", "2022-07"]'),
    ]
    assert describe_omitted_urls(tmp_path / "out") == [
        (
            "omitted URLs (another document has the same URL): 2, for example the URL of "
            "document 12; "
            "these URLs are NULL in French/collection_db.db"
        )
    ]
