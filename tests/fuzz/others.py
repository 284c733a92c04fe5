"""Readers beside ingestion under damage: runs, judgements, definitions, counts, releases.

Each either returns or refuses with an error of ours; of a release, records in are records kept plus
records left out.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from builder.collection.imports import import_release
from builder.collection.read import open_collection
from builder.collection.validate import validate
from builder.definition.model import Definition
from builder.errors import LongEvalError
from builder.evaluation.baselines.fusion import read_scores
from builder.evaluation.runs.qrels import read_qrels
from builder.io.sources import Source
from builder.queries import parse_topics, rank_topics, read_monthly_counts
from builder.queries.texts import read_query_texts
from builder.runtime.limits import ResourceLimits
from builder.trec import read_run
from tests.fuzz.mutations import mutate

SLOWEST = 10.0
TREC = b"".join(
    b"<DOC>\n<DOCNO>doc%d</DOCNO>\n<DOCID>doc%d</DOCID>\n<TEXT>\nUne page %d.\n</TEXT>\n</DOC>\n"
    % (n, n, n)
    for n in range(5)
)
DEFINITION = b"""[collection]
name = "mine"
version = "0.1.0"
topics = "topics.tsv"

[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["input"]
crawl = ["input"]

[select]
min_users = 5
"""
SEEDS: dict[str, bytes] = {
    "run": b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d1 1 1e3 tag\n",
    "qrels": b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
    "scores": b"q1 d1 0.5\nq1 d2 0.25\n",
    "counts": b"label\tmonth\tcount\ttotal\n"
    + b"".join(b"eau\t2022-%02d\t%d\t90\n" % (n, n) for n in range(1, 9)),
    "queries": "1\teau potable\n2\tcrêpes\n".encode(),
    "topics": b"topic_id\tlabel\tlanguage\taliases\tsource\neau\teau\tfr\tl'eau|eaux\tmine\n",
    "definition": DEFINITION,
    "manifest": b'{"name": "x", "version": "1.0.0", "signature": "s", "units": {}, "tools": {}, '
    b'"definition": {"snapshots": [{"name": "2022-06", "start": "2022-06-01", '
    b'"end": "2022-07-01"}], "parameters": {}}, '
    b'"files": {"a": {"sha256": "0"}}, "tables": {"topics": {"rows": 1}}}',
    "release-queries": '1\teau potable\r\n2\t"crêpes"\n3\tEau potable\n'.encode(),
    "release-qrels": b"1 0 1 2\n1 0 2 0\n2 0 3 1\n9 0 4 1\n",
    "release-trec": TREC,
    "release-papers": b'{"id": "1", "title": "Eau", "abstract": "Une page.", "fullText": null}\n'
    b'{"id": 2, "title": "Pain", "abstract": ""}\n',
    "release-json": b'[{"id": "doc1", "contents": "Une page."},\n {"id": 2, "contents": "Deux"}]\n',
}


def _release(folder: Path, data: bytes, kind: str) -> None:
    """A release of which one file is the input."""
    root = folder / "release"
    files = {
        "release-queries": root / "queries/2022-06_queries.txt",
        "release-qrels": root / "qrels/2022-06_fr/qrels_processed.txt",
        "release-trec": root / "Trec/2022-06_fr/a.trec",
        "release-json": root / "Json/2022-06_fr/a.json",
        "release-papers": root / "Json/2022-06_fr/b.jsonl",
    }
    if kind in ("release-json", "release-papers"):
        files.pop("release-trec")
    for name, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if name == kind else SEEDS[name])
    (folder / "scratch").mkdir()
    report = import_release(
        root, "longeval-web", folder / "out", limits=ResourceLimits(folder / "scratch", 1, 2**29)
    )
    for ledger in report.ledgers.values():
        ledger.check(kind)


def _named(folder: Path, name: str) -> Path:
    """The input under a name that says what it is."""
    return (folder / "input").rename(folder / name)


def _definition(folder: Path, _: bytes, __: str) -> None:
    (folder / "topics.tsv").write_bytes(SEEDS["topics"])
    Definition.load(folder / "input")


def _manifest(folder: Path, data: bytes, _: str) -> None:
    (folder / "manifest.json").write_bytes(data)
    _ = open_collection(folder).row_counts()
    validate(folder)


READERS: dict[str, Callable[[Path, bytes, str], object]] = {
    "run": lambda folder, *_: read_run(folder / "input"),
    "qrels": lambda folder, *_: read_qrels(folder / "input"),
    "scores": lambda folder, *_: read_scores(folder / "input"),
    "counts": lambda folder, *_: rank_topics(read_monthly_counts(_named(folder, "input.tsv"))),
    "queries": lambda folder, *_: read_query_texts(folder / "input"),
    "topics": lambda folder, *_: parse_topics(Source(folder / "input", "input")),
    "definition": _definition,
    "manifest": _manifest,
    **{kind: _release for kind in SEEDS if kind.startswith("release-")},
}


def read(kind: str, data: bytes) -> LongEvalError | None:
    """Read one input; the error that refuses it, or None."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        (folder / "input").write_bytes(data)
        try:
            READERS[kind](folder, data, kind)
        except LongEvalError as error:
            return error
    return None


def try_all(count: int, first: int = 0) -> dict[str, int]:
    """Read mutated inputs of every kind in turn; how they ended."""
    kinds = sorted(SEEDS)
    ends = {"read": 0, "refused": 0}
    for seed in range(first, first + count):
        kind = kinds[seed % len(kinds)]
        begun = time.process_time()
        try:
            refused = read(kind, mutate(SEEDS[kind], seed)) is not None
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
        assert time.process_time() - begun < SLOWEST, f"{kind}, seed {seed} hangs"
        ends["refused" if refused else "read"] += 1
    return ends
