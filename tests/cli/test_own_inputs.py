"""Results are never written over what they are made of."""

import json
from pathlib import Path

import pytest

from builder import BuildReport
from tests.cli.test_cli import run

RUN = "q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\n"
LINE = {"time": 1, "user": "u", "query": "a", "results": ["http://x.fr/"], "clicks": [1]}
COUNTS = "label\tmonth\tcount\n" + "".join(f"eau\t2022-0{n}\t5\n" for n in (1, 2, 3))
FILES = {
    "2022-06.run": RUN,
    "other.run": RUN,
    "scores.txt": "q1 d1 0.5\n",
    "counts.tsv": COUNTS,
    "log.tsv": json.dumps(LINE) + "\n",
    "text.txt": "le chat\n",
}
USES = {
    "fuse 2022-06.run other.run --out other.run": 2,
    "rerank 2022-06.run scores.txt --out 2022-06.run": 2,
    "rerank 2022-06.run scores.txt --out scores.txt": 2,
    "topics rank counts.tsv --out counts.tsv": 2,
    "clicks log.tsv --out ./log.tsv": 2,
    "translate text.txt --out link.txt": 2,
    "assess import sheet.tsv --out sheet.tsv": 2,
    "fuse 2022-06.run other.run --out new.run": 0,
}


@pytest.mark.parametrize("use", sorted(USES))
def test_an_input_stays_as_it_is(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    Path("link.txt").symlink_to("text.txt")
    assert run(*use.split()) == USES[use]
    assert {name: Path(name).read_text("utf-8") for name in FILES} == FILES


def test_a_report_is_no_run(built: BuildReport, tmp_path: Path) -> None:
    path = tmp_path / "2022-06.run"
    path.write_text(RUN, "utf-8")
    assert run("evaluate", built.root, path, "--html", path) == 2
    assert path.read_text("utf-8") == RUN
