"""Release files that are slightly wrong: each oddity is read, or named and counted."""

import bz2
import gzip
import json
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports import import_release
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.lines import read_qrels, read_queries, read_url_list
from builder.collection.imports.pages import read_documents
from builder.collection.imports.unread import find_unread_files
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.errors import DataError, FormatError, UsageError
from builder.runtime.limits import ResourceLimits
from tests.collection.releases import imported, opened, write

ENGLISH = "2024-11"
FRENCH = "French/LongEval Train Collection"
QUERIES = {
    "longeval-web": f"{FRENCH}/queries/2022-06_queries.txt",
    "longeval-2023": "publish/French/Queries/train.tsv",
    "longeval-sci": f"{ENGLISH}/queries.txt",
}
QRELS = {
    "longeval-web": f"{FRENCH}/qrels/2022-06_fr/qrels_processed.txt",
    "longeval-2023": "publish/French/Qrels/train.txt",
    "longeval-sci": f"{ENGLISH}/qrels.txt",
}
Named = tuple[dict[str, int], dict[str, int]]
"""Number of rejects by reason, and of irregular lines by kind."""


def _named(log: ImportLog, folder: Path) -> Named:
    """What the tables of an import say."""
    log.write_tables(folder)
    rejects = pl.read_parquet(folder / "rejects.parquet")["reason"].to_list()
    odd = pl.read_parquet(folder / "irregularities.parquet").select("kind", "lines").rows()
    return dict(Counter(rejects)), dict(odd)


@pytest.mark.parametrize(
    ("data", "texts", "named"),
    [
        (b"\xef\xbb\xbf1\teau\n2\tpain\n", ["eau", "pain"], ({}, {})),
        (b"query_id\tquery\n1\teau\n", ["eau"], ({"header_line": 1}, {})),
        (b"qid\ttext\r\n1\teau\r\n", ["eau"], ({"header_line": 1}, {"crlf": 2})),
        (b"id\teau\nid2\tquery\n", ["eau", "query"], ({}, {})),
        (b"1\teau\r2\tpain\r3\tsel\n4\tlait\n", ["lait"], ({"carriage_return": 1}, {})),
        (b"1\x00\teau\n2\tpain\n", ["eau", "pain"], ({}, {"control_character_in_id": 1})),
        (b"1 eau\n2\tpain\n", ["pain"], ({"no_tab": 1}, {})),
        (b"1\teau\t0\n2\tpain \n", ["pain"], ({"extra_columns": 1}, {"outer_space": 1})),
        (b"1\t\tsel\t\n", ["sel"], ({}, {"control_character": 1, "outer_space": 1})),
        (b"qid\tquery\tcount\n1\teau\n", ["eau"], ({"header_line": 1}, {})),
        (b"1\t\xe9t\xe9\n2\tpain\n", ["pain"], ({"not_utf8": 1}, {})),
    ],
)
def test_odd_lines_of_queries(data: bytes, texts: list[str], named: Named, tmp_path: Path) -> None:
    write(tmp_path / "queries.txt", data)
    log = ImportLog()
    queries = read_queries(tmp_path / "queries.txt", "queries.txt", "train", log)
    assert queries["text"].to_list() == texts
    assert _named(log, tmp_path) == named
    assert log.records_read == data.count(b"\n")


@pytest.mark.parametrize(
    ("data", "grades", "named"),
    [
        (b"1\t0\t11  2\n1 0 12 +1\n", [2, 1], ({}, {})),
        (b"qid 0 docid rel\n1 0 12 1\n", [1], ({"header_line": 1}, {})),
        (b"1 0 12 1\nqid 0 docid rel\n", [1], ({"grade_unknown": 1}, {})),
        (b"1 0 11 1.0\n1 0 12 2.000\n1 0 13 0.\n1 0 14 1\n", [1, 2, 1], ({"grade_unknown": 1}, {})),
        (b"1 0 11 1.5\n1 0 12 -1\n1 0 13 3\n1 0 14 1\n", [1], ({"grade_unknown": 3}, {})),
        (b"1 11 1\n1,0,11,2\n1 0 11 2 x\n1 0 14 1\n", [1], ({"not_four_columns": 3}, {})),
        (b"1 0 11 2\r1 0 12 1\n1 0 13 1\n", [1], ({"carriage_return": 1}, {})),
        (b"1 0 1\x001 2\n2 0 12 1\n", [2, 1], ({}, {"control_character_in_id": 1})),
    ],
)
def test_odd_lines_of_judgements(
    data: bytes, grades: list[int], named: Named, tmp_path: Path
) -> None:
    write(tmp_path / "qrels.txt", data)
    log = ImportLog()
    assert read_qrels(tmp_path / "qrels.txt", "qrels.txt", log)["grade"].to_list() == grades
    assert _named(log, tmp_path) == named


def test_queries_that_lost_all_judgements_are_noted(tmp_path: Path) -> None:
    """q1 keeps a judgement, q3 has only grade 0; the judgements of q2 and q4 are rejected."""
    release = tmp_path / "release"
    write(release / "queries/2022-06_queries.txt", "q1\ta\nq2\tb\nq3\tc\nq4\td\n")
    lines = "q1 0 10 -1\nq1 0 11 2\nq2 0 10 -1\nq2 0 11 -2\nq3 0 10 0\nq4 0 10 3\n"
    write(release / "qrels/2022-06_fr/qrels_processed.txt", lines)
    report = imported(release, "longeval-web")
    (note,) = report.ledgers["2022-06"].notes
    assert note == (
        "queries without judgements, because all their grades were rejected (not 0, 1 or 2): "
        "2, for example 'q2'; means over queries do not include them"
    )
    snapshot = report.version / "snapshots/2022-06"
    assert pl.read_parquet(snapshot / "qrels.parquet")["query_id"].to_list() == ["q1", "q3"]
    rejects = pl.read_parquet(snapshot / "rejects.parquet").filter(reason="grade_unknown")
    assert rejects["key"].sort().to_list() == ["q1 10 -1", "q2 10 -1", "q2 11 -2", "q4 10 3"]


def test_of_several_addresses_the_first_counts(tmp_path: Path) -> None:
    write(tmp_path / "urls.txt", "a\tx\nb\ty\na\tx\na\tz\na\tw\nc \n")
    log = ImportLog()
    assert list(read_url_list(tmp_path / "urls.txt", "urls.txt", log)) == [("a", "x"), ("b", "y")]
    reasons = {"repeated_address": 1, "contradicting_address": 2, "no_address": 1}
    assert _named(log, tmp_path) == (reasons, {})


def test_bytes_of_json_that_are_not_utf8(tmp_path: Path) -> None:
    """They were replaced without a word; `json` and ir_datasets refuse them."""
    lines = b'{"id": "1", "contents": "\xe9t\xe9"}\n'
    lines += b'{"id": "2", "contents": "\xc3\xa9t\xc3\xa9 \xef\xbf\xbd"}\n'
    lines += b'{"id": "3", "contents": "\\ud800"}\n{"id": "4", "contents": "d", "x": "\xe9"}\n'
    write(tmp_path / "a.jsonl", lines)
    log = ImportLog()
    documents = list(read_documents(tmp_path / "a.jsonl", "a.jsonl", log, is_markup_escaped=False))
    assert [(d.doc_id, d.text) for d in documents] == [("2", "été \ufffd"), ("4", "d")]
    assert _named(log, tmp_path) == ({"not_utf8": 1, "lone_surrogate": 1}, {})
    assert log.records_read == 4


ONE_LINE = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>{}</TEXT></DOC>\n"


@pytest.mark.parametrize(
    ("data", "documents", "named"),
    [
        (ONE_LINE.format(1, "a") + ONE_LINE.format(2, "b</DOC> c"), ["a", "b</DOC> c"], {}),
        ("<doc>\n<docno>1</docno>\n<text>a</text>\n</doc>\n", [], {"unknown_document_format": 1}),
        ("id,text\n1,a\n", [], {"unknown_document_format": 1}),
        (" \n\n", [], {}),
    ],
)
def test_files_of_documents(
    data: str, documents: list[str], named: dict[str, int], tmp_path: Path
) -> None:
    """Files without a document were empty to the import, and one-line ends were not found."""
    write(tmp_path / "a.trec", data)
    log = ImportLog()
    found = read_documents(tmp_path / "a.trec", "a.trec", log, is_markup_escaped=False)
    assert [document.text for document in found] == documents
    assert _named(log, tmp_path) == (named, {})
    assert log.records_read == len(documents) + len(named)


@pytest.mark.parametrize("end", ["", "</TEXT>\r\n"])
def test_a_document_without_an_end_does_not_swallow_the_next(end: str, tmp_path: Path) -> None:
    """Both were one document, whose text had the tags of the second."""
    first = "<DOC>\r\n<DOCNO>{}</DOCNO>\r\n<TEXT>\r\na\r\n"
    data = ONE_LINE.format(0, "a\n<DOC>\nb")
    data += first.format(1) + end + first.format(2) + end + ONE_LINE.format(3, "c")
    data += first.format(4) + end + first.format(5)
    write(tmp_path / "a.trec", data)
    log = ImportLog()
    found = read_documents(tmp_path / "a.trec", "a.trec", log, is_markup_escaped=False)
    expected = [("0", "a\n<DOC>\nb", 1), ("3", "c", 4)]
    assert [(d.doc_id, d.text, d.number) for d in found] == expected
    log.write_tables(tmp_path)
    rejects = pl.read_parquet(tmp_path / "rejects.parquet").select("reason", "file", "line")
    assert rejects.rows() == [("document_without_end", "a.trec", n) for n in (2, 3, 5, 6)]
    assert log.records_read == 6


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": "t", "abstract": ["a", "b"], "fullText": "c"}, ("t", "a\nb\nc")),
        ({"title": ["t", "u"], "abstract": None, "fullText": "c"}, ("t\nu", "c")),
        ({"title": "t", "abstract": " "}, ("", "t")),
        ({"title": "t", "abstract": "a", "fullText": {"p": "c"}}, "document_without_text"),
        ({"title": "t", "abstract": ["a", 1]}, "document_without_text"),
        ({"title": None, "abstract": None}, "document_without_text"),
        ({"contents": ["a", "b"]}, ("", "a\nb")),
        ({"contents": None}, "document_without_text"),
        ({"contents": None, "title": "t"}, ("", "t")),
        ({"contents": "a", "title": "t"}, ("t", "a")),
        ({"contents": "a", "title": 1}, "document_without_text"),
        ({"title": "t", "text": "a"}, ("t", "a")),
        ({"title": "t", "text": None}, ("", "t")),
        ({"text": "a", "abstract": "c"}, ("", "c")),
    ],
)
def test_text_fields_of_json(
    fields: dict[str, object], expected: tuple[str, str] | str, tmp_path: Path
) -> None:
    """Abstracts that were lists of paragraphs were dropped, as were titles beside `contents`."""
    write(tmp_path / "a.jsonl", json.dumps({"id": "1", **fields}))
    log = ImportLog()
    found = read_documents(tmp_path / "a.jsonl", "a.jsonl", log, is_markup_escaped=False)
    documents = [(document.title, document.text) for document in found]
    assert documents == ([] if isinstance(expected, str) else [expected])
    assert _named(log, tmp_path) == ({expected: 1} if isinstance(expected, str) else {}, {})


@pytest.mark.parametrize(
    ("fields", "unread"),
    [
        ({"title": "t", "body": "a long text"}, "body: a long text"),
        ({"title": "t", "text": ["a", "b"], "abstract": "c"}, "text: a\nb"),
        ({"contents": "a", "abstract": "b c", "note": "d e"}, "abstract: b c"),
        ({"abstract": "a", "full_text": "b \ud800"}, "full_text: b ?"),
        ({"contents": "a", "doi": "10.1/x", "at": "2022-06-01 10:00:00", "url": "a b"}, None),
        ({"title": "t", "abstract": "a b", "fullText": "c d", "authors": [{"name": "A B"}]}, None),
    ],
)
def test_texts_of_json_in_other_fields_are_named(
    fields: dict[str, object], unread: str | None, tmp_path: Path
) -> None:
    """A document with a `body` had its title as text, and nothing said that the body was lost."""
    write(tmp_path / "a.jsonl", json.dumps({"id": "1", **fields}))
    log = ImportLog()
    found = read_documents(tmp_path / "a.jsonl", "a.jsonl", log, is_markup_escaped=False)
    assert len(list(found)) == 1
    log.write_tables(tmp_path)
    odd = pl.read_parquet(tmp_path / "irregularities.parquet").select("kind", "first", "example")
    assert odd.rows() == ([] if unread is None else [("unread_fields", 1, unread)])


@pytest.mark.parametrize(
    ("url", "expected"), [('"https://a.example/1"', "https://a.example/1"), ("[1]", "")]
)
def test_addresses_of_json_are_kept(url: str, expected: str, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", f'{{"id": "1", "contents": "a", "url": {url}}}')
    found = read_documents(tmp_path / "a.jsonl", "a", ImportLog(), is_markup_escaped=False)
    assert [document.url for document in found] == [expected]


def test_titles_of_json_are_kept_in_both_languages(tmp_path: Path) -> None:
    home = tmp_path / "r/publish"
    write(home / "French/Queries/train.tsv", "1\teau\n")
    for language, title in (("French", "Une page"), ("English", "A page")):
        page = {"id": "11", "title": title, "contents": language}
        write(home / language / "Documents/Json/a.jsonl", json.dumps(page))
    collection = opened(imported(tmp_path / "r", "longeval-2023"))
    assert collection.languages == {"fr": "", "en": "_en"}
    documents = collection.snapshot("2022-06").documents
    assert documents.select("title", "text", "title_en", "text_en").collect().rows() == [
        ("Une page", "French", "A page", "English")
    ]


def test_a_release_whose_queries_are_elsewhere_is_not_published(tmp_path: Path) -> None:
    """It was published with no query at all, and exit code 0."""
    root = tmp_path / "release/publish/French"
    write(root / "Queries/queries.trec", "<top>\n<num>1</num>\n<title>eau</title>\n</top>\n")
    write(root / "Qrels/train.txt", "1 0 11 1\n")
    limits = ResourceLimits(tmp_path)
    with pytest.raises(DataError) as error:
        import_release(tmp_path / "release", "longeval-2023", tmp_path / "out", limits=limits)
    assert str(error.value) == (
        "2022-06: found no query file; expected French/Queries/*.tsv and French/Qrels/*.txt; "
        "nothing was published; use --allow-empty if the release has no such data"
    )
    (tmp_path / "again").mkdir()
    limits = ResourceLimits(tmp_path / "again")
    report = import_release(
        tmp_path / "release", "longeval-2023", tmp_path / "out", allow_empty=True, limits=limits
    )
    assert report.rows["2022-06"] == {"queries": 0, "qrels": 1, "documents": 0}


@pytest.mark.parametrize("name", ["release.zip", "LongEval.tar.gz", "a.TGZ"])
def test_an_archive_of_a_release_has_to_be_unpacked(name: str, tmp_path: Path) -> None:
    write(tmp_path / "release" / name, b"PK")
    with pytest.raises(UsageError) as error:
        import_release(
            tmp_path / "release", "longeval-sci", tmp_path / "out", limits=ResourceLimits(tmp_path)
        )
    assert str(error.value).endswith(f"; unpack {name} first")


def _release(root: Path, layout: str, queries: str = "", qrels: str = "") -> None:
    """A release of one month whose files have these suffixes."""
    write(root / (QUERIES[layout] + queries), "1\teau\n")
    write(root / (QRELS[layout] + qrels), "1 0 11 1\n")


def _renamed(root: Path, name: str, change: Callable[[str], str]) -> None:
    path = root / name
    path.rename(path.with_name(change(path.name)))


@pytest.mark.parametrize("layout", QUERIES)
@pytest.mark.parametrize(
    "change",
    [
        lambda name: name.replace(".t", ".T"),
        lambda name: f"{name}.GZ",
        lambda name: name.replace("queries.", "Queries.").replace("qrels", "Qrels"),
    ],
)
def test_names_in_capitals(layout: str, change: Callable[[str], str], tmp_path: Path) -> None:
    _release(tmp_path / "r", layout)
    for name in (QUERIES[layout], QRELS[layout]):
        _renamed(tmp_path / "r", name, change)
    files = list_release_files(tmp_path / "r")
    (snapshot,) = find_snapshots(files, layout)
    assert (len(snapshot.queries), len(snapshot.qrels)) == (1, 1)
    assert find_unread_files(files, [snapshot]) == {}


@pytest.mark.parametrize("layout", QUERIES)
@pytest.mark.parametrize(
    ("suffix", "pack", "kind"),
    [(".xz", lzma.compress, "an xz file"), (".bz2", bz2.compress, "a bzip2 file")],
)
def test_queries_in_a_compression_that_is_not_read_are_refused(
    layout: str, suffix: str, pack: Callable[[bytes], bytes], kind: str, tmp_path: Path
) -> None:
    """They were left out as unread, and the import went on without queries."""
    write(tmp_path / "r" / QRELS[layout], "1 0 11 1\n")
    write(tmp_path / "r" / (QUERIES[layout] + suffix), pack(b"1\teau\n"))
    message = f"expected text, found {kind}; decompress it, or compress it with gzip or zstd"
    with pytest.raises(FormatError, match=message):
        imported(tmp_path / "r", layout)


@pytest.mark.parametrize("layout", QUERIES)
def test_hidden_files_are_not_read(layout: str, tmp_path: Path) -> None:
    """macOS puts `._name` beside each file that it copies to another file system."""
    _release(tmp_path / "r", layout)
    for name in (QUERIES[layout], QRELS[layout]):
        path = tmp_path / "r" / name
        write(path.with_name(f"._{path.name}"), b"\x00\x05\x16\x07\x00\x02\n1 0 11 2\n")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), layout)
    assert not any(path.name.startswith(".") for path in snapshot.paths)


def test_a_file_with_two_names_is_read_once(tmp_path: Path) -> None:
    release = tmp_path / "r" / ENGLISH
    write(release / "queries.txt", "1\teau\n")
    write(release / "qrels.txt", "1 0 11 1\n")
    write(release / "documents/a.jsonl", '{"id": "11", "title": "T", "abstract": "A"}\n')
    (release / "documents/b.jsonl").symlink_to("a.jsonl")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    assert [len(paths) for paths in snapshot.documents.values()] == [1]
    assert (len(snapshot.queries), len(snapshot.qrels)) == (1, 1)


def test_only_folders_of_documents_have_documents(tmp_path: Path) -> None:
    write(tmp_path / "r" / QUERIES["longeval-web"], "1\teau\n")
    write(tmp_path / "r" / FRENCH / "Json/2022-06_fr/a.json", "[]")
    write(tmp_path / "r" / FRENCH / "qrels/2022-06_fr/about.json", "[]")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-web")
    names = [path.name for paths in snapshot.documents.values() for path in paths]
    assert names == ["a.json"]


def test_validate_names_each_oddity(tmp_path: Path) -> None:
    home = tmp_path / "r/publish/French"
    write(home / "Queries/train.tsv", "1\teau\n2\tpain\r3\tsel\n4\x01\tlait\n")
    write(home / "Qrels/train.txt", "1 0 11 1\n4\x01 0 11 1\n")
    write(home / "urls.txt", "11\thttps://a.example\n11\thttps://b.example\n12\n")
    texts = b'[{"id": "11", "contents": "une page"}, {"id": "12", "contents": "\xe9"}, 7, {"a"]'
    write(home / "Documents/Json/a.json.gz", gzip.compress(texts))
    report = imported(tmp_path / "r", "longeval-2023")
    report.ledgers["2022-06"].check("import")
    url = opened(report).snapshot("2022-06").documents.select("url").collect().item()
    assert url == "https://a.example"
    messages = {finding.message: finding.count for finding in validate(report.version)}
    for message in (
        "lines contain a CR, which may separate two records",
        "documents are listed more than once, with different URLs",
        "lines of a URL list have no id or no URL",
        "records are not valid UTF-8",
        "JSON values are not objects",
        "documents are not valid JSON",
        "publish/French/Queries/train.tsv: ids contain control characters",
        "publish/French/Qrels/train.txt: ids contain control characters",
    ):
        assert messages[message] == 1, messages
