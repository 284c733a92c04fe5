"""What the benchmarks work on is what the program makes: they would break unseen otherwise."""

from pathlib import Path

import builder
from builder.collection.validate import validate
from schemas import TABLES
from tests.bench import explored
from tests.bench.bench_collection import write_version


def test_the_version_that_is_validated_is_a_version(tmp_path: Path) -> None:
    version = write_version(tmp_path, 40)
    found = {finding.check for finding in validate(version)}
    assert found == {"LB001", "LB224"}  # it has no card, no report and no queries
    parts = list((version / "snapshots/2022-06/documents").glob("*.parquet"))
    assert len(parts) == 1


def test_the_version_that_is_explored_keeps_the_contracts(tmp_path: Path) -> None:
    version = explored.write_version(tmp_path, 60, 5)
    collection = builder.open_collection(version)
    for name in collection.snapshots:
        snapshot = collection.snapshot(name)
        for table in ("documents", "queries", "qrels"):
            TABLES[table].validate(getattr(snapshot, table).collect(), cast=True)
    for table in ("documents_map", "queries_map", "document_changes", "qrel_changes"):
        TABLES[table].validate(collection.table(table).collect(), cast=True)
