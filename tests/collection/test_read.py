"""What opening a collection costs, and what is said where its documents are gone."""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.collection import read
from builder.collection.read import Snapshot
from builder.errors import FormatError


def test_the_manifest_is_parsed_once(built: BuildReport, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    parse = read.read_manifest

    def counted(path: Path) -> dict[str, object]:
        calls["read"] += 1
        return parse(path)

    monkeypatch.setattr(read, "read_manifest", counted)
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        snapshot = collection.snapshot(name)
        for _ in range(3):
            assert snapshot.documents.head(1).collect().height == 1
    assert calls["read"] == 1


def test_documents_that_are_gone_are_missed(built: BuildReport, tmp_path: Path) -> None:
    assert built.version is not None
    shutil.copytree(built.version, tmp_path / "0.1.0")
    collection = builder.open_collection(tmp_path)
    name = collection.snapshots[0]
    shutil.rmtree(tmp_path / "0.1.0/snapshots" / name / "documents")
    with pytest.raises(FormatError, match="documents according to the manifest, found none"):
        _ = collection.snapshot(name).documents


def test_a_snapshot_without_documents_has_an_empty_table(tmp_path: Path) -> None:
    assert Snapshot(tmp_path, "2022-06").documents.collect().rows() == []
    with pytest.raises(FormatError, match="expected 3 documents according to the manifest, found"):
        Snapshot(tmp_path, "2022-06", 3).document_files()


def test_rejects_of_a_version_are_those_of_its_stages(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        rejects = collection.snapshot(name).rejects.group_by("stage").agg(pl.col("rows").sum())
        counted = {
            result.step.stage.name: sum(result.ledger.rejected.values())
            for result in built.results
            if result.step.key == name and result.ledger is not None
        }
        assert dict(rejects.collect().rows()) == {k: n for k, n in counted.items() if n}
