"""Run files are checked against the queries and documents of a collection."""

import json
from pathlib import Path

from typer.testing import CliRunner

import builder
from builder import BuildReport
from builder.cli import app
from builder.evaluation.run_checks import RunFinding, check_runs


def write(path: Path, queries: list[str], documents: list[str], tag: str = "mine") -> Path:
    """A sound run: every document for every query, best first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ranked = list(enumerate(documents, 1))
    lines = [f"{q} Q0 {d} {rank} {9 - rank / 2e3} {tag}\n" for q in queries for rank, d in ranked]
    path.write_text("".join(lines))
    return path


def test_every_defect_is_reported(built: BuildReport, tmp_path: Path) -> None:
    opened = builder.open_collection(built.root)
    ids = {}
    for name in opened.snapshots:
        snapshot = opened.snapshot(name)
        queries = snapshot.queries.collect()["query_id"].sort().to_list()
        ids[name] = queries, snapshot.documents.collect()["doc_id"].sort().to_list()
    first, second, *others = opened.snapshots
    queries, documents = ids[first]
    write(tmp_path / f"sound/{first}.txt", queries, documents[:4])
    write(tmp_path / f"sound/{second}.txt", *ids[second])
    lines = write(tmp_path / f"odd/{first}.txt", queries[1:], documents[:3]).read_text()
    odd = f"x1 Q0 {documents[0]} 1 1 other\n{queries[1]} Q0 nowhere 9 0 mine\n"
    (tmp_path / f"odd/{first}.txt").write_text(lines + odd)
    deep = [f"d{number}" for number in range(1001)]
    write(tmp_path / f"odd/{second}.txt", ids[second][0], deep)
    (tmp_path / "bad").mkdir()
    (tmp_path / f"bad/{first}.txt").write_text("q1 Q0 d1 1 high t\n")
    (tmp_path / f"bad/{second}.txt").write_text("")
    found = check_runs(opened, [tmp_path])
    absent = [
        RunFinding(system, name, "warning", "the system has no run for this snapshot", 1)
        for system in ("bad", "odd", "sound")
        for name in others
    ]
    assert [f for f in found if f.message == absent[0].message] == absent if absent else True
    rest = [f for f in found if f not in absent]
    messages = {
        (f.system, f.snapshot, f.severity, f.message.partition(" of 1")[0], f.count) for f in rest
    }
    silent = "queries have no results, so they score 0"
    assert {m for m in messages if m[0] != "bad"} == {
        ("odd", first, "error", "queries are not in the snapshot", 1),
        ("odd", first, "error", "documents are not in the snapshot", 1),
        ("odd", first, "warning", silent, 1),
        ("odd", first, "warning", "tags in one run", 2),
        ("odd", second, "error", "documents are not in the snapshot", 1001),
        ("odd", second, "error", "queries have more than 1,000 documents", len(ids[second][0])),
    }
    bad = [f for f in rest if f.system == "bad"]
    assert bad[0].severity == "error"
    assert "line 1" in bad[0].message
    assert "high" in bad[0].message


def test_ranks_that_contradict_scores(built: BuildReport, tmp_path: Path) -> None:
    opened = builder.open_collection(built.root)
    name = opened.snapshots[0]
    snapshot = opened.snapshot(name)
    queries = snapshot.queries.collect()["query_id"].sort().to_list()
    a, b = snapshot.documents.collect()["doc_id"].sort().to_list()[:2]
    run = tmp_path / f"mine/{name}.txt"
    run.parent.mkdir()
    fair = "".join(f"{q} Q0 {a} 1 2.0 t\n{q} Q0 {b} 2 1.0 t\n" for q in queries[1:])
    run.write_text(fair + f"{queries[0]} Q0 {a} 1 1.0 t\n{queries[0]} Q0 {b} 2 2.0 t\n")
    found = [f for f in check_runs(opened, [run]) if f.snapshot == name]
    message = "queries have ranks that contradict their scores, which count"
    assert found == [RunFinding("mine", name, "warning", message, 1, (queries[0],))]


def test_the_command_fails_on_errors_only(built: BuildReport, tmp_path: Path) -> None:
    opened = builder.open_collection(built.root)
    for name in opened.snapshots:
        snapshot = opened.snapshot(name)
        queries = snapshot.queries.collect()["query_id"].to_list()
        documents = snapshot.documents.collect()["doc_id"].head(5).to_list()
        write(tmp_path / f"mine/{name}.txt", queries, documents)
    command = ["runs", "check", str(built.root), str(tmp_path / "mine")]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.output) == (0, "no findings\n")
    write(tmp_path / f"mine/{opened.snapshots[0]}.txt", ["x1"], documents)
    done = CliRunner().invoke(app, [*command, "--format", "json"])
    assert done.exit_code == 1
    first = json.loads(done.output)[0]
    assert (first["severity"], first["count"]) == ("error", 1)
    assert "x1" in CliRunner().invoke(app, command).output
