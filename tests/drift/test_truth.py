"""The matrix of planted causes (`make truth`), in one small world."""

import gzip
from pathlib import Path

import pytest

from tests.truth import __main__ as truth
from tests.truth import matrix
from tests.truth.matrix import Laboratory, Verdict
from tests.truth.planted import CAUSES


def test_a_planted_cause_is_named_and_a_change_of_the_world_is_not(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, "2,500", 1)
    planted = {cause.name: cause for cause in CAUSES}
    said = {
        name: laboratory.judge(planted[name])
        for name in ("pages as HTML", "qrels shifted by one query", "clicks x .5", "nothing")
    }
    assert said["pages as HTML"].said == "named"
    assert said["qrels shifted by one query"].said == "named"
    assert said["clicks x .5"] == Verdict("clicks x .5", "2,500", 1, "clear", ())
    assert said["nothing"].named == ()


def test_finished_cells_are_not_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged: list[tuple[str, int, list[str]]] = []

    def judge_world(size: str, seed: int, causes: list[truth.Cause]) -> list[Verdict]:
        judged.append((size, seed, [cause.name for cause in causes]))
        return [Verdict(cause.name, size, seed, "clear", ()) for cause in causes]

    monkeypatch.setattr(truth, "judge_world", judge_world)
    cells = tmp_path / "cells.jsonl"
    arguments = ["truth", "--sizes", "2,500", "--causes", "noise 10", "--cells", str(cells)]
    monkeypatch.setattr("sys.argv", [*arguments, "--seeds", "0", "1"])
    assert truth.main() == 0
    with cells.open("a", encoding="utf-8") as file:
        file.write('{"cause": "noise')  # a run that was killed
    monkeypatch.setattr("sys.argv", [*arguments, "--seeds", "1", "2"])
    assert truth.main() == 0
    one = ["noise 10%"]
    assert judged == [("2,500", 0, one), ("2,500", 1, one), ("2,500", 1, []), ("2,500", 2, one)]
    printed = capsys.readouterr().out
    assert "| noise 10% | world | 3 clear |" in printed
    assert printed.endswith("\n\nSeeds 0, 1, 2; the checks were tuned on seeds 0 to 4.\n")
    assert len(cells.read_text(encoding="utf-8").splitlines()) == 3


def test_seeds_of_unchanged_worlds_are_named() -> None:
    verdicts = [Verdict("noise 10%", "2,500", 7, "clear", ())]
    verdicts += [Verdict("nothing", "2,500", seed, "clear", ()) for seed in (7, 10, 11, 12, 20)]
    assert truth.as_table(verdicts, ["2,500"]).splitlines()[2:] == [
        "| noise 10% | world | 1 clear |",
        "| nothing | world | 5 clear |",
        "",
        "Seeds 7 (row *nothing*: also 10 to 12, 20); the checks were tuned on seeds 0 to 4.",
    ]


def test_damaged_records_are_left_out() -> None:
    lines = [
        b'{"url": "u", "title": "t", "text": "x"}',
        b'{"title": "t", "text": "x"}',
        b'{"url": "u", "title": null, "text": "x"}',
        b'["url"]',
        b'{"url": "u"',
    ]
    found = matrix.read_records(gzip.compress(b"\n".join(lines)), matrix.FIELDS["crawls"])
    assert [*found] == [{"url": "u", "title": "t", "text": "x"}]
    lines = [
        b'{"query": "q", "results": ["a"], "clicks": [1]}',
        b'{"query": "q", "results": ["a"], "clicks": ["1"]}',
        b'{"query": "q", "results": "a", "clicks": []}',
        b'{"query": "q", "results": [1], "clicks": []}',
    ]
    found = matrix.read_records(gzip.compress(b"\n".join(lines)), matrix.FIELDS["logs"])
    assert [record["clicks"] for record in found] == [[1]]
