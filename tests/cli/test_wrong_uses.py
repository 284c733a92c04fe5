"""Thirty wrong uses and what people are told: reviewed one by one, kept in `golden/wrong_uses.txt`.

`python -m tests.cli.test_wrong_uses` writes the file anew; read the difference before it is kept.
"""

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import builder
from builder import SimulationParameters
from builder.cli import main

GOLDEN = Path(__file__).parent / "golden" / "wrong_uses.txt"
WORLD = SimulationParameters(
    name="w", snapshots=2, documents=60, queries=8, impressions=300, seed=2
)

USES: dict[str, str] = {
    "a misspelt verb": "biuld world/workflow.toml",
    "a misspelt option": "build world/workflow.toml --thraeds 2",
    "a missing argument": "build",
    "an argument too many": "validate a b",
    "a definition that is not there": "build nowhere.toml",
    "a definition that is a folder": "build world",
    "a folder without a definition": "build world/logs",
    "a definition that is no TOML": "build broken.toml",
    "a choice that is none": "build no_choice.toml",
    "a text in the place of a list": "build no_list.toml",
    "a misspelt key": "build misspelt.toml",
    "a value of the wrong type": "build wrong_type.toml",
    "a value out of range": "build out_of_range.toml",
    "a file that is not there": "build no_file.toml",
    "intervals that overlap": "build overlap.toml",
    "an unknown stage": "build world/workflow.toml --until clickz",
    "an unknown snapshot": "build world/workflow.toml --snapshot 2030-01",
    "too little memory": "build world/workflow.toml --memory 10MB",
    "memory that is no size": "build world/workflow.toml --memory lots",
    "no threads": "build world/workflow.toml --threads 0",
    "no collection to validate": "validate world",
    "an unknown check": "validate collection --select XX1",
    "an unknown severity": "validate collection --severity LB101=fatal",
    "an unknown table": "schema qrel",
    "an unknown format": "validate collection --format yaml",
    "an unknown layout": "export collection --layout zip --out out",
    "an export into a full folder": "export collection --layout trec --out world",
    "a language that is not there": "export collection --layout trec --out out --language en",
    "a release that is none": "import world --layout longeval-web --out out",
    "a version of another definition": "build world/workflow.toml --verify collection/none",
    "a collection that is not there": "validate nowhere",
    "a folder where a query file is expected": "queries audit world",
    "a folder of logs where one log is expected": "clicks world/logs --model sdbn --out x.tsv",
    "trends of a collection without runs": "trend collection",
    "trends of a folder that is no collection": "trend world runs",
    "trends over a misspelt subcommand": "trend snapshot collection runs",
    "a run that is not there": "evaluate collection nowhere.run",
    "a run that is malformed": "evaluate collection runs/2022-06/bad.run",
    "an unknown measure": "evaluate collection runs/2022-06/good.run --measures nDGC",
    "a run of an unknown snapshot": "evaluate collection runs/stray.run",
    "an executor that is none": "build world/workflow.toml --executor dask",
    "a log that is not there": "clicks nowhere.jsonl --model sdbn --out x.tsv",
    "a collection where a file stands": "build world/workflow.toml --out broken.toml",
    "a collection below a file": "build world/workflow.toml --out broken.toml/out",
    "a world where a file stands": "simulate broken.toml --documents 60",
    "runs where a file stands": "baseline collection --out broken.toml",
    "an export below a file": "export collection --layout trec --out broken.toml/out",
    "a file where a folder stands": "fuse runs/2022-06/good.run --out world",
    "an unknown click model": "clicks world/logs/2022-06.jsonl.gz --model sdbm --out x.tsv",
    "drift between snapshots that are not there": "drift collection --from 2020-01 --to 2020-02",
    "a model that is none": "translate model check world",
    "a query file that is not there": "queries audit nowhere.txt",
    "a new definition without months": "new fresh --name fresh",
    "a new definition over another": "new world --name again --snapshot 2022-06",
    "changes of what is no crawl": "changes world/topics.tsv world/topics.tsv",
}


def make_place(folder: Path) -> None:
    """A world, its collection, and definitions that are wrong in one thing each."""
    builder.simulate(folder / "world", WORLD)
    text = (folder / "world/workflow.toml").read_text("utf-8")
    builder.build(folder / "world/workflow.toml", folder / "collection")
    moved = text.replace('"logs/', '"world/logs/').replace('"crawls/', '"world/crawls/')
    moved = moved.replace('"topics.tsv"', '"world/topics.tsv"')
    changes = {
        "misspelt": moved + "\n[select]\nmin_user = 5\n",
        "wrong_type": moved + '\n[select]\nmin_users = "many"\n',
        "out_of_range": moved + "\n[documents]\nsample_share = 2.0\n",
        "no_file": moved.replace("world/topics.tsv", "world/topcis.tsv"),
        "broken": moved.replace("[collection]", "[collection"),
        "no_choice": moved + '\n[clicks]\nprior = "flat"\n',
        "no_list": moved.replace('["world/logs/2022-06.jsonl.gz"]', '"world/logs"'),
        "overlap": moved.replace("start = 2022-07-01", "start = 2022-06-20"),
    }
    for name, definition in changes.items():
        (folder / f"{name}.toml").write_text(definition, "utf-8")
    runs = folder / "runs/2022-06"
    runs.mkdir(parents=True)
    (runs / "good.run").write_text("q1 Q0 d1 1 1.0 good\n")
    (folder / "runs/stray.run").write_text("q1 Q0 d1 1 1.0 stray\n")
    (runs / "bad.run").write_text("q1 Q0 d1 1 1.0 bad\nq1 Q0 d1\n")


def told(arguments: str, folder: Path) -> str:
    """Exit code and everything that a use prints, without what differs from place to place."""
    out, code = io.StringIO(), 0
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(arguments.split())
        except SystemExit as end:
            code = int(end.code or 0)
    text = re.sub(r"[╭╰│╮╯─]+", "", out.getvalue())
    text = text.replace(str(folder.resolve()), "HERE").replace(str(folder), "HERE")
    return f"exit {code}\n{text.strip()}\n"


def sections(folder: Path) -> Iterator[str]:
    """Every use and what it prints."""
    for name, arguments in USES.items():
        yield f"# {name}\n$ longeval {arguments}\n{told(arguments, folder)}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the uses are tried."""
    folder = tmp_path_factory.mktemp("wrong")
    make_place(folder)
    return folder


KEPT = (
    {part.partition("\n")[0]: part for part in GOLDEN.read_text("utf-8").split("\n# ") if part}
    if GOLDEN.is_file()
    else {}
)


@pytest.mark.parametrize("name", USES)
def test_people_are_told_what_to_do(name: str, place: Path) -> None:
    found = f"{name}\n$ longeval {USES[name]}\n{told(USES[name], place)}".strip()
    kept = KEPT.get(name) or KEPT.get(f"# {name}", "")
    assert found == kept.strip().removeprefix("# ")
    assert "Traceback" not in found
    code = re.search(r"^exit (\d+)$", found, re.MULTILINE)
    assert code is not None
    assert code[1] in ("1", "2")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        make_place(Path(name))
        GOLDEN.write_text("\n".join(sections(Path(name))), "utf-8")
    sys.exit(0)
