"""A simulated world with known truth, through the whole pipeline."""

import json
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import builder
from builder import BuildReport, DataError, UsageError
from builder.text.keys import doc_id, fold_texts, key64, query_id, url_key
from schemas import GRADES

EVIDENCE = ("impressions", "examinations", "clicks", "last_clicks")


def sums(root: Path) -> str:
    (path,) = root.glob("*/SHA256SUMS")
    return path.read_text()


def ran(report: BuildReport) -> list[str]:
    return [str(result.step) for result in report.results if result.has_run]


@pytest.fixture
def copy(built: BuildReport, world: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A definition and a collection folder that a test may change."""
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(built.root, tmp_path / "collection")
    return tmp_path / "world/workflow.toml", tmp_path / "collection"


def test_the_collection_is_valid(built: BuildReport) -> None:
    assert builder.validate(built.root) == []


@pytest.fixture(scope="module")
def rebuilt(built: BuildReport, world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same collection, built by one thread from and into folders of odd names."""
    folder = tmp_path_factory.mktemp("again")
    raw, out = (folder / f"{name} [1] *?{{a}}" for name in ("raw", "out"))
    shutil.copytree(world, raw)
    shutil.copytree(built.root, folder / "out 1 bc{a}")  # what `out` would mean as a pattern
    return builder.build(raw / "workflow.toml", out, threads=1, memory="512MiB").root


def test_bytes_do_not_depend_on_threads(built: BuildReport, rebuilt: Path) -> None:
    assert sums(rebuilt) == sums(built.root)


def test_names_of_folders_are_no_patterns(built: BuildReport, rebuilt: Path) -> None:
    assert builder.validate(rebuilt) == []
    opened, wanted = (builder.open_collection(path) for path in (rebuilt, built.root))
    name = wanted.snapshots[0]
    for table in ("documents", "queries", "qrels"):
        found = getattr(opened.snapshot(name), table).collect()
        assert found.equals(getattr(wanted.snapshot(name), table).collect())


def test_rows_in_are_rows_out_and_rejects(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    for name, record in collection.manifest["units"].items():
        ledger = record["ledger"]
        dropped = sum(ledger["rejected"].values())
        assert ledger["rows_in"] == ledger["rows_out"] + dropped, name
        assert ledger["rows_out"] > 0 or "verdicts" in name, name


def test_every_planted_fault_is_found(built: BuildReport, world: Path) -> None:
    truth = pl.read_parquet(world / "truth/malformed.parquet")
    collection = builder.open_collection(built.root)
    frames = [collection.snapshot(name).rejects.collect() for name in collection.snapshots]
    rejects = pl.concat(frames).filter(pl.col("line").is_not_null())
    found = set(rejects.select("file", "line").iter_rows())
    planted = set(truth.select("file", "line").iter_rows())
    assert planted
    assert planted <= found


def _representatives(root: Path, snapshot: str) -> dict[int, int]:
    """The query key under which each candidate's clicks are counted."""
    (path,) = root.glob(f".work/variants/{snapshot}/*/variants.parquet")
    return dict(pl.read_parquet(path, columns=["query", "representative"]).iter_rows())


def _reference(
    world: Path, snapshot: str, faults: set[int], representatives: dict[int, int]
) -> dict[tuple[str, str], list[int]]:
    """sDBN counts in plain Python: one impression at a time."""
    import gzip

    fold = cache(lambda text: key64(fold_texts([text])[0]))
    document = cache(lambda url: doc_id(key64(url_key(url))))
    counts: dict[tuple[str, str], list[int]] = {}
    with gzip.open(world / f"logs/{snapshot}.jsonl.gz") as file:
        lines = file.read().split(b"\n")
    for number, line in enumerate(lines, 1):
        if number in faults or not line:
            continue
        page = json.loads(line)
        query = fold(page["query"])
        query = representatives.get(query, query)
        last = max(page["clicks"], default=len(page["results"]))
        for rank, url in enumerate(page["results"], 1):
            pair = counts.setdefault((query_id(query), document(url)), [0] * 4)
            pair[0] += 1
            pair[1] += rank <= last
            pair[2] += rank in page["clicks"]
            pair[3] += rank == max(page["clicks"], default=0)
    return counts


def test_click_counts_are_those_of_the_reference(built: BuildReport, world: Path) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        rejects = collection.snapshot(name).rejects.collect()
        logged = rejects.filter((pl.col("stage") == "log") & pl.col("line").is_not_null())
        representatives = _representatives(built.root, name)
        reference = _reference(world, name, set(logged["line"]), representatives)
        qrels = collection.snapshot(name).qrels.collect()
        assert qrels.height > 100
        for row in qrels.iter_rows(named=True):
            expected = reference[row["query_id"], row["doc_id"]]
            assert [row[kind] for kind in EVIDENCE] == expected


def _correlation(world: Path, version: Path, snapshot: str, least: int) -> tuple[int, float]:
    """Pairs with enough evidence, and how attractiveness goes with its truth."""
    truth = pl.read_parquet(world / "truth/attraction.parquet")
    truth = truth.filter(pl.col("snapshot") == snapshot)
    folded = fold_texts(truth["query"])
    truth = truth.with_columns(
        query_id=pl.Series([f"q{key64(query):016x}" for query in folded]),
        doc_id=pl.Series([doc_id(key64(url_key(url))) for url in truth["url"]]),
    ).unique(["query_id", "doc_id"])
    qrels = builder.open_collection(version).snapshot(snapshot).qrels.collect()
    both = qrels.filter(pl.col("examinations") >= least).join(
        truth.select("query_id", "doc_id", truth="attractiveness"), on=["query_id", "doc_id"]
    )
    return both.height, both.select(pl.corr("attractiveness", "truth")).item()


def test_the_true_attractiveness_is_recovered(built: BuildReport, world: Path) -> None:
    for snapshot in builder.open_collection(built.root).snapshots:
        pairs, correlation = _correlation(world, built.root, snapshot, least=100)
        assert pairs >= 30
        assert correlation > 0.95


def test_every_judgement_is_whole(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        snapshot = collection.snapshot(name)
        documents = snapshot.documents.select("doc_id").collect()["doc_id"]
        queries = snapshot.queries.collect()
        qrels = snapshot.qrels.collect()
        assert set(qrels["doc_id"]) <= set(documents)
        assert set(qrels["query_id"]) == set(queries["query_id"])
        judged = dict(Counter(qrels["query_id"]))
        assert dict(queries.select("query_id", "judged").iter_rows()) == judged
        assert set(qrels["grade"]) <= set(GRADES)


def test_no_user_and_no_personal_data_is_published(built: BuildReport, world: Path) -> None:
    personal = pl.read_parquet(world / "truth/personal.parquet")["text"].to_list()
    assert personal
    texts: list[str] = []
    for name in (collection := builder.open_collection(built.root)).snapshots:
        queries = collection.snapshot(name).queries.collect()
        assert queries["users"].min() >= 5
        texts += queries["text"].to_list()
    assert not set(fold_texts(personal)) & set(fold_texts(texts))


def test_a_second_build_does_nothing(copy: tuple[Path, Path]) -> None:
    definition, root = copy
    before = sums(root)
    report = builder.build(definition, root)
    assert report.executed_step_count == 0
    assert not report.published
    assert sums(root) == before


def test_a_click_parameter_runs_only_what_depends_on_it(copy: tuple[Path, Path]) -> None:
    definition, root = copy
    definition.write_text(definition.read_text() + '\n[clicks]\nno_click = "skip"\n')
    planned = builder.build(definition, root, explain=True)
    reasons = {str(result.step): result.reasons for result in planned.results}
    assert reasons["clicks 2022-06"] == ("clicks.no_click all_examined -> skip",)
    report = builder.build(definition, root)
    stages = {name.split()[0] for name in ran(report)}
    assert "clicks" in stages
    assert not stages & {"topics", "log", "crawl", "select", "shown", "documents"}
    assert {name.split()[0] for name in ran(planned)} == {"clicks", "pair_drift"}
    assert stages <= {result.step.stage.name for result in planned.results if result.reasons}
    assert builder.validate(root) == []


def test_part_of_a_build(world: Path, tmp_path: Path) -> None:
    report = builder.build(world / "workflow.toml", tmp_path, snapshots=["2022-07"], until="qrels")
    assert report.version is None
    assert "qrels 2022-07" in ran(report)
    assert not {"crawl 2022-06", "qrels 2022-06", "log 2022-08", "split 2022-07"} & set(ran(report))
    assert list(tmp_path.glob(".work/qrels/2022-07/*/qrels.parquet"))
    assert [path.name for path in tmp_path.iterdir()] == [".work"]


def test_one_more_snapshot_leaves_the_others_alone(
    world: Path, built: BuildReport, tmp_path: Path
) -> None:
    shutil.copytree(built.root / ".work", tmp_path / "c/.work")
    of_the_last = [*(tmp_path / "c/.work").glob("*/*2022-08*")]
    assert len(of_the_last) > 10
    for path in of_the_last:
        shutil.rmtree(path)
    text = (world / "workflow.toml").read_text()
    shutil.copytree(world, tmp_path / "world")
    definition = tmp_path / "world/workflow.toml"
    definition.write_text(text[: text.rindex("[[snapshots]]")])
    builder.build(definition, tmp_path / "c")
    files = (tmp_path / "c").glob("0.1.0/snapshots/*/**/*.parquet")
    before = {path: path.read_bytes() for path in files}
    definition.write_text(text)
    report = builder.build(definition, tmp_path / "c")
    assert len(before) >= 10
    assert {path: path.read_bytes() for path in before} == before
    assert not any("2022-06" in name and "_" not in name for name in ran(report))
    assert {"log 2022-08", "crawl 2022-08", "clicks 2022-08"} <= set(ran(report))
    assert builder.open_collection(tmp_path / "c").snapshots == ("2022-06", "2022-07", "2022-08")


def _release(definition: Path) -> None:
    text = definition.read_text()
    definition.write_text(text.replace('version = "0.1.0"', 'version = "1.0.0"'))


def test_a_released_version_never_changes(copy: tuple[Path, Path]) -> None:
    definition, root = copy
    _release(definition)
    builder.build(definition, root)
    before = (root / "1.0.0/SHA256SUMS").read_bytes()
    definition.write_text(definition.read_text() + '\n[clicks]\nno_click = "skip"\n')
    message = r"version 1.0.0 is already published .*clicks.no_click: all_examined -> skip"
    with pytest.raises(UsageError, match=message):
        builder.build(definition, root)
    assert (root / "1.0.0/SHA256SUMS").read_bytes() == before


def test_damage_after_the_build_is_found_and_repaired(copy: tuple[Path, Path]) -> None:
    definition, root = copy
    before = sums(root)
    path = root / "0.1.0/snapshots/2022-07/qrels.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[100] ^= 1
    path.write_bytes(damaged)
    (finding, *_) = builder.validate(root)
    assert finding.check == "LB003"
    assert finding.where == "snapshots/2022-07/qrels.parquet"
    shutil.rmtree(root / "0.1.0")
    builder.build(definition, root)
    assert sums(root) == before
    assert builder.validate(root) == []


def test_checksums_can_be_checked_without_us(built: BuildReport) -> None:
    import subprocess

    done = subprocess.run(
        ["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=built.version, check=False
    )
    assert done.returncode == 0


def test_manifest_records_every_parameter(built: BuildReport) -> None:
    from builder.parameters import StageParameters

    manifest: dict[str, Any] = builder.open_collection(built.root).manifest
    recorded = manifest["definition"]["parameters"]
    defaults = StageParameters().model_dump(mode="json")
    assert {s: sorted(v) for s, v in recorded.items()} == {
        s: sorted(v) for s, v in defaults.items()
    }
    assert manifest["signature"].startswith("small 0.1.0|snapshots 3|content ")


def test_another_build_at_the_same_time_is_refused(copy: tuple[Path, Path]) -> None:
    from builder.runtime.store import Store

    definition, root = copy
    with Store(root).lock(), pytest.raises(DataError, match="another build"):
        builder.build(definition, root)
