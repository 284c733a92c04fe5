"""What the benchmarks work on is what the program makes: they would break unseen otherwise."""

from pathlib import Path

from builder.collection.validate import validate
from tests.bench.bench_collection import write_version


def test_the_version_that_is_validated_is_a_version(tmp_path: Path) -> None:
    version = write_version(tmp_path, 40)
    assert [finding.check for finding in validate(version)] == ["LB224"]  # it has no queries
    parts = list((version / "snapshots/2022-06/documents").glob("*.parquet"))
    assert len(parts) == 1
