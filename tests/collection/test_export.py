"""Exports: what other tools read is what the collection holds, and comes back whole."""

import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import builder
from builder import BuildReport
from builder.collection.compare import compare
from builder.collection.export import LAYOUTS, export
from builder.collection.export.files import (
    DocumentFileWriter,
    render_json_documents,
    render_trec_documents,
    write_document_files,
)
from builder.collection.export.longeval_2023 import snapshot_folder_name
from builder.collection.export.markup import join_lines_expr
from builder.collection.export.numeric_ids import assign_document_numbers
from builder.collection.files import checksum_lines
from builder.collection.imports import import_release
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.pages import read_documents
from builder.collection.validate import validate
from builder.errors import DataError, FormatError, UsageError
from builder.io.tables import Table
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.trec.lines import QRELS, parse_trec
from schemas import Documents
from tests.thorough import examples

HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("<>/&;\t\r\n\x00\x0b\x85\u2028\u202e\ufeff")
    ),
    max_size=60,
)
MARKUP = st.lists(
    st.sampled_from(
        ["<DOC>", "</DOC>", "</TEXT>", "&lt;", "&amp;", "DOC>", "\n", "<docno>x</docno>", "]", '"']
    ),
    max_size=8,
).map("".join)
TEXTS = st.one_of(HOSTILE, MARKUP)


@pytest.fixture(scope="module", params=["longeval-2023", "longeval-web"])
def release(
    request: pytest.FixtureRequest, built: BuildReport, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The small collection in a layout of releases."""
    folder = tmp_path_factory.mktemp("export") / "release"
    export(built.root, request.param, folder, max_file_bytes=2**18)
    return request.param, folder


def test_what_is_exported_comes_back(
    release: tuple[str, Path], built: BuildReport, tmp_path: Path
) -> None:
    layout, folder = release
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    report = import_release(folder, layout, tmp_path / "back", limits=ResourceLimits(scratch))
    assert all(not ledger.rejected for ledger in report.ledgers.values())
    found = compare(built.root, report.version)
    assert found.is_empty
    assert found.lost == LAYOUTS[layout].omitted
    assert {finding.check for finding in validate(report.version)} == set()
    imported, original = (
        builder.open_collection(report.version),
        builder.open_collection(built.root),
    )
    for name in original.snapshots:
        columns = ["doc_id", "url_key", *(["fetched_at"] if layout == "longeval-web" else [])]
        theirs, ours = (c.snapshot(name).documents.select(columns) for c in (imported, original))
        ids = pl.read_parquet(imported.snapshot(name).folder / "release_ids.parquet")
        keys = ids.lazy().filter(kind="document").select("key", doc_id="id")
        keyed = theirs.join(keys, on="doc_id").with_columns(doc_id="key").select(columns)
        assert keyed.sort("doc_id").collect().equals(ours.collect())
    assert (report.version / "report.html").stat().st_size > 10_000


def test_files_are_split_and_summed(release: tuple[str, Path]) -> None:
    layout, folder = release
    parts = [
        p
        for p in folder.rglob("collector_kodicare_*")
        if "2022-06" in str(p) or "publish" in str(p)
    ]
    assert len(parts) > 2
    assert max(p.stat().st_size for p in parts) < 2**18 + 100_000
    sums = (folder / "SHA256SUMS").read_text()
    (folder / "SHA256SUMS").unlink()
    assert checksum_lines(folder) == sums
    (folder / "SHA256SUMS").write_text(sums)
    assert json.loads((folder / "longeval-export.json").read_text())["layout"] == layout


def test_json_documents_are_arrays(release: tuple[str, Path]) -> None:
    _, folder = release
    for path in folder.rglob("*.txt.json"):
        found = json.loads(path.read_text("utf-8"))
        assert found
        assert set(found[0]) == {"id", "contents"}


def test_the_field_s_loader_reads_it(release: tuple[str, Path], built: BuildReport) -> None:
    longeval = pytest.importorskip("ir_datasets_longeval")
    layout, folder = release
    original = builder.open_collection(built.root)
    train = "French/LongEval Train Collection/Trec"
    homes = {
        "longeval-web": {n: f"{train}/{n}_fr" for n in original.snapshots},
        "longeval-2023": {
            n: f"test-collection/{snapshot_folder_name(place, n)}/French"
            if place
            else "publish/French"
            for place, n in enumerate(original.snapshots)
        },
    }[layout]
    for place, (name, home) in enumerate(homes.items()):
        dataset = longeval.load(str(folder / home))
        snapshot = original.snapshot(name)
        texts = snapshot.documents.select(
            text=join_lines_expr(pl.col("title"), pl.col("text"))
        ).collect()["text"]
        documents = list(dataset.docs_iter())
        assert sorted(d.default_text().strip() for d in documents) == sorted(texts)
        queries = {q.query_id: q.text for q in dataset.queries_iter()}
        assert sorted(queries.values()) == sorted(snapshot.queries.collect()["text"])
        ids = {d.doc_id for d in documents}
        judged = list(dataset.qrels_iter())
        assert len(judged) == snapshot.qrels.collect().height
        assert all(j.doc_id in ids and j.query_id in queries for j in judged)
        if layout == "longeval-web":
            prior = [d.get_snapshot() for d in dataset.get_prior_datasets()]
            assert prior == list(original.snapshots[:place][::-1])


def test_the_mapping_names_every_document(release: tuple[str, Path], built: BuildReport) -> None:
    layout, folder = release
    if layout != "longeval-web":
        pytest.skip("only the later layout has one")
    with sqlite3.connect(folder / "French/collection_db.db") as connection:
        rows = connection.execute("SELECT url, date FROM mapping").fetchall()
    held = builder.open_collection(built.root).table("documents_map").collect()
    assert {url for url, _ in rows} == set(held["url"])
    assert sum(len(json.loads(names)) for _, names in rows) == held["snapshots"].list.len().sum()


def test_judgements_are_those_of_trec(built: BuildReport, tmp_path: Path) -> None:
    export(built.root, "trec", tmp_path / "trec")
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        path = tmp_path / "trec" / name / "qrels.txt"
        found = parse_trec(path.read_bytes(), QRELS, path)
        assert found.height == collection.snapshot(name).qrels.collect().height
        inside = collection.path / "trec" / name
        for path in (p for p in inside.rglob("*") if p.is_file()):
            same = tmp_path / "trec" / name / path.relative_to(inside)
            assert same.read_bytes() == path.read_bytes()


def test_parquet_for_hugging_face(built: BuildReport, tmp_path: Path) -> None:
    out = export(built.root, "huggingface", tmp_path / "hf")
    card = (out / "README.md").read_text("utf-8")
    assert card.count("config_name:") == 5
    assert card.count("- split: snapshot_2022_0") == 9
    described = json.loads((out / "croissant.json").read_text())
    assert len(described["recordSet"]) == 9
    (qrels,) = (each for each in described["recordSet"] if each["@id"] == "qrels_2022_06")
    descriptions = {field["name"]: field["description"] for field in qrels["field"]}
    assert descriptions["grade"] == "0 not relevant, 1 relevant, 2 highly relevant"
    mlcroissant = pytest.importorskip("mlcroissant")
    for folder in (out, built.version):
        dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
        assert not dataset.metadata.issues.errors
        record = next(iter(dataset.records(record_set="qrels_2022_06")))
        assert record["qrels_2022_06/grade"] in (0, 1, 2)


def test_wrong_uses(built: BuildReport, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown layout 'zip'; expected one of trec"):
        export(built.root, "zip", tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        export(built.root, "trec", tmp_path / "full")
    with pytest.raises(UsageError, match="no texts in en; available languages: fr"):
        export(built.root, "trec", tmp_path / "out", languages=("en",))
    for size in (0, -5):
        with pytest.raises(UsageError, match=f"size of at least 1 byte, found {size}"):
            export(built.root, "trec", tmp_path / "out", max_file_bytes=size)
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError, match="first 63 bits of their ids are equal"):
        assign_document_numbers(pl.Series(["d" + "0" * 16, "d" + "0" * 15 + "1"]))


@pytest.mark.parametrize(
    ("place", "label"), [(0, "2022-06"), (1, "A-2022-06"), (26, "Z-2022-06"), (27, "AA-2022-06")]
)
def test_labels(place: int, label: str) -> None:
    assert snapshot_folder_name(place, "2022-06") == label


@settings(max_examples=examples(150), deadline=None)
@given(texts=st.lists(st.tuples(HOSTILE, TEXTS), min_size=1, max_size=4), size=st.integers(1, 200))
@example(texts=[("", "a\n</DOC>\n<DOC>\n<DOCNO>x</DOCNO>\n<TEXT>\nb")], size=1)
@example(texts=[("é" * 5, "x" * 2**20)], size=10)
def test_hostile_texts_come_back(
    texts: list[tuple[str, str]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    ids = [f"d{n:016x}" for n in range(len(texts))]
    frame = pl.DataFrame(
        {"doc_id": ids, "title": [t for t, _ in texts], "text": [t for _, t in texts]},
        schema_overrides={"title": pl.String, "text": pl.String},
    )
    frame.write_parquet(folder / "t.parquet")
    wanted = frame.select("doc_id", text=join_lines_expr(pl.col("title"), pl.col("text"))).rows()
    table = Table((folder / "t.parquet",), Documents)
    for kind, documents, around in (
        ("trec", render_trec_documents(table, "", NoProgress()), ("", "", "")),
        ("json", render_json_documents(table, "", NoProgress()), ("[\n", ",\n", "\n]\n")),
    ):
        parts = DocumentFileWriter(folder / kind, lambda n: f"{n:03d}", size, around)
        assert write_document_files(parts, documents) == len(texts)
        log = ImportLog()
        found = []
        for path in sorted((folder / kind).iterdir()):
            pages = read_documents(path, path.name, log, is_markup_escaped=kind == "trec")
            found += [(page.doc_id, page.text.strip("\n")) for page in pages]
        assert found == wanted
        assert log.records_read == len(texts)


@pytest.mark.parametrize("name", ["snapshots/2022-07/qrels", "snapshots/2022-06/queries", "topics"])
def test_tables_edited_after_publication_are_not_exported(
    name: str, built: BuildReport, tmp_path: Path
) -> None:
    """An export had 5 judgements of 176, and nothing said so."""
    assert built.version is not None
    copy = Path(shutil.copytree(built.version, tmp_path / "0.1.0"))
    path = copy / f"{name}.parquet"
    size = path.stat().st_size
    pl.read_parquet(path).head(2).write_parquet(path)
    for layout in ("trec", "huggingface"):
        with pytest.raises(FormatError) as raised:
            export(copy, layout, tmp_path / layout)
        assert str(raised.value) == (
            f"{path}: expected the published file, but the file was changed: "
            f"{path.stat().st_size:,} bytes instead of {size:,}; restore the version, then check "
            f"it with: longeval validate {copy}"
        )
        assert not (tmp_path / layout).exists()
