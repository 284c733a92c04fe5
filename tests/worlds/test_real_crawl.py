"""Real pages at several dates, with simulated users: the build finds what was simulated."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import SimulationParameters
from tests.thorough import ALL

MONTHS = ("2022-06", "2022-09", "2023-06", "2024-06")[: None if ALL else 2]
KNOWN = {
    ("2022-06", "2022-09"): (54, 5, 264),
    ("2022-09", "2023-06"): (208, 48, 798),
    ("2023-06", "2024-06"): (218, 39, 1276),
}
"""Pages added, removed, and updated by raw text."""


@pytest.fixture(scope="module")
def version(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of all pages of the crawls."""
    folder = tmp_path_factory.mktemp("real")
    crawls = [shared / f"crawl/{month}-30.jsonl.gz" for month in MONTHS]
    builder.simulate_over_crawls(
        folder / "world", crawls, SimulationParameters(queries=20, impressions=2000)
    )
    definition = folder / "world/workflow.toml"
    text = definition.read_text()
    definition.write_text(text + "\n[documents]\nsample_share = 1.0\n[export]\ntrec = false\n")
    report = builder.build(definition, folder / "collection")
    assert report.version is not None
    return report.version


def test_added_removed_and_updated(version: Path) -> None:
    changes = builder.open_collection(version).table("document_changes").collect()
    for earlier, later in pairwise(MONTHS):
        known = KNOWN[earlier, later]
        pair = changes.filter(
            (pl.col("from_snapshot") == earlier) & (pl.col("to_snapshot") == later)
        )
        added = pair["status"].is_in(["added", "returned"]).sum()
        removed = (pair["status"] == "removed").sum()
        in_both = pair.filter(pl.col("status").is_in(["updated", "unchanged"]))
        assert (added, removed, in_both["text_changed"].sum()) == known
        assert (pair["status"] == "updated").sum() <= known[2]


def test_it_is_valid(version: Path) -> None:
    assert builder.validate(version) == []
    assert builder.open_collection(version).snapshots == MONTHS
