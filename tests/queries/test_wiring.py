"""Queries through a whole build: merged labels, frozen topics, leaks, the funnel."""

import gzip
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport, DataError
from builder.cli import main
from builder.io.tables import Table
from builder.parameters import VariantParameters
from builder.queries import find_leaks
from builder.runtime.ledger import RowLedger
from builder.runtime.progress import NoProgress
from schemas import NearLeaks, Queries
from tests.faults.kills import published


@pytest.fixture
def copy(built: BuildReport, world: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A definition and a collection folder that a test may change."""
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(built.root, tmp_path / "collection")
    return tmp_path / "world/workflow.toml", tmp_path / "collection"


def _ledger(report: BuildReport, step: str) -> RowLedger:
    (found,) = [result.ledger for result in report.results if str(result.step) == step]
    assert found is not None
    return found


def test_labels_are_merged_where_the_definition_says_so(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    before = published(undisturbed[0])
    definition = shutil.copytree(undisturbed[0].parent, tmp_path / "world") / "workflow.toml"
    root = shutil.copytree(before.parent, tmp_path / "collection")
    definition.write_text(definition.read_text() + '\n[variants]\nmerge = "labels"\n')
    report = builder.build(definition, root)
    ledger = _ledger(report, "qrels 2022-06")
    assert ledger.rejected["label_merged"] > 0
    merged = builder.open_collection(root).snapshot("2022-06")
    clicks = builder.open_collection(before).snapshot("2022-06")
    sets = merged.queries.select("variant_set").collect()["variant_set"].drop_nulls()
    assert sets.is_unique().all()
    assert not merged.qrels.collect().equals(clicks.qrels.collect())
    assert builder.validate(root) == []


def test_topics_of_a_released_collection_are_frozen(copy: tuple[Path, Path]) -> None:
    definition, root = copy
    definition.write_text(definition.read_text().replace('"0.1.0"', '"1.0.0"'))
    builder.build(definition, root)
    topics = definition.with_name("topics.tsv")
    lines = topics.read_text().splitlines()
    definition.write_text(definition.read_text().replace('"1.0.0"', '"1.1.0"'))
    topics.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(DataError, match="expected the topics of the published collection"):
        builder.build(definition, root)
    again = [re.sub(r"\t[^\t]*$", "\tother source", line) for line in lines[1:]]
    topics.write_text("\n".join([lines[0], *again]) + "\n")
    assert builder.build(definition, root).published


def _sides(rows: list[tuple[str, str, str, str | None]]) -> pl.DataFrame:
    names = ("query_id", "text", "split", "variant_set")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def test_near_leaks_are_listed_and_leaks_stop_the_build(room) -> None:  # type: ignore[no-untyped-def]
    train = [("q0000000000000001", "loi travail", "train", None)]
    near = [("q0000000000000002", "lois du travail", "test", None)]
    same = [("q0000000000000003", "Loi  Travail", "test", None)]

    def run(later: list[tuple[str, str, str, str | None]]) -> Path:
        out: Path = room.out()
        tables = {}
        for name, rows in (("2022-06", train), ("2022-07", later)):
            path = room.out() / "queries.parquet"
            _sides(rows).write_parquet(path)
            tables[name] = Table((path,), Queries)
        ledger = find_leaks(
            out,
            split_queries=tables,
            params=VariantParameters(),
            limits=room.limits,
            progress=NoProgress(),
        )
        assert (ledger.rows_in, ledger.rows_out) == (2, 2)
        return out

    found = pl.read_parquet(run(near) / "near_leaks.parquet")
    NearLeaks.validate(found)
    assert found.select("snapshot", "query_id", "trained_id").rows() == [
        ("2022-07", "q0000000000000002", "q0000000000000001")
    ]
    with pytest.raises(DataError, match="expected no held-out or test query in training, found 1"):
        run(same)


def test_the_funnel_is_in_the_manifest_and_on_the_card(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        steps = collection.manifest["selection"][name]
        ledger = collection.manifest["units"][f"select {name}"]["ledger"]
        assert [step["rule"] for step in steps][:2] == ["only_left_out_users", "too_few_users"]
        assert steps[-1]["remaining"] == ledger["rows_out"]
        left = ledger["rows_in"]
        for step in steps:
            left -= step["left_out"]
            assert step["remaining"] == left
    card = (collection.path / "README.md").read_text()
    assert "| too few users |" in card


def _run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def test_topics_are_ranked_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts, out = tmp_path / "views.tsv", tmp_path / "topics.tsv"
    rows = [("eau", 100, 100, 100), ("vague", 300, 0, 0), ("loi", 80, 90, 100)]
    lines = [f"{t}\t2022-0{m}\t{n}" for t, *ns in rows for m, n in enumerate(ns, 1)]
    counts.write_text("label\tmonth\tcount\n" + "\n".join(lines) + "\n")
    assert _run("topics", "rank", counts, "--top", "2", "--out", out, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in found["topics"]] == ["eau", "loi"]
    assert "cv" in found["formula"]
    assert found["notes"] == []
    assert out.read_text().splitlines()[1].startswith("t0001\teau\t\tfr\trank 1, score ")
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\teau potable\nq2\tbordeaux\nq3\tl'eau\nq4\tsite:a.example loi\n")
    assert _run("topics", "audit", out, queries, "--format", "json") == 0
    audit = json.loads(capsys.readouterr().out)
    taken = {(r["topic_id"], r["policy"]): r["texts"] for r in audit["counts"]}
    assert taken["t0001", "substring"] == 3
    assert taken["t0001", "word"] == 2
    assert {"topic_id": "t0001", "word": "bordeaux", "queries": 1} in audit["false_words"]
    assert _run("queries", "audit", queries, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["faults"]["search_operator"] == 1
    for arguments in (("topics", "rank", counts), ("topics", "audit", out, queries)):
        assert _run(*arguments) == 0
    counts.write_text(counts.read_text() + "eau\t2022-05\t100\n")
    assert _run("topics", "rank", counts) == 0
    assert "\nnote: months without a row, whose counts are taken as 0: 1 (2022-04); " in (
        capsys.readouterr().out
    )
    assert _run("queries", "audit", queries) == 0
    assert "search_operator" in capsys.readouterr().out
    assert _run("topics", "rank", tmp_path / "none.tsv") == 2


def test_no_user_and_no_personal_data_leaves_ingestion(built: BuildReport, world: Path) -> None:
    """Searched byte by byte in every published file and every table after ingestion."""
    planted = pl.read_parquet(world / "truth/personal.parquet")["text"].to_list()
    needles = set(planted)
    (log,) = sorted(world.glob("logs/*"))[:1]
    found_users = re.findall(r'"user": ?"([^"]+)"', "\n".join(_lines(log)[:2000]))
    users = set(found_users)
    needles |= {user for user in users if len(user) > 2}
    assert len(needles) > 50
    assert _holding(
        pl.Series([gzip.decompress(log.read_bytes()).decode("utf-8", "replace")]), needles
    )
    files = [p for p in built.root.rglob("*") if p.is_file() and "/log/" not in str(p)]
    texts = 0
    for path in files:
        for data in _contents(path):
            texts += 1
            found = _holding(data, needles)
            assert not found, (path, found)
    assert texts > 100


def _lines(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = data.decode("utf-8", "replace").split("\n")
    return [line for line in lines if line.startswith("{") and line.endswith("}")]


def _holding(texts: pl.Series, needles: set[str]) -> list[str]:
    """The texts that hold one of the needles."""
    return texts.filter(texts.str.contains_any(sorted(needles))).to_list()


def _contents(path: Path) -> list[pl.Series]:
    """The bytes of a file as text; of Parquet, the texts of its columns."""
    if path.suffix != ".parquet":
        return [pl.Series([path.read_bytes().decode("utf-8", "replace")])]
    frame = pl.read_parquet(path)
    return [frame[name].drop_nulls() for name, kind in frame.schema.items() if kind == pl.String]
