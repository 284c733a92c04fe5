"""Official scores of a release, and what an import keeps of it."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

import builder
from builder.cli import app
from builder.collection.compare import compare
from builder.collection.export import export
from builder.collection.imports import import_release
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.errors import UsageError
from builder.evaluation import EvaluationParameters, evaluate_paths
from builder.evaluation.runs.qrels import read_qrels
from builder.runtime.limits import ResourceLimits
from tests.collection.releases import imported, opened, write

TREC = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


def test_every_line_of_two_published_months_is_a_row_or_a_reject(
    shared: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pytrec_eval")
    folder = shared / "longeval-web"
    if not folder.is_dir():
        pytest.skip("no longeval-web")
    for month in ("2022-06", "2022-07"):
        for kind in ("queries", "qrels"):
            name = f"{month}_{kind}.txt.gz"
            write(tmp_path / "r" / name, (folder / name).read_bytes())
    report = imported(tmp_path / "r", "longeval-web")
    for month, ledger in report.ledgers.items():
        ledger.check("import")
        rows = report.rows[month]
        assert ledger.rows_out == rows["queries"] + rows["qrels"]
        lines = gzip.decompress((folder / f"{month}_qrels.txt.gz").read_bytes()).splitlines()
        released = {line.split()[0].decode() for line in lines if line.strip()}
        qrels = opened(report).snapshot(month).qrels.collect()
        assert set(qrels["query_id"]) == released


def test_of_contradicting_lines_the_last_counts(tmp_path: Path) -> None:
    write(tmp_path / "r/2022-06_queries.txt", "1\teau\n2\tEau\n")
    write(tmp_path / "r/2022-06_qrels.txt", "1 0 7 2\n1 0 7 0\n2 0 7 1\n2 0 8 1\n2 0 8 1\n")
    report = imported(tmp_path / "r", "longeval-web")
    qrels = read_qrels(report.version / "snapshots/2022-06/qrels.parquet")
    assert qrels.rows() == [("1", "7", 0), ("2", "7", 1), ("2", "8", 1)]
    rejects = opened(report).snapshot("2022-06").rejects.collect()
    assert rejects.select("reason", "line", "key").rows() == [
        ("contradicting_judgement", 1, "1 7 2"),
        ("repeated_judgement", 4, "2 8"),
    ]
    found = {(f.check, f.where, f.count) for f in validate(report.version)}
    assert ("LB201", "snapshots/2022-06", 1) in found
    assert ("LB202", "snapshots/2022-06/queries", 2) in found
    assert ("LB202", "snapshots/2022-06/qrels", 2) in found


def test_links_and_prior_datasets_are_read(tmp_path: Path) -> None:
    first, second = tmp_path / "all/first", tmp_path / "all/second"
    write(first / "documents/a.jsonl", '{"id": "11", "title": "T", "abstract": "A"}\n')
    write(first / "documents/docstore.pklz4/bin", "x")
    write(first / "queries.txt", "1-2\tselection bias\n")
    write(first / "qrels.txt", "1-2 2024-11 11 2\n")
    prior = {"timestamp": "2024-11", "prior-datasets": [], "snapshot": "s1"}
    write(first / "metadata.json", json.dumps(prior))
    write(second / "queries.txt", "1\tsome query\n")
    (second / "documents").symlink_to("../first/documents/")
    (second / "loop").symlink_to("../second")
    (second / "away").symlink_to(tmp_path)
    named = {"timestamp": "2025-01", "prior-datasets": ["../first/", "../first/", "../none/"]}
    write(second / "metadata.json", json.dumps(named))
    (tmp_path / "scratch").mkdir()
    report = import_release(
        second, "longeval-sci", tmp_path / "out", limits=ResourceLimits(tmp_path / "scratch")
    )
    assert report.rows == {
        "2024-11": {"queries": 1, "qrels": 1, "documents": 1},
        "2025-01": {"queries": 1, "qrels": 0, "documents": 1},
    }
    assert (report.plan.external_links, report.plan.missing_datasets, report.plan.unread_files) == (
        ("away",),
        ("../none/",),
        {},
    )
    command = ["import", str(second), "--layout", "longeval-sci", "--out", str(tmp_path / "b")]
    explained = CliRunner().invoke(app, [*command, "--explain", "--format", "json"])
    assert not (tmp_path / "b").exists()
    assert json.loads(explained.output) == {
        "version": str(tmp_path / "b/1.0.0"),
        "files": {
            "2024-11": {"queries": 1, "qrels": 1, "documents": 1},
            "2025-01": {"queries": 1, "qrels": 0, "documents": 1},
        },
        "unread": {},
        "unread_reasons": {},
        "outside": ["away"],
        "missing": ["../none/"],
    }
    explained = CliRunner().invoke(app, [*command, "--explain"])
    assert explained.output.splitlines()[0].split()[:3] == ["snapshot", "query", "files"]
    assert [line.split() for line in explained.output.splitlines()[-5:-3]] == [
        ["2024-11", "1", "1", "1"],
        ["2025-01", "1", "0", "1"],
    ]
    said = CliRunner().invoke(app, command)
    assert "skipped links to files outside the release: away\n" in said.output
    assert "prior datasets not found: ../none/\n" in said.output


def test_a_prior_dataset_elsewhere_is_named(tmp_path: Path) -> None:
    """It was left out without a word: neither within the release nor next to it, but there."""
    for name in ("all/group/first", "all/second", "all/second/inner"):
        write(tmp_path / name / "queries.txt", "1\twater\n")
        write(tmp_path / name / "qrels.txt", "1 0 11 1\n")
        write(tmp_path / name / "metadata.json", '{"timestamp": "2024-11"}')
    named = {"timestamp": "2025-01", "prior-datasets": ["../group/first/", "./inner/"]}
    write(tmp_path / "all/second/metadata.json", json.dumps(named))
    files = list_release_files(tmp_path / "all/second")
    assert files.missing_datasets == ["../group/first/"]
    assert [path.name for path in files.paths].count("queries.txt") == 2


def test_labels_whose_metadata_say_the_month(tmp_path: Path) -> None:
    home = tmp_path / "r/French/LongEval Train Collection"
    for label, month in (("2022-06", "2022-06"), ("prior-dataset-01", "2022-05")):
        write(home / f"Trec/{label}_fr/a.trec", TREC.format(id="doc7", text="Une page."))
        write(home / f"Trec/{label}_fr/docstore.pklz4/bin", "x")
        described = {"timestamp": month, "prior-datasets": ["prior-dataset-01"]}
        write(home / f"Trec/{label}_fr/metadata.json", json.dumps(described))
        write(home / f"queries/{label}_queries.txt", "4772\tune loi\n")
        write(home / f"qrels/{label}_fr/qrels_processed.txt", "4772 0 7 1\n")
    report = imported(tmp_path / "r", "longeval-web")
    one = {"queries": 1, "qrels": 1, "documents": 1}
    assert report.rows == {"2022-05": one, "2022-06": one}
    assert report.plan.unread_files == {}


def _web_with_times(root: Path) -> None:
    home = root / "French/LongEval Train Collection"
    for month in ("2022-06", "2022-07"):
        pages = "".join(TREC.format(id=f"doc{n}", text=f"Page {n} en {month}.") for n in (1, 2))
        write(home / f"Trec/{month}_fr/a.trec", pages)
        write(home / f"queries/{month}_queries.txt", "5\teau potable\n6\tÉau potable\n")
        write(home / f"qrels/{month}_fr/qrels_processed.txt", "5 0 1 2\n6 0 2 1\n6 0 1 0\n")
    with sqlite3.connect(root / "French/collection_db.db") as connection:
        connection.execute(
            "CREATE TABLE mapping (id INTEGER PRIMARY KEY, url TEXT UNIQUE, "
            "last_updated_at TEXT, date TEXT)"
        )
        rows = [
            (1, "https://a.example/1", "[1654041600, 1656633600]", '["2022-06", "2022-07"]'),
            (2, "https://a.example/2", '["2022-06-02T00:00:00"]', '["2022-06"]'),
        ]
        connection.executemany("INSERT INTO mapping VALUES (?, ?, ?, ?)", rows)


def test_an_import_is_the_same_after_an_export(tmp_path: Path) -> None:
    _web_with_times(tmp_path / "r")
    first = imported(tmp_path / "r", "longeval-web")
    times = [
        dict(opened(first).snapshot(name).documents.select("doc_id", "fetched_at").collect().rows())
        for name in ("2022-06", "2022-07")
    ]
    assert times == [{"1": 1654041600, "2": 1654128000}, {"1": 1656633600, "2": 0}]
    out = export(first.version, "longeval-web", tmp_path / "again/r")
    second = imported(out, "longeval-web")
    assert compare(first.version, second.version).is_empty
    for name in ("2022-06", "2022-07"):
        for table in ("documents", "queries", "qrels"):
            before, after = (
                getattr(opened(report).snapshot(name), table).collect()
                for report in (first, second)
            )
            assert before.equals(after)
    changed = tmp_path / "again/r/French/collection_db.db"
    with sqlite3.connect(changed) as connection:
        connection.execute("UPDATE mapping SET last_updated_at = '[5, 6]' WHERE id = 1")
    (tmp_path / "third").mkdir()
    other = import_release(
        out, "longeval-web", tmp_path / "other", limits=ResourceLimits(tmp_path / "third")
    )
    differing = {d.table: d.changed for d in compare(first.version, other.version).tables}
    assert differing == {"snapshots/2022-06/documents": 1, "snapshots/2022-07/documents": 1}


def test_papers_are_the_same_after_an_export(tmp_path: Path) -> None:
    paper = (
        '{"id": "11", "title": "On Water", "abstract": "Wet <TEXT>.", "fullText": "Very wet."}\n'
    )
    for month in ("2024-11", "2025-01"):
        write(tmp_path / f"r/{month}/documents/a.jsonl", paper)
        write(tmp_path / f"r/{month}/queries.txt", "aa-1\twater\naa-2\tWater\n")
        write(tmp_path / f"r/{month}/qrels.txt", "aa-1 0 11 2\n")
    first = imported(tmp_path / "r", "longeval-sci")
    out = export(first.version, "longeval-sci", tmp_path / "again/r")
    second = imported(out, "longeval-sci")
    assert second.plan.unread_files == {}
    for name in ("2024-11", "2025-01"):
        for table in ("documents", "queries", "qrels"):
            before, after = (
                getattr(opened(report).snapshot(name), table).collect()
                for report in (first, second)
            )
            assert before.equals(after)
    longeval = pytest.importorskip("ir_datasets_longeval")
    dataset = longeval.load(str(out / "2025-01"))
    (document,) = dataset.docs_iter()
    assert (document.doc_id, document.title) == ("11", "On Water")
    assert [query.query_id for query in dataset.queries_iter()] == ["aa-1", "aa-2"]
    assert [q.relevance for q in dataset.qrels_iter()] == [2]
    assert [prior.get_snapshot() for prior in dataset.get_prior_datasets()] == ["2024-11"]


def test_a_wrong_layout_is_refused_with_the_right_one(tmp_path: Path) -> None:
    _web_with_times(tmp_path / "r")
    for layout in ("longeval-sci", "longeval-2023"):
        (tmp_path / layout).mkdir()
        with pytest.raises(UsageError, match="the release has layout longeval-web: use --layout"):
            import_release(
                tmp_path / "r", layout, tmp_path / "o", limits=ResourceLimits(tmp_path / layout)
            )


def test_queries_of_two_months_are_paired_by_their_texts(tmp_path: Path) -> None:
    for month, label in (("2022-06", "publish"), ("2022-07", "A-Short-July")):
        home, number = tmp_path / "r" / label / "French", month[5:] + "22"
        write(home / "Queries/train.tsv", f"q{number}1\teau\nq{number}2\tpain\n")
        write(
            home / "Qrels/train.txt", f"q{number}1 0 doc{number}1 1\nq{number}2 0 doc{number}2 1\n"
        )
        write(tmp_path / f"runs/{month}.txt", f"q{number}1 Q0 doc{number}1 1 1 x\n")
    report = imported(tmp_path / "r", "longeval-2023")
    qrels = {name: report.version / f"snapshots/{name}/qrels.parquet" for name in report.rows}
    parameters = EvaluationParameters(measures=("AP",), resamples=0)
    found = evaluate_paths(qrels, [tmp_path / "runs"], parameters)
    core = found.effectiveness.filter(topic_set="core")
    assert core.select("queries", "value").rows() == [(2, 0.5), (2, 0.5)]
    drops = dict(found.query_drops.select("query_id", "drop").iter_rows())
    assert drops == {"q06221": 0, "q06222": 0}
    assert builder.open_collection(report.version).core_queries().collect().height == 2
