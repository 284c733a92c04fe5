"""What CONTRIBUTING says: an addition is one new file and at most two lines elsewhere."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Addition:
    """A new file, the lines that name it, and code that uses it."""

    file: str
    text: str
    edited: str
    edits: dict[str, str]
    use: str


ADDITIONS = {
    "click model": Addition(
        "builder/clicks/models/never.py",
        '''"""Nobody clicks."""

import numpy as np

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import IndependentClickProbabilities
from builder.clicks.models.training import TrainedModel, TrainingOptions


def never(pages: ResultPages, training: TrainingOptions) -> TrainedModel:
    """P(click) is next to nothing."""
    return TrainedModel(
        lambda p: IndependentClickProbabilities(np.full(len(p.rank), 1e-6), np.ones(len(p.rank)))
    )
''',
        "builder/parameters/clicks.py",
        {
            '    "dbn": "builder.clicks.models.dbn:fit_dbn",\n': (
                '    "dbn": "builder.clicks.models.dbn:fit_dbn",\n'
                '    "never": "builder.clicks.models.never:never",\n'
            )
        },
        """
from builder.clicks import estimate_from_log
(tmp / "log.jsonl").write_text(
    '{"time": 1, "user": "u", "query": "eau", "results": ["http://a.fr/"], "clicks": [1]}\\n')
print(estimate_from_log(tmp / "log.jsonl", "never", tmp / "out.tsv").pairs)
""",
    ),
    "log reader": Addition(
        "builder/ingest/spaces.py",
        '''"""A log of lines `time user query url`, without clicks."""


def read_words(source, interval, params):
    """Every line, by its number."""
    for number, line in enumerate(source.path.read_text().splitlines(), 1):
        fields = line.split(" ")
        if len(fields) != 4:
            yield number, "not_four_fields"
            continue
        when, user, query, url = fields
        record = {"time": int(when), "user": user, "query": query, "results": [url]}
        yield number, {**record, "clicks": []}
''',
        "builder/parameters/logs.py",
        {
            '    "yandex": "builder.ingest.logs.yandex:read_2011_log",\n': (
                '    "yandex": "builder.ingest.logs.yandex:read_2011_log",\n'
                '    "spaces": "builder.ingest.spaces:read_words",\n'
            )
        },
        """
from builder.ingest.logs.formats import read_impressions
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.io.sources import Interval, Source
(tmp / "log.txt").write_text("5 u eau http://a.fr/\\nnonsense\\n")
source = Source(tmp / "log.txt", "log.txt")
params = LogParameters(format="spaces")
(records,) = read_impressions(source, Interval(0, 10), params, ResourceLimits(tmp, threads=1))
assert records.rejects == [(2, "not_four_fields")], records
print(records.impressions.num_rows)
""",
    ),
    "measure": Addition(
        "builder/evaluation/retrieved.py",
        '''"""Retrieved: the number of documents that a run has for a query."""

from builder.evaluation.measures.family import MeasureFamily

RETRIEVED = MeasureFamily(
    "Retrieved", "counted", "none", compute=lambda measure, hits: hits.retrieved.astype(float)
)
''',
        "builder/evaluation/measures/registry.py",
        {
            "from builder.plugins import": (
                "from builder.evaluation.retrieved import RETRIEVED\nfrom builder.plugins import"
            ),
            "        JUDGED,\n": "        JUDGED,\n        RETRIEVED,\n",
        },
        """
from types import SimpleNamespace
import numpy as np
from builder.evaluation.measures.registry import parse_measure
hits = SimpleNamespace(retrieved=np.array([1]))
measure = parse_measure("Retrieved")
print(int(measure.scoring_function(measure, hits)[0]))
""",
    ),
    "check": Addition(
        "builder/collection/checks/longest.py",
        '''"""Checks of the length of queries."""

import polars as pl

from builder.collection.checks.finding import Check


def _long(context):
    for name, queries in context.scan_snapshots("queries"):
        found = queries.filter(pl.col("text").str.len_chars() > 10).collect()
        if found.height:
            yield f"snapshots/{name}/queries", "queries are long", found.height, ()


CHECKS = (Check("LB290", "queries are short", "note", "a rule of ours", "shorten them", _long),)
''',
        "builder/collection/checks/__init__.py",
        {
            "    labels,\n    references": "    labels,\n    longest,\n    references",
            "    contents,\n)": "    contents,\n    longest,\n)",
        },
        """
from builder.collection.checks import CHECKS
print(sum(check.id == "LB290" for check in CHECKS))
""",
    ),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources."""
    home = tmp_path_factory.mktemp("source")
    leave = shutil.ignore_patterns("__pycache__", "fr-en")
    for folder in ("builder", "schemas"):
        shutil.copytree(ROOT / folder, home / folder, ignore=leave)
    return home


@pytest.mark.parametrize("kind", ADDITIONS)
def test_one_file_and_two_lines(kind: str, source: Path, tmp_path: Path) -> None:
    added = ADDITIONS[kind]
    edited = source / added.edited
    before = text = edited.read_text("utf-8")
    for old, new in added.edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert len(set(text.splitlines()) - set(before.splitlines())) <= 2
    assert not (source / added.file).exists()
    edited.write_text(text, "utf-8")
    (source / added.file).write_text(added.text, "utf-8")
    try:
        code = f"from pathlib import Path\ntmp = Path({str(tmp_path)!r})\n{added.use}"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=source,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "1"
    finally:
        edited.write_text(before, "utf-8")
        (source / added.file).unlink()


def test_contributing_names_these_files() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for added in ADDITIONS.values():
        assert added.edited in told
