"""Every file that an export of a small release writes, and what its parts are made of."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import builder
from builder.collection.export import export, read_omitted_row_counts
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
from builder.collection.imports.publish import write_tables_with_stable_ids
from builder.errors import DataError, UsageError
from builder.io.tables import Table
from builder.runtime.limits import ResourceLimits
from schemas import Documents
from tests.collection.releases import imported, query_of, write

PAGE = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\n{1}\n</TEXT>\n</DOC>\n"
TITLED = "<DOC>\n<DOCNO>doc{}</DOCNO>\n<TITLE>{}</TITLE>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"
TRAIN = "LongEval Train Collection"


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months of three documents and three queries; not all of them have an English text."""
    release = tmp_path_factory.mktemp("small") / "r"
    files = {
        f"French/{TRAIN}/Trec/2022-06_fr/a.trec": TITLED.format(7, "Eau", "Une page. \n\n  Fin.")
        + TITLED.format(8, "", "Deux <DOC> &lt;TEXT>."),
        f"English/{TRAIN}/Trec/2022-06_en/a.trec": TITLED.format(7, "Water", "A page."),
        f"French/{TRAIN}/Trec/2022-07_fr/a.trec": TITLED.format(7, "Eau", "Une autre page.")
        + TITLED.format(9, "", "Du sel."),
        f"English/{TRAIN}/Trec/2022-07_en/a.trec": TITLED.format(9, "", "Salt."),
        f"French/{TRAIN}/queries/2022-06_queries.txt": "7\teau <top> douce\n",
        "French/LongEval Test Collection/queries/2022-06_queries.txt": "8\tpain\n",
        f"English/{TRAIN}/queries/2022-06_queries.txt": "7\tfresh water\n",
        f"French/{TRAIN}/queries/2022-07_queries.txt": "8\tpain\n9\tsel\n",
        f"English/{TRAIN}/queries/2022-07_queries.txt": "9\tsalt\n",
        f"French/{TRAIN}/qrels/2022-06_fr/qrels_processed.txt": "7 0 7 2\n8 0 8 0\n7 0 8 1\n",
        f"French/{TRAIN}/qrels/2022-07_fr/qrels_processed.txt": "9 0 9 1\n",
    }
    for name, text in files.items():
        write(release / name, text)
    database = release / "French/collection_db.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE mapping (id INTEGER, url, last_updated_at, date)")
        rows = [
            (7, "https://a.example/7", "[1654128000, 1656806400]", '["2022-06", "2022-07"]'),
            (8, "https://a.example/8", "[1654128001]", '["2022-06"]'),
            (9, "https://a.example/9", "[1656806401]", '["2022-07"]'),
        ]
        connection.executemany("INSERT INTO mapping VALUES (?, ?, ?, ?)", rows)
    return imported(release, "longeval-web").version


class Heard:
    """A progress display that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Remember the start of an operation."""
        self.said.append((label, total, unit))

    def advance(self, count: int) -> None:
        """Remember how many units are done."""
        self.said.append(count)

    def finish(self) -> None:
        """Remember the end of an operation."""
        self.said.append("end")


OMITTED = {
    "2022-06": {"en": {"queries": 1, "documents": 1}},
    "2022-07": {"en": {"queries": 1, "documents": 1}},
}
ESCAPED = "TREC tags in texts are escaped: < as &lt;, and & before an already escaped tag as &amp;"
TITLES = "titles (exported as the first line of the text)"


def _topic(number: int, text: str) -> str:
    fields = f"<num> Number: {number}\n<title> Topic: {text}\n<desc> Description:\n\n"
    return f"<top>\n{fields}<narr> Narrative:\n\n</top>\n"


TREC = {
    "2022-06/en/documents/part-00000.trec": PAGE.format(7, "Water\nA page."),
    "2022-06/en/topics.trec": _topic(7, "fresh water"),
    "2022-06/en/topics.tsv": "7\tfresh water\n",
    "2022-06/fr/documents/part-00000.trec": PAGE.format(7, "Eau\nUne page.\nFin."),
    "2022-06/fr/documents/part-00001.trec": PAGE.format(8, "Deux &lt;DOC> &amp;lt;TEXT>."),
    "2022-06/fr/topics.trec": _topic(7, "eau &lt;top> douce") + _topic(8, "pain"),
    "2022-06/fr/topics.tsv": "7\teau <top> douce\n8\tpain\n",
    "2022-06/qrels.numbers.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/query_numbers.tsv": "7\t7\n8\t8\n",
    "2022-06/urls.tsv": "7\thttps://a.example/7\n8\thttps://a.example/8\n",
    "2022-07/en/documents/part-00000.trec": PAGE.format(9, "Salt."),
    "2022-07/en/topics.trec": _topic(9, "salt"),
    "2022-07/en/topics.tsv": "9\tsalt\n",
    "2022-07/fr/documents/part-00000.trec": PAGE.format(7, "Eau\nUne autre page."),
    "2022-07/fr/documents/part-00001.trec": PAGE.format(9, "Du sel."),
    "2022-07/fr/topics.trec": _topic(8, "pain") + _topic(9, "sel"),
    "2022-07/fr/topics.tsv": "8\tpain\n9\tsel\n",
    "2022-07/qrels.numbers.txt": "9 0 9 1\n",
    "2022-07/qrels.txt": "9 0 9 1\n",
    "2022-07/query_numbers.tsv": "8\t8\n9\t9\n",
    "2022-07/urls.tsv": "7\thttps://a.example/7\n9\thttps://a.example/9\n",
}


def _metadata(layout: str, snapshot: str, *prior: str) -> str:
    month = f'"snapshot": "{snapshot}", "timestamp": "{snapshot}"'
    listed = ", ".join(f'"{name}"' for name in prior)
    return f'{{"base": "{layout}", {month}, "prior-datasets": [{listed}]}}\n'


def _tags(number: int, text: str) -> str:
    return f"<top>\n<num>{number}</num>\n<title>{text}</title>\n</top>\n"


JUNE_JSON = (
    '[\n{{"id":"{0}7","contents":"Eau\\nUne page. \\n\\n  Fin."}},\n'
    '{{"id":"{0}8","contents":"Deux <DOC> &lt;TEXT>."}}\n]\n'
)
JULY_JSON = (
    '[\n{{"id":"{0}7","contents":"Eau\\nUne autre page."}},\n'
    '{{"id":"{0}9","contents":"Du sel."}}\n]\n'
)
JUNE_TREC = PAGE.format("{0}7", "Eau\nUne page. \n\n  Fin.") + PAGE.format(
    "{0}8", "Deux &lt;DOC> &amp;lt;TEXT>."
)
JULY_TREC = PAGE.format("{0}7", "Eau\nUne autre page.") + PAGE.format("{0}9", "Du sel.")
WATER_JSON = '[\n{{"id":"{0}7","contents":"Water\\nA page."}}\n]\n'
SALT_JSON = '[\n{{"id":"{0}9","contents":"Salt."}}\n]\n'

PUBLISH, JULY, FILE = "publish", "test-collection/A-2022-07", "collector_kodicare_1.txt"
EARLY = {
    "longeval-relevance-judgements/a-2022-07.txt": "9 0 9 1\n",
    "longeval-relevance-judgements/heldout-test.txt": "8 0 8 0\n",
    f"{PUBLISH}/English/Documents/Json/{FILE}.json": WATER_JSON.format(""),
    f"{PUBLISH}/English/Documents/Trec/{FILE}": PAGE.format(7, "Water\nA page."),
    f"{PUBLISH}/English/Queries/heldout.trec": "",
    f"{PUBLISH}/English/Queries/heldout.tsv": "",
    f"{PUBLISH}/English/Queries/queries.trec": _tags(7, "fresh water"),
    f"{PUBLISH}/English/Queries/queries.tsv": "7\tfresh water\n",
    f"{PUBLISH}/English/Queries/train.trec": _tags(7, "fresh water"),
    f"{PUBLISH}/English/Queries/train.tsv": "7\tfresh water\n",
    f"{PUBLISH}/English/etc/metadata.json": _metadata("longeval-2023", "2022-06"),
    f"{PUBLISH}/French/Documents/Json/{FILE}.json": JUNE_JSON.format(""),
    f"{PUBLISH}/French/Documents/Trec/{FILE}": JUNE_TREC.format(""),
    f"{PUBLISH}/French/Qrels/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{PUBLISH}/French/Qrels/train.txt": "7 0 7 2\n7 0 8 1\n",
    f"{PUBLISH}/French/Queries/heldout.trec": _tags(8, "pain"),
    f"{PUBLISH}/French/Queries/heldout.tsv": "8\tpain\n",
    f"{PUBLISH}/French/Queries/queries.trec": _tags(7, "eau &lt;top> douce") + _tags(8, "pain"),
    f"{PUBLISH}/French/Queries/queries.tsv": "7\teau <top> douce\n8\tpain\n",
    f"{PUBLISH}/French/Queries/train.trec": _tags(7, "eau &lt;top> douce"),
    f"{PUBLISH}/French/Queries/train.tsv": "7\teau <top> douce\n",
    f"{PUBLISH}/French/etc/metadata.json": _metadata("longeval-2023", "2022-06"),
    f"{PUBLISH}/French/urls.txt": "7\thttps://a.example/7\n8\thttps://a.example/8\n",
    f"{JULY}/English/Documents/Json/{FILE}.json": SALT_JSON.format(""),
    f"{JULY}/English/Documents/Trec/{FILE}": PAGE.format(9, "Salt."),
    f"{JULY}/English/Queries/queries.trec": _tags(9, "salt"),
    f"{JULY}/English/Queries/queries.tsv": "9\tsalt\n",
    f"{JULY}/English/etc/metadata.json": _metadata("longeval-2023", "2022-07"),
    f"{JULY}/French/Documents/Json/{FILE}.json": JULY_JSON.format(""),
    f"{JULY}/French/Documents/Trec/{FILE}": JULY_TREC.format(""),
    f"{JULY}/French/Documents/urls.txt": "7\thttps://a.example/7\n9\thttps://a.example/9\n",
    f"{JULY}/French/Qrels/qrels.txt": "9 0 9 1\n",
    f"{JULY}/French/Queries/queries.trec": _tags(8, "pain") + _tags(9, "sel"),
    f"{JULY}/French/Queries/queries.tsv": "8\tpain\n9\tsel\n",
    f"{JULY}/French/etc/metadata.json": _metadata("longeval-2023", "2022-07"),
}


def _web_metadata(snapshot: str, *prior: str) -> str:
    described = {"base": "longeval-web", "snapshot": snapshot, "prior-datasets": list(prior)}
    return json.dumps({**described, "timestamp": snapshot}) + "\n"


EN, FR = f"English/{TRAIN}", f"French/{TRAIN}"
WEB = {
    f"{EN}/Json/2022-06_en/{FILE}.json": WATER_JSON.format("doc"),
    f"{EN}/Json/2022-07_en/{FILE}.json": SALT_JSON.format("doc"),
    f"{EN}/Trec/2022-06_en/{FILE}.trec": PAGE.format("doc7", "Water\nA page."),
    f"{EN}/Trec/2022-06_en/metadata.json": _web_metadata("2022-06"),
    f"{EN}/Trec/2022-07_en/{FILE}.trec": PAGE.format("doc9", "Salt."),
    f"{EN}/Trec/2022-07_en/metadata.json": _web_metadata("2022-07", "2022-06"),
    f"{EN}/qrels/2022-06_en/qrels_processed.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{EN}/qrels/2022-07_en/qrels_processed.txt": "9 0 9 1\n",
    f"{EN}/queries/2022-06_queries.txt": "7\tfresh water\n",
    f"{EN}/queries/2022-07_queries.txt": "9\tsalt\n",
    f"{FR}/Json/2022-06_fr/{FILE}.json": JUNE_JSON.format("doc"),
    f"{FR}/Json/2022-07_fr/{FILE}.json": JULY_JSON.format("doc"),
    f"{FR}/Trec/2022-06_fr/{FILE}.trec": JUNE_TREC.format("doc"),
    f"{FR}/Trec/2022-06_fr/metadata.json": _web_metadata("2022-06"),
    f"{FR}/Trec/2022-07_fr/{FILE}.trec": JULY_TREC.format("doc"),
    f"{FR}/Trec/2022-07_fr/metadata.json": _web_metadata("2022-07", "2022-06"),
    f"{FR}/qrels/2022-06_fr/qrels_processed.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{FR}/qrels/2022-07_fr/qrels_processed.txt": "9 0 9 1\n",
    f"{FR}/queries/2022-06_queries.txt": "7\teau <top> douce\n8\tpain\n",
    f"{FR}/queries/2022-07_queries.txt": "8\tpain\n9\tsel\n",
}


def _paper(number: int, title: str, text: str) -> str:
    dates = ("createdDate", "publishedDate", "updatedDate")
    unknown = ("doi", "arxivId", "pubmedId", "magId", *dates)
    nulls = "".join(f',"{name}":null' for name in unknown)
    empty = '"authors":[],"oaiIds":[],"links":[]'
    return f'{{"id":"{number}","title":"{title}","abstract":"{text}"{nulls},{empty}}}\n'


SCI = {
    "2022-06/documents/documents_000001.jsonl": _paper(7, "Water", "A page."),
    "2022-06/metadata.json": _metadata("longeval-sci", "2022-06"),
    "2022-06/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/queries.txt": "7\tfresh water\n",
    "2022-07/documents/documents_000001.jsonl": _paper(9, "", "Salt."),
    "2022-07/metadata.json": _metadata("longeval-sci", "2022-07", "../2022-06"),
    "2022-07/qrels.txt": "9 0 9 1\n",
    "2022-07/queries.txt": "9\tsalt\n",
}


@pytest.mark.parametrize(
    ("layout", "size", "files", "languages", "markup", "lost", "steps"),
    [
        (
            "trec",
            1,
            TREC,
            ["fr", "en"],
            ESCAPED,
            [
                TITLES,
                "fetch times, the query split, topics, click evidence, query variants and flags",
            ],
            4,
        ),
        (
            "longeval-2023",
            None,
            EARLY,
            ["fr", "en"],
            ESCAPED,
            [
                TITLES,
                "fetch times, topics, click evidence, query variants and flags",
                (
                    "the splits of queries in later snapshots, such as test (new) or seen (also "
                    "used in training)"
                ),
            ],
            8,
        ),
        (
            "longeval-web",
            None,
            WEB,
            ["fr", "en"],
            ESCAPED,
            [
                TITLES,
                "all URLs of a document except the most recent one",
                "the query split, topics, click evidence, query variants and flags",
            ],
            8,
        ),
        (
            "longeval-sci",
            None,
            SCI,
            ["en"],
            "none",
            [
                "texts in all languages except one",
                "URLs and fetch times",
                "whether a text is an abstract or the full text",
                "topics, click evidence, query variants and flags",
            ],
            2,
        ),
    ],
    ids=["trec", "2023", "web", "sci"],
)
def test_every_file_of_an_export(
    layout: str,
    size: int | None,
    files: dict[str, str],
    languages: list[str],
    markup: str,
    lost: list[str],
    steps: int,
    version: Path,
    tmp_path: Path,
) -> None:
    heard = Heard()
    (tmp_path / "out").mkdir()
    out = export(version, layout, tmp_path / "out", max_file_bytes=size, progress=heard)
    assert out == tmp_path / "out"
    assert heard.said == [(f"export {layout}", None, "documents"), *[2] * steps, "end"]
    written = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    described = json.loads(written.pop("longeval-export.json").read_text())
    sums = written.pop("SHA256SUMS").read_text()
    database = written.pop("French/collection_db.db", None)
    assert {name: path.read_text("utf-8") for name, path in written.items()} == files
    assert described == {
        "collection": builder.open_collection(version).signature,
        "layout": layout,
        "snapshots": ["2022-06", "2022-07"],
        "languages": languages,
        "markup": markup,
        "lost": lost,
        "omitted": OMITTED,
    }
    assert read_omitted_row_counts(out) == OMITTED
    name, text = next(iter(files.items()))
    assert f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" in sums
    assert len(sums.splitlines()) == len(files) + 1 + (database is not None)
    assert (database is not None) == (layout == "longeval-web")
    if database is not None:
        with closing(sqlite3.connect(database)) as connection:
            rows = connection.execute("SELECT * FROM mapping ORDER BY id").fetchall()
        assert rows == [
            (7, "https://a.example/7", "[1654128000, 1656806400]", '["2022-06", "2022-07"]'),
            (8, "https://a.example/8", "[1654128001]", '["2022-06"]'),
            (9, "https://a.example/9", "[1656806401]", '["2022-07"]'),
        ]


def test_every_file_of_an_export_for_hugging_face(version: Path, tmp_path: Path) -> None:
    out = export(version, "huggingface", tmp_path / "out")
    tables = [
        f"{kind}/{month}/part-00000.parquet"
        for kind in ("documents", "qrels", "queries")
        for month in ("2022-06", "2022-07")
    ]
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert names == sorted(
        [
            *("README.md", "SHA256SUMS", "croissant.json", "longeval-export.json"),
            *("queries_map.parquet", "topics.parquet", *tables),
        ]
    )
    described = json.loads((out / "longeval-export.json").read_text())
    assert (described["markup"], described["omitted"]) == ("none", {})
    assert described["lost"] == [
        "evidence tables, change tables and reports (available in the published version)"
    ]
    june = builder.open_collection(version).snapshot("2022-06")
    judged = pl.read_parquet(out / "qrels/2022-06/part-00000.parquet")
    assert judged.schema["grade"] == pl.Int64
    assert judged.cast({"grade": pl.UInt8}).equals(june.qrels.collect())
    assert (out / "documents/2022-06/part-00000.parquet").read_bytes() == (
        june.document_files()[0].read_bytes()
    )
    head = (out / "README.md").read_text().split("---\n")[1]
    assert head[head.index("configs:") :] == "configs:\n" + "".join(
        f"  - config_name: {kind}\n    data_files:\n"
        f"      - split: snapshot_2022_06\n        path: {kind}/2022-06/part-*.parquet\n"
        f"      - split: snapshot_2022_07\n        path: {kind}/2022-07/part-*.parquet\n"
        for kind in ("documents", "queries", "qrels")
    ) + "".join(
        f"  - config_name: {name}\n    data_files: {name}.parquet\n"
        for name in ("topics", "queries_map")
    )


def test_what_an_import_stores_of_each_document(version: Path) -> None:
    collection = builder.open_collection(version)
    texts, flags = (
        [
            collection.snapshot(name).documents.select(columns).collect().rows()
            for name in collection.snapshots
        ]
        for columns in (
            ["doc_id", "title", "text", "title_en", "text_en"],
            ["url", "url_key", "fetched_at", "shown", "sampled", "truncated", "tokens"],
        )
    )
    assert texts == [
        [
            ("7", "Eau", "Une page. \n\n  Fin.", "Water", "A page."),
            ("8", "", "Deux <DOC> &lt;TEXT>.", None, None),
        ],
        [("7", "Eau", "Une autre page.", None, None), ("9", "", "Du sel.", "", "Salt.")],
    ]
    seven, eight, nine = ((f"https://a.example/{number}",) * 2 for number in (7, 8, 9))
    assert flags == [
        [
            (*seven, 1_654_128_000, True, True, False, 4),
            (*eight, 1_654_128_001, True, True, False, 4),
        ],
        [
            (*seven, 1_656_806_400, False, True, False, 4),
            (*nine, 1_656_806_401, True, True, False, 2),
        ],
    ]


def test_what_an_import_says_of_a_collection(version: Path) -> None:
    manifest = builder.open_collection(version).manifest
    files = [list(snapshot.pop("release")) for snapshot in manifest["definition"]["snapshots"]]
    assert files[1] == [
        f"{EN}/Trec/2022-07_en/a.trec",
        f"{EN}/queries/2022-07_queries.txt",
        f"{FR}/Trec/2022-07_fr/a.trec",
        f"{FR}/qrels/2022-07_fr/qrels_processed.txt",
        f"{FR}/queries/2022-07_queries.txt",
        "French/collection_db.db",
    ]
    assert manifest["definition"] == {
        "collection": {
            "name": "longeval-web",
            "version": "1.0.0",
            "languages": ["fr", "en"],
            "licence": "as stated by the release",
            "citation": "",
            "url": "",
        },
        "snapshots": [
            {"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"},
            {"name": "2022-07", "start": "2022-07-01", "end": "2022-08-01"},
        ],
        "topics": {},
        "parameters": {},
        "imported": {"layout": "longeval-web", "documents": True},
    }
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {
        "changes/documents": 3,
        "changes/qrels": 4,
        "changes/queries": 3,
        "documents_map": 3,
        "queries_map": 3,
        "snapshots/2022-06/documents": 2,
        "snapshots/2022-06/irregularities": 0,
        "snapshots/2022-06/qrels": 3,
        "snapshots/2022-06/queries": 2,
        "snapshots/2022-06/release_ids": 4,
        "snapshots/2022-07/documents": 2,
        "snapshots/2022-07/irregularities": 0,
        "snapshots/2022-07/qrels": 1,
        "snapshots/2022-07/queries": 2,
        "snapshots/2022-07/release_ids": 4,
        "topics": 0,
    }


def test_ids_of_queries_and_documents_are_replaced_with_their_own_keys(
    version: Path, tmp_path: Path
) -> None:
    """A query and a document of a release may have the same id."""
    tables = write_tables_with_stable_ids(version, "2022-06", ResourceLimits(tmp_path))
    ids = pl.read_parquet(version / "snapshots/2022-06/release_ids.parquet")
    keys = {(kind, own): key for kind, own, key, _ in ids.rows()}
    assert keys["query", "7"] == query_of("eau top douce")
    pages = tables["documents"].scan().select("doc_id", "title").collect().rows()
    assert sorted(pages, reverse=True) == [
        (keys["document", "7"], "Eau"),
        (keys["document", "8"], ""),
    ]
    listed = tables["queries"].scan().select("query_id", "text").collect().rows()
    assert listed == [(query_of("eau top douce"), "eau <top> douce"), (query_of("pain"), "pain")]
    judged = tables["qrels"].scan().select("query_id", "doc_id", "grade").collect().rows()
    assert sorted(judged) == sorted(
        [
            (keys["query", "7"], keys["document", "7"], 2),
            (keys["query", "7"], keys["document", "8"], 1),
            (keys["query", "8"], keys["document", "8"], 0),
        ]
    )


@pytest.mark.parametrize("place", [".", "..", "{version}", "{version}/trec"])
def test_an_export_does_not_replace_other_files(
    place: str, version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    out = place.format(version=version)
    with pytest.raises(UsageError) as error:
        export(version, "trec", out)
    assert str(error.value) == (
        f"{out}: cannot export to the current folder, to a parent of it, or into a version folder; "
        "pass a new folder as --out"
    )


def test_what_is_said_of_an_export_that_is_refused(version: Path, tmp_path: Path) -> None:
    write(tmp_path / "file", "x")
    write(tmp_path / "full/file", "x")
    for name in ("file", "full"):
        with pytest.raises(UsageError) as error:
            export(version, "trec", tmp_path / name)
        assert str(error.value) == (
            f"{tmp_path / name}: expected a new or empty folder, found existing files; pass "
            "another folder as --out or empty this one"
        )
    with pytest.raises(UsageError) as error:
        export(version, "trec", tmp_path / "out", languages=("fr", "nl", "de"))
    assert str(error.value) == (
        f"{version}: no texts in de, nl; available languages: fr, en. Omit --language, or set "
        "`translate.model` and rebuild"
    )
    with pytest.raises(UsageError) as error:
        export(version, "longeval-webb", tmp_path / "out")
    assert str(error.value) == "unknown layout 'longeval-webb'; did you mean 'longeval-web'?"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


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
