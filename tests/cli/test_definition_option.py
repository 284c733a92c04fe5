"""Logs and crawls under names of their own, read as `--definition` says."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_analysis_verbs import run

Captured = pytest.CaptureFixture[str]
READING = """
[log]
list_separator = "+"
[log.fields]
query = "Anfrage"
results = "Treffer"
clicks = "Klicks"
[crawl]
time_format = "%d.%m.%Y"
[crawl.fields]
url = "Seite"
time = "Tag"
text = "Inhalt.Text"
"""
LOG = "Anfrage;Treffer;Klicks\nwasser;x+y+z;2\nwasser;x+y+z;\nhaus;x+y+z;1+3\nhaus;;\n"
RENAMED = {"query": "Anfrage", "results": "Treffer", "clicks": "Klicks"}


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    path = tmp_path / "reading.toml"
    path.write_text(READING)
    return path


def _parquet(path: Path) -> Path:
    """The same pages as `LOG`, beside a column with our own name and other content."""
    rows = {
        "query": ["a", "a", "b"],
        "results": [["w"]] * 3,
        "clicks": [[1]] * 3,
        "Anfrage": ["wasser", "wasser", "haus"],
        "Treffer": [["x", "y", "z"]] * 3,
        "Klicks": [[2], [], [1, 3]],
    }
    pl.DataFrame(rows).write_parquet(path)
    return path


def test_a_model_of_a_log_under_other_names(
    tmp_path: Path, definition: Path, capsys: Captured
) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "pairs.parquet"
    log.write_text(LOG)
    for given, said in (
        (log, "3 impressions from 4 records; rejected: no_results 1"),
        (_parquet(tmp_path / "log.parquet"), "3 imp"),
    ):
        assert run("clicks", given, "--out", out, "--definition", definition) == 0
        assert said in capsys.readouterr().out
        columns = ["query", "url", "impressions", "examinations", "clicks", "last_clicks"]
        assert pl.read_parquet(out, columns=columns).rows() == [
            ("haus", "x", 1, 1, 1, 0),
            ("haus", "y", 1, 1, 0, 0),
            ("haus", "z", 1, 1, 1, 1),
            ("wasser", "x", 2, 2, 0, 0),
            ("wasser", "y", 2, 2, 1, 1),
            ("wasser", "z", 2, 1, 0, 0),
        ]


def test_models_are_compared_on_it(tmp_path: Path, definition: Path, capsys: Captured) -> None:
    log = tmp_path / "log.csv"
    log.write_text("Anfrage;Treffer;Klicks\n" + "wasser;x+y;2\n" * 8)
    options = ("--model", "sdbn", "--format", "json", "--definition", definition)
    assert run("clicks", "compare", log, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["train"], found["test"]) == (6, 2)
    assert run("clicks", "compare", log, *options[:4]) == 1
    assert "expected a header with query and either results or url" in capsys.readouterr().err


def test_changes_of_crawls_under_other_names(
    tmp_path: Path, definition: Path, capsys: Captured
) -> None:
    paths = []
    for name, text in (("old", "Ein kurzer Text."), ("new", "Ein langer Text.")):
        paths.append(tmp_path / f"{name}.jsonl")
        row = {"Seite": "https://a.example/1", "Tag": "01.06.2022", "Inhalt": {"Text": text}}
        paths[-1].write_text(json.dumps(row) + "\n")
    assert run("changes", *paths, "--format", "json", "--definition", definition) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["documents"]["common"], found["documents"]["updated"]) == (1, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[crawl]\n", "reading.toml: missing section [log]"),
        ("[log]\nfeilds = 1\n", "reading.toml: log.feilds: unknown key; did you mean 'fields'?"),
        ("[log]\nmax_results = 0\n", "log.max_results: expected at least 1; found 0"),
        ("[log", "reading.toml: not valid TOML"),
        (None, "reading.toml: definition file not found"),
    ],
)
def test_wrong_definitions(
    tmp_path: Path, definition: Path, capsys: Captured, text: str | None, said: str
) -> None:
    definition.unlink() if text is None else definition.write_text(text)
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    assert run("clicks", log, "--out", tmp_path / "p.tsv", "--definition", definition) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "p.tsv").exists()


def test_a_rule_counts_for_parquet_too(tmp_path: Path, definition: Path) -> None:
    log, out = tmp_path / "log.parquet", tmp_path / "pairs.parquet"
    rows = {"query": ["eau", "impôt"], "results": [["x"]] * 2, "clicks": [[1]] * 2}
    pl.DataFrame(rows).write_parquet(log)
    definition.write_text("[log]\nmax_query_chars = 3\n")
    assert run("clicks", log, "--out", out, "--definition", definition) == 0
    assert pl.read_parquet(out)["query"].to_list() == ["eau"]


def test_what_a_section_sets_counts_and_nothing_else(tmp_path: Path, definition: Path) -> None:
    """The rules of size that a collection has by default leave out no page of a log alone."""
    query = "w" * 5_000
    log, out = tmp_path / "log.csv", tmp_path / "pairs.parquet"
    log.write_text(f"Anfrage;Treffer;Klicks\n{query};x;1\nhaus;x;1\n")
    assert run("clicks", log, "--out", out, "--definition", definition) == 0
    assert pl.read_parquet(out)["query"].to_list() == ["haus", query]
    definition.write_text(READING.replace("[log]", "[log]\nmax_query_chars = 10", 1))
    assert run("clicks", log, "--out", out, "--definition", definition) == 0
    assert pl.read_parquet(out)["query"].to_list() == ["haus"]
