"""Checks of exported files, which have the rows of the tables."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.collection.read import Collection
from tests.collection.literal import JUNE, Found, Row, entry, find, write_version

TREC = "trec/2022-06"
DOC = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\n{1}\n</TEXT>\n</DOC>\n"
FIELDS = "<num> Number: {}\n<title> Topic: {}\n<desc> Description:\n\n<narr> Narrative:\n"
TOP = f"<top>\n{FIELDS}\n</top>\n"
EXPORTS = {
    f"{TREC}/qrels.txt": "1 0 d1 2\n2 0 d2 0\n",
    f"{TREC}/qrels.numbers.txt": "1 0 d1 2\n2 0 d2 0\n",
    f"{TREC}/query_numbers.tsv": "1\t1\n2\t2\n",
    f"{TREC}/fr/topics.tsv": "1\teau\n2\tpain\n",
    f"{TREC}/fr/topics.trec": TOP.format(1, "eau") + TOP.format(2, "pain"),
    f"{TREC}/en/topics.tsv": "1\twater\n",
    f"{TREC}/en/topics.trec": TOP.format(1, "water"),
    f"{TREC}/urls.tsv": "d1\thttps://a.example\nd2\thttps://b.example\n",
    f"{TREC}/fr/documents/part-0.trec": DOC.format("d1", "Titre\nl'eau"),
    f"{TREC}/fr/documents/part-1.trec": DOC.format("d2", "le pain"),
    f"{TREC}/en/documents/part-0.trec": DOC.format("d1", "Title\nthe water"),
}
EXPORTED: dict[str, list[Row]] = {
    f"{JUNE}/queries": [
        {"query_id": "1", "text": "eau", "text_en": "water"},
        {"query_id": "2", "text": "pain"},
    ],
    f"{JUNE}/qrels": [
        {"query_id": "1", "doc_id": "d1", "grade": 2},
        {"query_id": "2", "doc_id": "d2", "grade": 0},
    ],
    f"{JUNE}/documents": [
        {
            "doc_id": "d1",
            "url": "https://a.example",
            "title": "Titre",
            "text": "l'eau",
            "title_en": "Title",
            "text_en": "the water",
        },
        {"doc_id": "d2", "url": "https://b.example", "text": "le pain"},
    ],
}


def _exported(folder: Path, files: dict[str, str | None], *, trec: bool = True) -> Collection:
    """A version with exports, some of which are other files or missing."""
    written = {name: text for name, text in {**EXPORTS, **files}.items() if text is not None}
    version = write_version(
        folder,
        EXPORTED,
        snapshots=("2022-06",),
        languages=("fr", "en"),
        parameters={"export": {"trec": trec}},
        files={name: entry(text.encode()) for name, text in written.items()},
    )
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return version


NO_ROW, GONE = "lines do not match a row of the table", "rows of the table are missing"
CRLF = "lines end with CRLF"
FR = f"{TREC}/fr/documents"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("qrels.txt", "2 0 d2 0\n1 0 d1 2\n", []),
        (
            "qrels.txt",
            "2 0 d2 1\n2 0 d1 1\n1 0 d2 1\n2 0 d3 1\n",
            [
                (NO_ROW, 4, ("2 0 d2 1", "2 0 d1 1", "1 0 d2 1")),
                (GONE, 2, ("1 0 d1 2", "2 0 d2 0")),
            ],
        ),
        (
            "qrels.txt",
            "1 0 d1 2\n" + "2 0 d2 0\n" * 5,
            [("lines are repeated", 4, ("2 0 d2 0", "2 0 d2 0", "2 0 d2 0"))],
        ),
        ("qrels.txt", "1 0 d1 2\r\n2 0 d2 0\r\n", [(CRLF, 1, ())]),
        ("qrels.numbers.txt", "1 0 d1 2\n", [(GONE, 1, ("2 0 d2 0",))]),
        ("query_numbers.tsv", "1\t1\n2\t2\n3\t3\n", [(NO_ROW, 1, ("3\t3",))]),
        ("fr/topics.tsv", "1\teau\n", [(GONE, 1, ("2\tpain",))]),
        ("en/topics.tsv", "1\twater\n2\tpain\n", [(NO_ROW, 1, ("2\tpain",))]),
        ("fr/topics.trec", TOP.format(1, "eau"), [(GONE, 1, (TOP.format(2, "pain")[:-1],))]),
        ("urls.tsv", "d2\thttps://b.example\n", [(GONE, 1, ("d1\thttps://a.example",))]),
    ],
)
def test_lines_of_an_export_that_differ(
    name: str, text: str, expected: list[tuple[str, int, tuple[str, ...]]], tmp_path: Path
) -> None:
    where = f"{TREC}/{name}"
    version = _exported(tmp_path, {where: text})
    assert find("LB219", version) == [(where, *defect) for defect in expected]


OTHER_TEXT = "documents have a different text or title in the table"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DOC.format("d1", "l'eau"), [(FR, OTHER_TEXT, 1, ("d1",))]),
        (
            DOC.format("d1", "Titre\nl'eau").replace("\n", "\r\n"),
            [(f"{FR}/part-0.trec", CRLF, 1, ())],
        ),
        (
            DOC.format("d1", "Titre\nl'eau") * 2,
            [
                (FR, "documents are repeated", 1, ("d1",)),
                (FR, "the export has 3 documents, but the table has 2", 1, ()),
            ],
        ),
        (
            DOC.format("d3", "x"),
            [
                (FR, "documents do not match a row of the table", 1, ("d3",)),
                (FR, GONE, 1, ("d1",)),
            ],
        ),
        (
            "no document\n" + DOC.format("d1", "Titre\nl'eau"),
            [
                (FR, "documents do not match a row of the table", 1, ("",)),
                (FR, "the export has 3 documents, but the table has 2", 1, ()),
            ],
        ),
    ],
)
def test_documents_of_an_export_that_differ(
    text: str, expected: list[Found], tmp_path: Path
) -> None:
    version = _exported(tmp_path, {f"{FR}/part-0.trec": text})
    assert find("LB219", version) == expected


def test_line_endings_of_a_changed_file_are_not_reported_twice(tmp_path: Path) -> None:
    version = _exported(tmp_path, {})
    for name in (f"{TREC}/qrels.txt", f"{FR}/part-0.trec"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert find("LB219", version) == []


def test_exports_may_be_missing_only_if_the_definition_sets_none(tmp_path: Path) -> None:
    missing = dict.fromkeys(EXPORTS)
    message = "the export is missing, although the definition sets export.trec"
    files = [name for name in EXPORTS if "/documents/" not in name]
    folders = [FR, f"{TREC}/en/documents"]
    version = _exported(tmp_path / "a", {**missing})
    assert find("LB219", version) == [(name, message, 1, ()) for name in (*files, *folders)]
    version = _exported(tmp_path / "b", {**missing}, trec=False)
    assert find("LB219", version) == []
    version.manifest["definition"]["parameters"] = {}
    assert find("LB219", version) == []


def test_texts_of_a_table_that_was_rewritten_are_not_compared(tmp_path: Path) -> None:
    version = _exported(tmp_path, {f"{FR}/part-0.trec": DOC.format("d1", "x")})
    path = tmp_path / f"{JUNE}/documents/part-00000.parquet"
    pq.write_table(pq.read_table(path).append_column("more", pa.array([1, 2])), path)
    assert find("LB219", version) == []
    (tmp_path / f"{FR}/part-1.trec").unlink()
    assert find("LB219", version) == [
        (FR, GONE, 1, ("d2",)),
        (FR, "the export has 1 documents, but the table has 2", 1, ()),
    ]
