"""Documents of TREC files: none merges with the next, and no field is dropped without a word."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.release_document import MAX_DOCUMENT_BYTES
from builder.collection.imports.trec_documents import parse_trec_documents
from builder.collection.validate import validate
from tests.collection.releases import imported, opened, write

DOCUMENT = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\ntext {0}\n</TEXT>\n</DOC>\n"
THREE = "".join(map(DOCUMENT.format, "123"))
PIECES = st.lists(
    st.sampled_from(
        (
            *("<DOC>", "</DOC>", "<DOCNO>1</DOCNO>", "<DOCID>2</DOCID>", "<TEXT>", "</TEXT>"),
            *("\n", " ", "\t\r\n", "<", "a", "<TITLE>b</TITLE>", "</DOC><DOC>"),
            DOCUMENT.format(3),
        )
    ),
    max_size=30,
).map("".join)


def _read(data: str, size: int = 2**20, *, escaped: bool = False) -> tuple[list[tuple], ImportLog]:
    """The documents of a file that is read in chunks of this many bytes."""
    log, raw = ImportLog(), data.encode()
    chunks = [raw[start : start + size] for start in range(0, len(raw), size)]
    found = parse_trec_documents(chunks, "a.trec", log, is_markup_escaped=escaped)
    return [tuple(document) for document in found], log


def _tables(log: ImportLog, folder: Path) -> tuple[list[tuple], list[tuple]]:
    """The rejects (reason, line) and the irregularities (kind, lines, first, example)."""
    log.write_tables(folder).check("import")
    rejects = pl.read_parquet(folder / "rejects.parquet").select("reason", "line")
    odd = pl.read_parquet(folder / "irregularities.parquet")
    return rejects.rows(), odd.select("kind", "lines", "first", "example").rows()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace("</DOC>\n<DOC>", "</DOC><DOC>"),
        lambda data: data.replace("\n", " "),
        lambda data: data.replace("\n", ""),
        lambda data: data.replace("\n", "\n  "),
        lambda data: data.replace("</DOC>", "<SIZE></SIZE></DOC>").replace("\n", ""),
        lambda data: data.replace("</TEXT>\n</DOC>", "</TEXT>\r\n\t</DOC> \t\r"),
        lambda data: f'<?xml version="1.0"?>\n<DOCS>\n{data}</DOCS>\n',
    ],
)
def test_no_document_merges_with_the_next(change: Callable[[str], str], tmp_path: Path) -> None:
    found, log = _read(change(THREE))
    texts = [(doc_id, text.strip(), number) for doc_id, _, text, number, _ in found]
    assert texts == [(n, f"text {n}", int(n)) for n in "123"]
    assert _tables(log, tmp_path) == ([], [])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: data.replace("\n", "\n  "),
        lambda data: data.replace("\n", " "),
        lambda data: data.replace("<DOCNO>3</DOCNO>\n<DOCID>3</DOCID>", "<DOCID>3</DOCID>\n"),
        lambda data: data.replace("\n<DOC>\n<DOCNO>3", "<DOC>\n<DOCNO>3"),
    ],
)
def test_a_missing_end_costs_one_document(change: Callable[[str], str], tmp_path: Path) -> None:
    data = DOCUMENT.format(1) + DOCUMENT.format(2).replace("</DOC>\n", "") + DOCUMENT.format(3)
    found, log = _read(change(data))
    assert [(document[0], document[3]) for document in found] == [("1", 1), ("3", 3)]
    assert _tables(log, tmp_path) == ([("document_without_end", 2)], [])


def test_a_record_with_two_ids_is_no_document(tmp_path: Path) -> None:
    """Where a title comes before the id, the start of a document is not seen."""
    titled = DOCUMENT.replace("<DOC>\n", "<DOC>\n<TITLE>t</TITLE>\n")
    data = titled.format(1).replace("</DOC>\n", "") + titled.format(2) + titled.format(3)
    found, log = _read(data)
    assert [(document[0], document[3]) for document in found] == [("3", 2)]
    assert _tables(log, tmp_path) == ([("document_with_several_ids", 1)], [])


def test_tags_in_texts_start_no_document(tmp_path: Path) -> None:
    text = "a <DOC> b\n<DOC>\n</DOC> c <DOCNO> d </DOC> <DOC>\ne\n"
    found, log = _read(f"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>{text}</TEXT>\n</DOC>\n")
    assert found == [("1", "", text, 1, "")]
    assert _tables(log, tmp_path) == ([], [])


@given(PIECES, st.integers(1, 40))
def test_chunks_make_no_difference(data: str, size: int) -> None:
    (found, log), (expected, whole) = _read(data, size), _read(data)
    assert found == expected
    assert (log.records_read, log._rejects) == (whole.records_read, whole._rejects)
    assert (log._counts, log._examples) == (whole._counts, whole._examples)


def test_a_document_that_is_too_long_is_rejected_once(tmp_path: Path) -> None:
    text = "a" * (MAX_DOCUMENT_BYTES + 1)
    data = DOCUMENT.format(1) + f"<DOC><DOCNO>2</DOCNO><TEXT>{text}</TEXT></DOC>\n"
    found, log = _read(data + DOCUMENT.format(3), 2 * MAX_DOCUMENT_BYTES)
    assert [(document[0], document[3]) for document in found] == [("1", 1), ("3", 3)]
    assert _tables(log, tmp_path) == ([("document_too_long", 2)], [])


HEAD = "<DOC>\n<DOCNO>1</DOCNO>\n"


@pytest.mark.parametrize(
    ("fields", "document", "odd"),
    [
        (
            "<TITLE> Un é </TITLE><URL>\nhttps://a.example/1\n</URL><TEXT>a</TEXT>",
            ("1", "Un é", "a", 1, "https://a.example/1"),
            [],
        ),
        ("<TEXT>a</TEXT>\n<TITLE>t</TITLE>", ("1", "t", "a", 1, ""), []),
        ("<TITLE>t</TITLE><TEXT> </TEXT>", ("1", "", "t", 1, ""), []),
        ("<TITLE>t</TITLE><TITLE>t</TITLE><TEXT>a</TEXT>", ("1", "t", "a", 1, ""), []),
        (
            "<TITLE>t</TITLE><TITLE>u</TITLE><TEXT>a</TEXT>",
            ("1", "t", "a", 1, ""),
            [("unread_fields", 1, 1, "<TITLE>u</TITLE>")],
        ),
        (
            "<DATE></DATE><AUTHOR>A.\n B</AUTHOR>\n<TEXT>a</TEXT>",
            ("1", "", "a", 1, ""),
            [("unread_fields", 1, 1, "<DATE></DATE><AUTHOR>A. B</AUTHOR>")],
        ),
        (
            "<TEXT>a</TEXT>\nrest",
            ("1", "", "a", 1, ""),
            [("unread_fields", 1, 1, "rest")],
        ),
        ("<TEXT>\na\n</TEXT>\n<TEXT>\nb\n</TEXT>", ("1", "", "\na\n\n\nb\n", 1, ""), []),
    ],
)
def test_fields_beside_the_text(
    fields: str, document: tuple[object, ...], odd: list[tuple[object, ...]], tmp_path: Path
) -> None:
    found, log = _read(f"{HEAD}{fields}\n</DOC>\n")
    assert found == [document]
    assert _tables(log, tmp_path) == ([], odd)


def test_fields_are_restored_too() -> None:
    data = f"{HEAD}<TITLE>&lt;DOC></TITLE><TEXT>&amp;lt;DOC></TEXT></DOC>\n"
    assert _read(data, escaped=True)[0] == [("1", "<DOC>", "&lt;DOC>", 1, "")]


def test_addresses_and_titles_of_documents(tmp_path: Path) -> None:
    """An address in a list of the release counts more than that of a document."""
    home = tmp_path / "r/publish/French"
    extra = "<TITLE>Titre {0}</TITLE><URL>https://b.example/{0}</URL><DATE>d</DATE><TEXT>"
    page = DOCUMENT.replace("<TEXT>", extra)
    write(home / "Documents/Trec/a.txt", page.format(1) + page.format(2))
    write(home / "urls.txt", "1\thttps://a.example/1\n")
    write(home / "Queries/train.tsv", "9\teau\n")
    write(home / "Qrels/train.txt", "9 0 1 1\n9 0 2 2\n")
    report = imported(tmp_path / "r", "longeval-2023")
    documents = opened(report).snapshot("2022-06").documents.select("title", "text", "url")
    assert documents.collect().rows() == [
        ("Titre 1", "text 1", "https://a.example/1"),
        ("Titre 2", "text 2", "https://b.example/2"),
    ]
    (finding,) = validate(report.version)
    assert (finding.check, finding.count) == ("LB206", 2)
    assert finding.message == (
        "publish/French/Documents/Trec/a.txt: documents have content that is not imported: it is "
        "neither in <TEXT>, <TITLE> or <URL>, nor in the JSON fields of the title, text or URL"
    )
