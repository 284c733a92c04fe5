"""Drift of any two snapshots of a version: the same as the drift that the build measured."""

import gzip
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport, SimulationParameters
from builder.collection.drift_file import read_drift
from builder.commands import drift
from builder.drift import list_findings, render_report, summarize_pairs
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from tests.collection.releases import imported, write

WORLD = SimulationParameters(
    name="two", snapshots=2, documents=300, queries=40, impressions=3000, seed=5, malformed_rate=0
)
OVERRIDE = '\n[snapshots.overrides.log]\nencoding = "utf-8"\n'
DROP = '\n[documents]\nduplicates = "drop"\n'


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of two months; of the second, the log has an override and 40 pages one text."""
    folder = tmp_path_factory.mktemp("two")
    builder.simulate(folder, WORLD)
    definition = folder / "workflow.toml"
    definition.write_text(definition.read_text() + OVERRIDE + DROP)
    (crawl,) = (folder / "crawls").glob("2022-07*")
    pages = [json.loads(line) for line in gzip.decompress(crawl.read_bytes()).splitlines()]
    for page in pages[:40]:
        page |= {"title": "Accueil", "text": "Bienvenue sur ce site"}
    lines = "".join(json.dumps(page) + "\n" for page in pages)
    crawl.write_bytes(gzip.compress(lines.encode()))
    report = builder.build(definition, folder / "out")
    assert report.version is not None
    return report.version


def test_a_pair_that_the_build_did_not_measure(version: Path, tmp_path: Path) -> None:
    """Pages that were shown and left out were said not to be shown."""
    collection = builder.open_collection(version)
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    found = drift._compute_pair_drift(collection, ("2022-06", "2022-07"), limits, NoProgress())
    assert found["pairs"][0]["documents"]["left_out"] > 0
    assert found == read_drift(version)


def test_overrides_are_recorded_and_checked(version: Path) -> None:
    manifest = builder.open_collection(version).manifest
    june, july = manifest["definition"]["snapshots"]
    assert "overrides" not in june
    assert july["overrides"] == {"log": {"encoding": "utf-8"}}
    checks = (read_drift(version) or {})["checks"]
    (agree,) = (check for check in checks if check["check"] == "parameters_agree")
    assert agree["verdict"] == "cannot tell"
    assert agree["evidence"] == (
        "the raw files are read differently, which is right only if their format changed: "
        "log.encoding auto -> utf-8"
    )


def test_left_out_pages_that_are_not_all_listed(version: Path, tmp_path: Path) -> None:
    """Beyond 100,000, rejects are only counted, so that it is unknown which pages were shown."""
    copy = tmp_path / "copy"
    shutil.copytree(version, copy)
    path = copy / "snapshots/2022-07/rejects.parquet"
    rejects = pl.read_parquet(path)
    of_coverage = pl.col("stage") == "coverage"
    rejects.with_columns(key=pl.when(~of_coverage).then("key")).write_parquet(path)
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    collection = builder.open_collection(copy)
    found = drift._compute_pair_drift(collection, ("2022-06", "2022-07"), limits, NoProgress())
    documents = found["pairs"][0]["documents"]
    assert documents["removed_crawl_unknown"] == documents["removed"] > 0
    assert (documents["not_shown"], documents["left_out"]) == (0, 0)


def test_two_of_three_snapshots(built: BuildReport, tmp_path: Path) -> None:
    """Pages, queries and clicks were those of all snapshots, and one sentence, too."""
    assert built.version is not None
    pair, limits = ("2022-06", "2022-07"), ResourceLimits(tmp_path, threads=1, memory=2**30)
    collection = builder.open_collection(built.version)
    wanted = drift._compute_pair_drift(collection, pair, limits, NoProgress())
    found = drift.compute_drift(built.version, *pair, limits, NoProgress())
    assert found.keys() == wanted.keys()
    assert found["vocabulary"] == {"all": wanted["vocabulary"]["all"], "core": []}
    assert "2022-08" not in json.dumps(found)
    assert "pages_stay" not in {check["check"] for check in found["checks"]}
    pairs = [entry["from"] for entry in found["pairs"]]
    assert pairs == ["2022-06"]
    for key in wanted.keys() - {"vocabulary", "checks", "pairs"}:
        assert found[key] == wanted[key], key
    assert list_findings(found)[0].text.endswith(" pages are in both.")
    assert "Pages in every snapshot" not in render_report(found)


def test_months_of_an_imported_release_that_are_not_consecutive(tmp_path: Path) -> None:
    """The ids of the release were read as hashes, which was an error."""
    months = {
        "2022-06": ("31\teau\n32\tpain\n", "31 0 1055394804595009755 1\n32 0 7 2\n"),
        "2022-07": ("31\teau\n", "31 0 7 1\n"),
        "2022-08": ("77\teau\n32\tlait\n", "77 0 1055394804595009755 0\n32 0 7 1\n"),
    }
    for month, (queries, qrels) in months.items():
        write(tmp_path / f"r/queries/{month}_queries.txt", queries)
        write(tmp_path / f"r/qrels/{month}_fr/qrels_processed.txt", qrels)
    version = imported(tmp_path / "r", "longeval-web").version
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    found = drift.compute_drift(version, "2022-06", "2022-08", limits, NoProgress())
    assert summarize_pairs(found)[0][6:10] == (1, 1, 1, 1)
