"""Names of files that are no UTF-8, and terminals that lack characters: shown by numbers."""

import io
import shutil
from pathlib import Path

import pytest

import builder
from builder import BuildReport, SimulationParameters
from builder.cli.output import escape_unencodable_characters
from builder.evaluation.runs.assignment import assign_runs
from builder.io.sources import Source
from builder.tasks.filtering.kba import system_name
from builder.text.names import to_valid_unicode
from tests.cli.test_cli import run

LATIN = "été".encode("latin-1").decode("utf-8", "surrogateescape")
WORLD = SimulationParameters(
    name="w", snapshots=1, documents=60, queries=8, impressions=300, seed=2, malformed_rate=0.05
)


@pytest.fixture(autouse=True)
def _names(tmp_path: Path) -> None:
    try:
        (tmp_path / LATIN).touch()
    except OSError:
        pytest.skip("no file here has such a name")


def test_names_are_texts() -> None:
    assert to_valid_unicode("logs/été") == "logs/été"
    assert to_valid_unicode(LATIN) == "\\udce9t\\udce9"
    assert Source(Path(LATIN), LATIN).name == "\\udce9t\\udce9"


def test_raw_files_of_any_name_are_built(tmp_path: Path) -> None:
    world = tmp_path / "world"
    builder.simulate(world, WORLD)
    for folder in ("logs", "crawls"):
        (world / folder / "2022-06.jsonl.gz").rename(world / folder / f"{LATIN}.jsonl.gz")
    definition = world / "workflow.toml"
    text = definition.read_text("utf-8").replace("2022-06.jsonl.gz", "*.gz")
    definition.write_text(text, "utf-8")
    report = builder.build(definition, tmp_path / "collection")
    assert builder.validate(report.root) == []
    rejects = builder.open_collection(report.root).snapshot("2022-06").rejects.collect()
    files = rejects["file"].drop_nulls().unique().to_list()
    assert [name for name in files if "t\\udce9" in name]
    assert not [r for r in builder.build(definition, tmp_path / "collection").results if r.has_run]


def test_runs_of_any_name_are_evaluated(
    built: BuildReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{LATIN}_2022-06.run"
    qrels = builder.open_collection(built.root).snapshot("2022-06").qrels.collect()
    path.write_text(f"{qrels['query_id'][0]} Q0 d 1 1.0 a\n")
    folder = tmp_path / f"bm25{LATIN}"
    folder.mkdir()
    shutil.copy(path, folder / "2022-06.run")
    names = {run.system for run in assign_runs([path, folder], ["2022-06"])}
    assert names == {"\\udce9t\\udce9", "bm25\\udce9t\\udce9"}
    assert system_name(path) == "\\udce9t\\udce9_2022-06"
    assert run("evaluate", built.root, path, "--resamples", "10") == 0
    assert "\\udce9t\\udce9" in capsys.readouterr().out


def test_streams_show_what_their_encoding_lacks() -> None:
    for encoding, text in (("latin-1", "é \\u20ac"), ("ascii", "\\xe9 \\u20ac"), ("utf-8", "é €")):
        written_to = io.BytesIO()
        stream = io.TextIOWrapper(written_to, encoding=encoding)
        escape_unencodable_characters(stream)
        stream.write("é €")
        stream.flush()
        assert written_to.getvalue() == text.encode(encoding)
    escape_unencodable_characters(io.StringIO())
