"""Every file that an export of a small release writes, and what an import says of the release."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import builder
from builder.collection.export import export, read_omitted_row_counts
from builder.collection.imports.publish import write_tables_with_stable_ids
from builder.errors import UsageError
from builder.runtime.limits import ResourceLimits
from tests.collection.exports import EARLY, EN, FR, SCI, TRAIN, TREC, WEB
from tests.collection.progress import Heard
from tests.collection.releases import imported, query_of, write

TITLED = "<DOC>\n<DOCNO>doc{}</DOCNO>\n<TITLE>{}</TITLE>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"


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


OMITTED = {
    "2022-06": {"en": {"queries": 1, "documents": 1}},
    "2022-07": {"en": {"queries": 1, "documents": 1}},
}
ESCAPED = "TREC tags in texts are escaped: < as &lt;, and & before an already escaped tag as &amp;"
TITLES = "titles (exported as the first line of the text)"


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
