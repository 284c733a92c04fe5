"""Trends, and the tables of Kenter et al. (2015), through the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.cli import main

START = 1_317_945_600
DAY = 86_400


def line(day: int, document: str, target: str, confidence: int) -> str:
    return f"team sys {START + day * DAY}-{document} {target} {confidence} 2\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Truth of 70 days with two relevant documents each, and two systems; one of them fades."""
    folder = tmp_path_factory.mktemp("filtering")
    truth, steady, fading = [], [], []
    for day in range(70):
        for number in range(2):
            document = f"d{day}n{number}"
            truth.append(line(day, document, f"e{number}", 1000))
            if (day * 7 + number * 3) % 5:
                steady.append(line(day, document, f"e{number}", 300 + 10 * (day % 7)))
            if (day * 11 + number) % 70 > day:
                fading.append(line(day, document, f"e{number}", 700))
        steady.append(line(day, f"f{day}", "e0", 100))
    paths = [folder / name for name in ("truth.tsv", "steady.txt", "fading.txt")]
    for path, lines in zip(paths, (truth, steady, fading), strict=True):
        path.write_text("".join(lines))
    return paths


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """JSON that a verb prints; the message where it does not exit with 0."""

    def call(*arguments: object) -> Any:
        with pytest.raises(SystemExit) as end:
            main([*map(str, arguments), "--format", "json"])
        said = capsys.readouterr()
        return said.err if end.value.code else json.loads(said.out)

    return call


def test_the_default_sweep_is_that_of_the_paper(files: list[Path], run: Callable[..., Any]) -> None:
    found = run("trend", *files)
    cutoffs = {row["cutoff"] for row in found["trends"]}
    assert cutoffs == set(range(50, 1001, 50))
    assert {row["system"]: row["rank"] for row in found["ranking"]} == {"steady": 1, "fading": 2}
    assert run("trend", *files, "--cutoff", "50:1000:50") == found
    some = run("trend", *files, "--cutoff", "50,100", "--cutoff=700")
    assert {row["cutoff"] for row in some["trends"]} == {50, 100, 700}
    assert "first:last:step" in run("trend", *files, "--cutoff", "1:2")


def test_zeta_weights_and_period_reach_the_trend(
    files: list[Path], run: Callable[..., Any]
) -> None:
    plain = run("filtering", *files, "--cutoff", "0")["whole"]
    patient = run("filtering", *files, "--cutoff", "0", "--zeta", "70")["whole"]
    steady = [next(row for row in rows if row["system"] == "steady") for rows in (plain, patient)]
    # 70 false positives, all of the first of two targets
    assert steady[0]["aptness"] == pytest.approx((1 / 71 + 1) / 2)
    assert steady[1]["aptness"] == pytest.approx((0.5 + 1) / 2)
    weighted = run("trend", *files, "--cutoff", "0")
    equal = run("trend", *files, "--cutoff", "0", "--weights", "equal")
    assert weighted["trends"][0]["batches"] == equal["trends"][0]["batches"] == 70
    assert weighted["trends"][1]["slope_per_second"] != equal["trends"][1]["slope_per_second"]
    short = run("trend", *files, "--cutoff", "0", "--end", START + 30 * DAY)
    assert short["trends"][0]["batches"] == 30
    assert "--weights" in run("trend", "stability", *files, "--weights", "heavy")


def test_tables_1_to_3(files: list[Path], run: Callable[..., Any]) -> None:
    cutoff = ("--cutoff", "50,500")
    correlations = run("trend", "correlations", *files, *cutoff)["correlations"]
    assert [(r["first"], r["second"], r["systems"]) for r in correlations] == [
        ("official", "f_pr", 2),
        ("official", "f_pra", 2),
        ("f_pr", "f_pra", 2),
    ]
    assert all(abs(row["kendall_tau_b"]) == 1 for row in correlations)
    days = ("--granularities", "day,604800")
    differences = run("trend", "stability", *files, *cutoff, *days)["differences"]
    measures = {row["measure"] for row in differences}
    assert measures == {"precision", "recall", "f_pr", "aptness", "f_pra"}
    recall = next(row for row in differences if row["measure"] == "recall")
    day, week = (
        run("trend", *files, *cutoff, "--measure", "recall", "--granularity", unit)["trends"]
        for unit in ("day", "604800")
    )
    gaps = [
        one["slope_per_second"] - other["slope_per_second"]
        for one, other in zip(day, week, strict=True)
        if None not in (one["slope_per_second"], other["slope_per_second"])
    ]
    assert recall["trends"] == len(gaps)
    assert recall["max"] == pytest.approx(max(gaps), rel=1e-9)
    (rates, _) = run("trend", "assumptions", *files, *cutoff, *days)["assumptions"]
    assert (rates["granularity"], rates["trends"]) == ("day", 20)
    assert rates["both"] <= min(rates["anderson_darling"], rates["durbin_watson"])
    assert "two or more" in run("trend", "stability", *files, "--granularities", "day")


def test_the_published_trend_is_fitted_to_a_table_of_scores(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    """Case kenter2015.wls.small: six days."""
    scores = [0.5, 0.46, 0.47, 0.38, 0.41, 0.3]
    rows = zip(range(1, 7), scores, (10, 20, 15, 30, 5, 20), strict=True)
    path = tmp_path / "scores.csv"
    text = "".join(f"s,F,2022-06-0{day},{score},{weight}\n" for day, score, weight in rows)
    path.write_text("system,measure,snapshot,score,weight\n" + text)
    (trend,) = run("trend", "scores", path)["trends"]
    assert trend["slope_per_second"] * DAY == pytest.approx(-0.03984251968503931, abs=1e-9)
    assert trend["slope_se_per_second"] * DAY == pytest.approx(0.007287192157293405, abs=1e-9)
    assert trend["p"] == pytest.approx(0.005443343242350776, abs=1e-9)
    assert trend["end_point"] == pytest.approx(0.31137795275590563, abs=1e-9)
    assert trend["anderson_darling_p"] == pytest.approx(0.007575065716334936, abs=1e-9)
