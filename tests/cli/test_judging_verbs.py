"""From runs to judged pairs and back into the collection, through the command line alone."""

import csv
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.cli import main

Captured = pytest.CaptureFixture[str]
SNAPSHOT = "2022-07"


def run(*arguments: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def judge(sheet: Path, grade: str, most: int) -> Path:
    """Fill in the first pairs of a sheet."""
    with sheet.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        rows = list(reader)
        names = reader.fieldnames
    assert names
    for row in rows[:most]:
        row["grade"] = grade
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    return sheet


@pytest.fixture(scope="module")
def pooled(built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool of a BM25 run, with sheets for two assessors."""
    folder = tmp_path_factory.mktemp("judging")
    assert run("baseline", built.root, "--out", folder / "runs", "--depth", "30", "--quiet") == 0
    out = folder / "pool"
    options = ("--snapshot", SNAPSHOT, "--out", out, "--assessor", "ann", "--assessor", "bob")
    assert run("pool", built.root, folder / "runs" / f"{SNAPSHOT}.txt.gz", *options) == 0
    return out


def test_a_pool_has_strata_and_leaves_out_what_is_judged(
    built: BuildReport, pooled: Path, tmp_path: Path, capsys: Captured
) -> None:
    pool = pl.read_parquet(pooled / "pool.parquet")
    strata = dict(pool.group_by("stratum").len().iter_rows())
    queries = pool["query_id"].n_unique()
    assert 4.8 * queries < strata["1-5"] <= 5 * queries
    assert 0.3 < strata["6-10"] / (5 * queries) < 0.7
    assert 0.1 < strata["11-30"] / (20 * queries) < 0.4
    judged = tmp_path / "judged.parquet"
    assert run("assess", "import", judge(pooled / "sheet-ann.tsv", "0", 7), "--out", judged) == 0
    capsys.readouterr()
    (run_file,) = (pooled.parent / "runs").glob(f"{SNAPSHOT}*")
    options = ("--snapshot", SNAPSHOT, "--out", tmp_path / "more", "--judged", judged)
    assert run("pool", built.root, run_file, *options) == 0
    assert "7 already judged" in capsys.readouterr().out
    left = pl.read_parquet(tmp_path / "more/pool.parquet")
    assert left.join(pl.read_parquet(judged), on=["query_id", "doc_id"], how="semi").is_empty()


def test_judgements_win_over_clicks_and_both_are_kept(
    world: Path, built: BuildReport, pooled: Path, tmp_path: Path, capsys: Captured
) -> None:
    sheets = [judge(pooled / f"sheet-{name}.tsv", "2", 60) for name in ("ann", "bob")]
    judgements = tmp_path / "world/judgements.parquet"
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(built.root, tmp_path / "collection")
    assert run("assess", "import", *sheets, "--out", judgements) == 0
    assert "wrote 120 judgements" in capsys.readouterr().out
    definition = tmp_path / "world/workflow.toml"
    head, tail = definition.read_text().split(f'name = "{SNAPSHOT}"\n')
    line = 'judgements = ["judgements.parquet"]\n'
    definition.write_text(f'{head}name = "{SNAPSHOT}"\n{line}{tail}')
    report = builder.build(definition, tmp_path / "collection")
    ran = {str(result.step) for result in report.results if result.has_run}
    assert f"qrels {SNAPSHOT}" in ran
    assert f"clicks {SNAPSHOT}" not in ran
    qrels = builder.open_collection(report.root).snapshot(SNAPSHOT).qrels.collect()
    manual = qrels.filter(source="manual")
    pairs = pl.read_parquet(judgements).select("query_id", "doc_id").unique()
    assert manual.height == qrels.join(pairs, on=["query_id", "doc_id"], how="semi").height > 20
    assert manual["grade"].unique().to_list() == [2]
    assert manual["click_grade"].is_not_null().any()
    assert builder.validate(report.root) == []
    capsys.readouterr()
    options = ("--collection", report.root, "--snapshot", SNAPSHOT)
    assert run("assess", "agreement", judgements, *options, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["clicks"]["pairs"] == manual["click_grade"].is_not_null().sum()
    (both,) = found["assessors"]
    assert (both["first"], both["second"], both["pairs"], both["same"]) == ("ann", "bob", 60, 60)
    assert run("assess", "agreement", judgements) == 0
    assert "undefined" in capsys.readouterr().out


def test_wrong_uses(built: BuildReport, pooled: Path, tmp_path: Path, capsys: Captured) -> None:
    options = ("--snapshot", SNAPSHOT, "--out", tmp_path / "p")
    assert run("pool", built.root, tmp_path / "none.txt", *options) == 2
    assert run("pool", built.root, pooled / "pool.parquet", *options) != 0
    assert run("assess", "import", tmp_path / "no.tsv", "--out", tmp_path / "j.parquet") == 2
    assert run("assess", "agreement", pooled / "sheet-ann.tsv", "--snapshot", SNAPSHOT) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_models_are_compared_on_held_out_pages(
    world: Path, tmp_path: Path, capsys: Captured
) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {"time": n, "user": f"u{n}", "query": f"q{n % 7}", "results": list("abcde"), "clicks": [1]}
        for n in range(200)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--model", "sdbn", "--model", "pbm")
    assert run("clicks", "compare", log, *options, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [score["model"] for score in found["scores"]] == ["sdbn", "pbm", "rank-ctr"]
    assert (found["train"], found["test"], found["unseen"]) == (150, 50, 0)
    assert run("clicks", "compare", log, "--by-rank") == 0
    shown = capsys.readouterr().out
    assert "convention pyclick" in shown
    assert "convention per_rank" in shown
    assert run("clicks", "compare", log, "--held-out", "2") == 2
    assert run("clicks", log, "--out", tmp_path / "p.tsv", "--prior-alpha", "0") == 2
    assert "--prior-alpha: Input should be greater than 0" in capsys.readouterr().err


def test_a_comparison_counts_rejects(tmp_path: Path, capsys: Captured) -> None:
    log = tmp_path / "log.jsonl"
    good = json.dumps({"query": "q", "results": ["a", "b"], "clicks": [1]}) + "\n"
    log.write_text((good + "no json\n") * 4)
    assert run("clicks", "compare", log, "--model", "pbm") == 0
    assert (
        capsys.readouterr().out.splitlines()[0]
        == "4 impressions from 8 records; rejected: not_json 4"
    )
    assert run("clicks", "compare", log, "--chosen", "sbdn") == 2
    assert "unknown click model 'sbdn'; did you mean 'sdbn'?" in capsys.readouterr().err


def test_a_model_that_loses_to_clicks_by_rank_is_named(tmp_path: Path, capsys: Captured) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {
            "time": n,
            "query": "q",
            "results": ["abcde"[(n + k) % 5] for k in range(5)],
            "clicks": [5],
        }
        for n in range(100)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("clicks", "compare", log, "--chosen", "sdbn") == 0
    assert "warning: sdbn predicts held-out clicks worse" in capsys.readouterr().err
