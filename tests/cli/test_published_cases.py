"""Published values of Keller et al. (2024) through the command line alone."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder import BuildReport
from builder.cli import main

FIXTURES = Path(__file__).parents[1] / "evaluation" / "fixtures"
KELLER = json.loads((FIXTURES / "keller2024_p10.json").read_text())
TOY = json.loads((FIXTURES / "keller2024_toy.json").read_text())
MONTHS = {"WT": "2022-06", "ST": "2022-07", "LT": "2022-09"}


@pytest.fixture
def longeval(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Exit code and what a use of the command prints."""

    def call(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main([*map(str, arguments)])
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out + said.err

    return call


def write_scores(folder: Path, scores: dict[str, dict[str, list[float]]]) -> None:
    """Judgements of each month, and a table of scores per system and month."""
    (folder / "qrels").mkdir()
    for month in {month for by_month in scores.values() for month in by_month}:
        count = max(len(by_month[month]) for by_month in scores.values())
        lines = "".join(f"{month}q{i:03} 0 d 1\n" for i in range(count))
        (folder / f"qrels/{month}.qrels").write_text(lines)
    for system, by_month in scores.items():
        for month, values in by_month.items():
            path = folder / "runs" / system / f"{month}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = "".join(f"{month}q{i:03},P@10,{v!r}\n" for i, v in enumerate(values))
            path.write_text("query_id,measure,score\n" + rows)


def test_table_1_of_keller(tmp_path: Path, longeval: Callable[..., Any]) -> None:
    scores: dict[str, dict[str, list[float]]] = {}
    for system, hits in KELLER["hits"].items():
        scores[system] = {}
        for time, month in MONTHS.items():
            topics = KELLER["topics"][time]
            shares = [hits[time] // topics + (i < hits[time] % topics) for i in range(topics)]
            scores[system][month] = [share / 10 for share in shares]
    write_scores(tmp_path, scores)
    arguments = ("--measures", "P@10", "--pivot", "BM25", "--resamples", "0", "--format", "json")
    code, text = longeval("evaluate", tmp_path / "qrels", tmp_path / "runs", *arguments)
    assert code == 0, text
    found = {
        (row["system"], row["to_snapshot"], row["quantity"]): row["value"]
        for row in json.loads(text)["persistence"]
        if row["topic_set"] == "full"
    }
    checked = 0
    for system, printed in KELLER["printed"].items():
        for time, values in printed.items():
            names = ("arp_to", "re_delta_drop", "delta_ri", "effect_ratio")[: len(values)]
            if time != "WT":
                cells = [round(found[system, MONTHS[time], name], 3) for name in names]
                assert cells == values
                checked += len(values)
    assert checked >= 30


def test_both_t_tests_of_the_toy_case(tmp_path: Path, longeval: Callable[..., Any]) -> None:
    write_scores(tmp_path, {"s": {"2022-06": TOY["ttest"]["x"], "2022-07": TOY["ttest"]["y"]}})
    arguments = ("--measures", "P@10", "--resamples", "0", "--format", "json")
    code, text = longeval("evaluate", tmp_path / "qrels", tmp_path / "runs", *arguments)
    assert code == 0, text
    rows = [row for row in json.loads(text)["persistence"] if row["topic_set"] == "full"]
    found = {row["quantity"]: row["value"] for row in rows}
    assert found["p_unpaired"] == pytest.approx(TOY["ttest"]["p"], abs=1e-9)
    assert found["p_welch"] == pytest.approx(TOY["ttest"]["p_welch"], abs=1e-9)


def test_scores_per_query_are_written(tmp_path: Path, longeval: Callable[..., Any]) -> None:
    write_scores(tmp_path, {"s": {"2022-06": [0.5, 0.25], "2022-07": [1.0]}})
    paths = [tmp_path / f"scores.{kind}" for kind in ("csv", "parquet", "json", "txt")]
    arguments = ("evaluate", tmp_path / "qrels", tmp_path / "runs", "--measures", "P@10")
    codes = [longeval(*arguments, "--per-query", path)[0] for path in paths]
    assert codes == [0, 0, 0, 2]
    with paths[0].open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["query_id"], row["score"]) for row in rows] == [
        *(("2022-06q000", "0.5"), ("2022-06q001", "0.25"), ("2022-07q000", "1.0"))
    ]
    assert pl.read_parquet(paths[1])["score"].to_list() == [0.5, 0.25, 1.0]
    assert set(json.loads(paths[2].read_text())) == {"query_scores", "query_drops"}


def test_runs_are_checked(built: BuildReport, tmp_path: Path, longeval: Callable[..., Any]) -> None:
    runs = tmp_path / "runs/bm25"
    assert longeval("baseline", built.root, "--out", runs, "--quiet")[0] == 0
    (runs / "ir-metadata.yml").write_text("tag: ours\nactor: {team: We}\n")
    code, text = longeval("runs", "check", built.root, runs, "--format", "json")
    assert code == 0, text
    found = json.loads(text)
    assert {(r["system"], r["team"], r["metadata_system"]) for r in found["runs"]} == {
        ("bm25", "We", "ours")
    }
    assert {row["check"] for row in found["findings"]} <= {"missing_queries"}
    (runs / "2022-06.txt").write_text("q Q0 d 1 1.0 t\n")
    (runs / "2022-06.txt.gz").unlink()
    code, text = longeval("runs", "check", built.root, runs)
    assert code == 1
    assert "no_known_query" in text
