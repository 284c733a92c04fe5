"""Differences of versions: rows, causes of labels, change log, verification."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.collection.compare import VersionDifference, compare
from builder.collection.compare.changelog import format_changelog, summary_lines
from builder.collection.compare.changes import (
    definition_parts_affecting_judged_pairs,
    find_definition_changes,
)
from builder.collection.compare.definitions import diff_definitions, diff_values
from builder.collection.compare.judgements import (
    JudgementAffectingChanges,
    JudgementDifference,
    count_grade_changes,
    count_text_mismatches,
)
from builder.commands.build import changed_tools
from builder.errors import FormatError, UsageError
from tests.cli.test_cli import run
from tests.collection.mutations import edit, edit_manifest, seal, where
from tests.faults.kills import published

COLUMNS = (
    "query_id",
    "doc_id",
    "grade",
    "score",
    "impressions",
    "examinations",
    "clicks",
    "last_clicks",
    "source",
)


def _qrels(*rows: tuple[object, ...]) -> pl.LazyFrame:
    return pl.LazyFrame(list(rows), schema=COLUMNS, orient="row")


def test_nothing_differs_from_itself(built: BuildReport) -> None:
    found = compare(built.root, built.root)
    assert found.is_empty
    assert found.definition == found.tools == found.judgements == ()
    assert format_changelog(found).endswith("No differences.\n")


def test_rows_are_counted(built: BuildReport, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert built.version is not None
    shutil.copytree(built.version, copy)
    qrels = pl.read_parquet(copy / "snapshots/2022-06/qrels.parquet")
    edit(
        copy,
        "snapshots/2022-06/qrels",
        lambda rows: where(0, grade=(rows["grade"][0] + 1) % 3)(rows).head(-2),
    )
    edit(copy, "topics", lambda rows: rows.head(3))
    edit(copy, "snapshots/2022-06/click_estimates", lambda rows: rows.tail(-1))

    def other(manifest: dict) -> None:  # type: ignore[type-arg]
        for path in ("snapshots/2022-06/qrels", "snapshots/2022-06/click_estimates", "topics"):
            manifest["tables"][path]["content"] = "edited"
        manifest["tools"]["polars"] = "0"

    edit_manifest(copy, other)
    seal(copy)
    found = compare(built.version, copy)
    signatures = [builder.open_collection(path).signature for path in (built.version, copy)]
    assert [found.old, found.new] == signatures
    rows = {t.table: (t.added, t.removed, t.changed) for t in found.tables}
    lost = pl.read_parquet(built.version / "topics.parquet").height - 3
    assert rows == {
        "snapshots/2022-06/qrels": (0, 2, 1),
        "snapshots/2022-06/click_estimates": (0, 1, 0),
        "topics": (0, lost, 0),
    }
    (estimates,) = (t for t in found.tables if t.table.endswith("click_estimates"))
    path = built.version / "snapshots/2022-06/click_estimates.parquet"
    query, doc = pl.read_parquet(path).select("query", "doc").row(0)
    assert estimates.examples == (f"q{query:016x} d{doc:016x}",)
    assert found.tools[0].endswith("-> 0")
    (judged,) = found.judgements
    assert judged.causes == {"code": 1}
    assert judged.judged == qrels.height
    log = format_changelog(found)
    assert "- `snapshots/2022-06/qrels`: 0 added, 2 removed, 1 changed" in log
    assert "- 2022-06: 1 grade changed (cause: code)\n" in log


def test_columns_of_another_version_are_named(built: BuildReport, tmp_path: Path) -> None:
    """A table of an older version may lack a column; that once ended in an error of the engine."""
    assert built.version is not None
    copy = tmp_path / "copy"
    shutil.copytree(built.version, copy)
    path = copy / "snapshots/2022-06/click_diagnostics.parquet"
    rows = pl.read_parquet(path)
    older = rows.with_columns(pl.col("count").cast(pl.Int64), other=1).drop("model")
    older.write_parquet(path)
    table = "snapshots/2022-06/click_diagnostics"

    def other(manifest: dict) -> None:  # type: ignore[type-arg]
        manifest["tables"][table]["content"] = "edited"
        for step, entry in manifest["units"].items():
            entry["version"] = "1" if step.startswith("clicks ") else entry["version"]
        manifest["units"].pop("maps all")

    edit_manifest(copy, other)
    seal(copy)
    found = compare(copy, built.version)
    (difference,) = found.tables
    assert (difference.table, difference.added, difference.changed) == (table, 0, 0)
    assert difference.columns == ("count: Int64 -> UInt64", "other: removed", "model: added")
    assert not found.is_empty
    (stage,) = found.tools
    assert stage.startswith("stage clicks: 1 -> ")
    line = f"{table}: columns differ (count: Int64 -> UInt64; other: removed; model: added)"
    assert summary_lines(found) == [line, stage]
    assert "(columns: `count: Int64 -> UInt64`; `other: removed`; `model: added`)" in (
        format_changelog(found)
    )
    rows.drop("measure").write_parquet(path)
    with pytest.raises(
        FormatError,
        match=f"^{table}: expected the same key columns in both versions, found measure: added; "
        "if `longeval validate` finds no error in either version, rebuild the old version to "
        "compare it$",
    ):
        compare(copy, built.version)


def test_causes_by_hand() -> None:
    old = _qrels(
        ("q1", "d1", 0, 0.1, 9, 5, 1, 0, "click"),
        ("q1", "d2", 1, 0.3, 9, 5, 2, 1, "click"),
        ("q1", "d3", 1, 0.3, 9, 5, 2, 1, "click"),
        ("q1", "d4", 2, 0.9, 9, 5, 4, 1, "click"),
        ("q2", "d1", 2, None, 0, 0, 0, 0, "release"),
    )
    new = _qrels(
        ("q1", "d1", 1, 0.3, 12, 7, 2, 1, "click"),
        ("q1", "d2", 2, 0.3, 9, 5, 2, 1, "click"),
        ("q1", "d3", 2, 0.5, 9, 5, 2, 1, "click"),
        ("q1", "d4", 2, 0.8, 9, 5, 4, 1, "click"),
        ("q2", "d1", 1, 0.3, 9, 5, 2, 1, "click"),
    )
    changed = JudgementAffectingChanges(("select.min_users",), ("qrels.cuts[0]",), inputs=True)
    program = JudgementAffectingChanges(code=True)
    assert count_grade_changes(old, new, changed) == {"parameters": 2, "threshold": 1, "unknown": 1}
    assert count_grade_changes(old, new, JudgementAffectingChanges(inputs=True)) == {
        "inputs": 3,
        "unknown": 1,
    }
    assert count_grade_changes(old, new, program) == {"code": 3, "unknown": 1}
    assert count_grade_changes(old, new, JudgementAffectingChanges()) == {"unknown": 4}
    fitted = count_grade_changes(
        old, new, JudgementAffectingChanges(), JudgementAffectingChanges(inputs=True)
    )
    assert fitted == {"inputs": 1, "unknown": 3}


def test_texts_that_are_judged_by_hand() -> None:
    old = _qrels(
        *(
            (q, d, 0, 0.1, 1, 1, 1, 0, "click")
            for q, d in (("qa", "d1"), ("qb", "d1"), ("qb", "d9"), ("qx", "d1"))
        )
    )
    new = _qrels(("qa", "d1", 0, 0.1, 1, 1, 1, 0, "click"))
    queries = pl.LazyFrame({"query_id": ["qa", "qb"]})
    assert count_text_mismatches((queries, old), (queries, new)) == (2, 1)


def _built_with(section: str, definition: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A small version, and one of its definition with one section more."""
    before = published(definition)
    world = Path(shutil.copytree(definition.parent, tmp_path / "world"))
    text = definition.read_text()
    assert section.partition("\n")[0] not in text
    (world / definition.name).unlink()
    (world / definition.name).write_text(f"{text}\n{section}")
    out = shutil.copytree(before.parent, tmp_path / "other")
    after = builder.build(world / definition.name, out=out).version
    assert after is not None
    return before, after


def test_a_minimum_of_users_is_the_cause_and_not_the_log(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    before, after = _built_with("[select]\nmin_users = 8\n", undisturbed[0], tmp_path)
    found = compare(before, after)
    causes = {cause for judged in found.judgements for cause in judged.causes}
    assert causes == {"parameters"}
    assert {judged.parameters for judged in found.judgements} == {("select.min_users",)}
    assert "changed parameters that affect grades: select.min_users" in format_changelog(found)


def test_a_parameter_that_drops_judgements_attaches_none_to_another_text(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    before, after = _built_with("[qrels]\nmin_examinations = 15\n", undisturbed[0], tmp_path)
    found = compare(before, after)
    assert {judged.other_text_cause for judged in found.judgements} == {"parameters"}
    assert {judged.parameters for judged in found.judgements} == {("qrels.min_examinations",)}
    log = format_changelog(found)
    assert "different query text" not in log
    assert "judges the same documents for other queries (cause: parameters)" in log


def test_causes_of_missing_pairs_by_hand() -> None:
    evidence, thresholds = ("select.min_users",), ("qrels.min_examinations",)
    assert (
        JudgementAffectingChanges(evidence, inputs=True).cause_of_judged_pair_changes
        == "parameters"
    )
    assert (
        JudgementAffectingChanges(thresholds=thresholds).cause_of_judged_pair_changes
        == "parameters"
    )
    assert (
        JudgementAffectingChanges(thresholds=thresholds).cause_of_click_count_changes == "unknown"
    )
    assert JudgementAffectingChanges(inputs=True).cause_of_judged_pair_changes == "inputs"
    assert JudgementAffectingChanges(code=True).cause_of_judged_pair_changes == "code"
    assert JudgementAffectingChanges().cause_of_judged_pair_changes == "unknown"


def test_shares_are_of_the_judgements_that_can_be_compared() -> None:
    assert _label_line("unknown", released=True) == (
        "- 2022-06: 5 of 10 comparable judgements of the old version (50%) are attached to a "
        "different query text in the new version; 90 others cannot be compared, because the "
        "query has no text or the document is not judged in both versions"
    )


def test_judgements_that_the_log_lost_are_not_attached_to_another_text() -> None:
    assert _label_line("inputs", released=False) == (
        "- 2022-06: 5 of 10 comparable judgements of the old version (50%) are missing from the "
        "new version, which judges the same documents for other queries (cause: inputs); 90 "
        "others cannot be compared, because the query has no text or the document is not judged "
        "in both versions"
    )


def _label_line(cause: str, *, released: bool) -> str:
    found = JudgementDifference("2022-06", 100, {}, (), 10, 5, cause, released)
    difference = VersionDifference("a|", "b|", (), (), (), (), (found,), ())
    (line,) = (x for x in format_changelog(difference).splitlines() if "comparable" in x)
    return line


def test_drift_statistics_that_differ_are_named(built: BuildReport, tmp_path: Path) -> None:
    """Two versions with equal tables and another drift.json were once called equal."""
    assert built.version is not None
    copy = tmp_path / "copy"
    shutil.copytree(built.version, copy)
    drift = json.loads((copy / "drift.json").read_text("utf-8"))
    drift["checks"] = []
    del drift["vocabulary"]
    (copy / "drift.json").write_text(json.dumps(drift), "utf-8")
    seal(copy)
    found = compare(built.version, copy)
    assert (found.is_empty, found.drift) == (True, ("checks", "vocabulary"))
    assert summary_lines(found) == ["drift.json differs: checks, vocabulary"]
    assert "## Drift statistics\n\n- `checks`\n- `vocabulary`\n" in format_changelog(found)
    (copy / "drift.json").write_text("[]")
    seal(copy)
    with pytest.raises(FormatError, match=r"expected a JSON object; rebuild the collection$"):
        compare(built.version, copy)


def test_a_log_is_the_cause_of_other_cuts_in_all_snapshots(
    world: Path, built: BuildReport, tmp_path: Path
) -> None:
    """Only the log of June differs, to which the cuts of all snapshots are fitted."""
    copy = tmp_path / "world"
    shutil.copytree(world, copy)
    definition = copy / "workflow.toml"
    fitted = '\n[qrels]\npolicy = "target_shares"\n[variants]\nsets = "off"\n'
    definition.write_text(definition.read_text() + fitted)
    before = builder.build(definition, out=shutil.copytree(built.root, tmp_path / "before"))
    (log,) = copy.glob("logs/2022-06*")
    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    log.write_bytes(gzip.compress(b"".join(lines[::2])))
    after = builder.build(definition, out=shutil.copytree(before.root, tmp_path / "after"))
    assert before.version is not None
    assert after.version is not None
    found = compare(before.version, after.version)
    causes = {judged.snapshot: set(judged.causes) for judged in found.judgements}
    assert causes == {name: {"inputs"} for name in ("2022-06", "2022-07", "2022-08")}


def _manifest(
    stop_list: str = "a", sets: str = "a", crawl: str = "a", **parameters: object
) -> dict[str, Any]:
    """A manifest of two snapshots: hashes of a list, of the variant sets and of a crawl."""
    recorded = {"log.fields": {"clicks": "clicks"}, "documents.sample_share": 0.2} | parameters
    june = {"name": "2022-06", "start": "1", "end": "2", "crawl": {"june": "a"}}
    july = {"name": "2022-07", "start": "2", "end": "3", "crawl": {"july": crawl}}
    return {
        "definition": {"snapshots": [june, july], "parameters": {}},
        "tools": {},
        "units": {
            "log 2022-07": {"version": "1", "parameters": recorded},
            "select 2022-06": {"version": "1", "inputs": {"stop_lists": {"stop.txt": stop_list}}},
            "clicks 2022-07": {"version": "1", "inputs": {"variants": {"2022-07": sets}}},
        },
    }


def _changes(new: dict[str, Any], *, documents_differ: bool = False) -> JudgementAffectingChanges:
    return find_definition_changes(
        (_manifest(), new), "2022-07", *definition_parts_affecting_judged_pairs(documents_differ)
    )


def test_the_text_of_a_list_is_an_input() -> None:
    assert _changes(_manifest()) == JudgementAffectingChanges()
    assert _changes(_manifest(stop_list="b")) == JudgementAffectingChanges(inputs=True)
    assert diff_definitions(_manifest(), _manifest(stop_list="b")) == [
        "lists.select.stop_lists.stop.txt: a -> b"
    ]


def test_the_name_of_a_list_is_no_cause() -> None:
    renamed = _manifest(**{"select.stop_lists": ["other.txt"]})
    assert _changes(renamed) == JudgementAffectingChanges()


def test_the_log_of_an_earlier_snapshot_changes_variant_sets() -> None:
    new = _manifest(sets="b")
    new["definition"]["snapshots"][0]["log"] = {"june": "b"}
    assert _changes(new) == JudgementAffectingChanges(inputs=True)
    new["units"]["clicks 2022-07"]["inputs"]["variants"]["2022-07"] = "a"
    assert _changes(new) == JudgementAffectingChanges()


def test_samples_and_crawls_change_no_clicks() -> None:
    sampled = _manifest(crawl="b", **{"documents.sample_share": 0.3, "crawl.undated": "start"})
    assert _changes(sampled) == JudgementAffectingChanges()
    found = _changes(sampled, documents_differ=True)
    assert found == JudgementAffectingChanges(("crawl.undated",), inputs=True)
    drop = {"documents.duplicates": "drop", "documents.sample_share": 0.3}
    assert _changes(_manifest(**drop), documents_differ=True).evidence == (
        "documents.duplicates",
        "documents.sample_share",
    )


def test_an_override_is_a_changed_parameter() -> None:
    new = _manifest(**{"log.fields": {"clicks": "long_clicks"}})
    assert _changes(new) == JudgementAffectingChanges(("log.fields.clicks",))
    for manifest in (old := _manifest(), new):
        manifest["definition"]["parameters"] = {"log": {"fields": {"clicks": "clicks"}}}
    assert diff_definitions(old, new) == [
        "snapshots[1].overrides.log.fields.clicks: None -> long_clicks"
    ]


def test_only_programs_that_differ_are_the_cause() -> None:
    new = _manifest()
    new["units"]["clicks 2022-07"]["version"] = "2"
    assert _changes(new) == JudgementAffectingChanges(code=True)
    new = _manifest()
    new["tools"]["polars"] = "1"
    assert _changes(new) == JudgementAffectingChanges(code=True)


def test_definitions_key_by_key() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "d": [1]}
    now = {"a": {"b": 2, "c": [1, 3]}, "d": [1, 2], "e": None}
    assert diff_values(before, now) == ["a.b: 1 -> 2", "a.c[1]: 2 -> 3", "d changed"]
    assert diff_values({}, {"a": {"b": 1}}) == ["a.b: None -> 1"]


def test_a_version_knows_what_built_it(built: BuildReport, tmp_path: Path) -> None:
    assert built.version is not None
    assert changed_tools(built.version) == ()
    copy = tmp_path / "0.1.0"
    shutil.copytree(built.version, copy)

    def older(manifest: dict) -> None:  # type: ignore[type-arg]
        manifest["units"]["drift all"]["version"] = "0"
        manifest["tools"]["polars"] = "0"

    edit_manifest(copy, older)
    seal(copy)
    engine, stage = changed_tools(copy)
    assert engine.startswith("polars: 0 -> ")
    assert stage.startswith("stage drift: 0 -> ")


def test_a_version_is_verified(undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    definition, _ = undisturbed
    assert builder.verify(definition, published(definition)) == ()
    copy = tmp_path / "0.1.0"
    shutil.copytree(published(definition), copy)
    edit(copy, "topics", lambda rows: rows.head(2))
    seal(copy)
    assert builder.verify(definition, copy) == (
        "manifest.json",
        "topics.parquet",
    )


def test_the_same_queries_of_all_snapshots(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    frame = collection.aligned_texts("documents", language="fr").collect()
    held = collection.table("documents_map").collect()
    assert frame.height == held["snapshots"].list.len().sum()
    assert frame.columns == ["doc_id", "snapshot", "text"]
    assert frame.select("doc_id", "snapshot").is_unique().all()
    assert frame["text"].null_count() == 0
    with pytest.raises(UsageError, match="no texts in 'en'; available languages: fr"):
        collection.aligned_texts("documents", language="en")
    queries = collection.aligned_texts("queries").collect()
    core = collection.core_queries().collect()["query_id"]
    counts = queries.group_by("query_id").len().filter(pl.col("query_id").is_in(core.implode()))
    assert (counts["len"] == len(collection.snapshots)).all()


def test_snapshots_and_reports_in_a_notebook(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    page = collection.snapshot(collection.snapshots[0])._repr_html_()
    _, documents, *_ = collection.row_counts()[0]
    assert f"<td>documents</td><td>{documents:,}</td><td>doc_id, " in page
    page = built._repr_html_()
    assert page.count("<tr>") == 1 + len(built.results)
    assert "<td>clicks 2022-06</td><td>" in page


def test_a_collection_in_a_notebook(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    page = collection._repr_html_()
    assert page.count("<tr>") == 1 + len(collection.snapshots)
    for name, documents, queries, judgements in collection.row_counts():
        snapshot = collection.snapshot(name)
        counts = (documents, queries, judgements)
        frames = (snapshot.documents, snapshot.queries, snapshot.qrels)
        assert counts == tuple(frame.collect().height for frame in frames)
        assert f"<td>{documents:,}</td>" in page


def test_files_edited_after_publication_are_compared(
    built: BuildReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hashes of the manifests are equal, and so `diff` said that no row differs."""
    assert built.version is not None
    copy = Path(shutil.copytree(built.version, tmp_path / "0.1.0"))
    path = copy / "snapshots/2022-07/qrels.parquet"
    size = path.stat().st_size
    rows = pl.read_parquet(path)
    rows.head(5).with_columns(doc_id=pl.lit("d" + 16 * "f")).unique("query_id").write_parquet(path)
    kept = pl.read_parquet(path).height
    found = compare(built.version, copy)
    (table,) = found.tables
    assert (table.table, table.added, table.removed, table.changed) == (
        "snapshots/2022-07/qrels",
        kept,
        rows.height,
        0,
    )
    change = f"{path}: the file was changed: {path.stat().st_size:,} bytes instead of {size:,}"
    assert found.changed_files == (change,)
    assert run("diff", built.version, copy, "--exit-code") == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "rows differ"
    assert printed.err == f"warning: {change}; the version is compared as is\n"


def test_judgements_listed_twice_differ(built: BuildReport, tmp_path: Path) -> None:
    assert built.version is not None
    copy = Path(shutil.copytree(built.version, tmp_path / "0.1.0"))
    path = copy / "snapshots/2022-07/qrels.parquet"
    rows = pl.read_parquet(path)
    pl.concat([rows, rows.head(3)]).write_parquet(path)
    (table,) = compare(built.version, copy).tables
    assert (table.added, table.removed, table.changed) == (3, 0, 0)


def test_rewritten_and_missing_files_are_named(built: BuildReport, tmp_path: Path) -> None:
    assert built.version is not None
    copy = Path(shutil.copytree(built.version, tmp_path / "0.1.0"))
    queries, topics = copy / "snapshots/2022-07/queries.parquet", copy / "topics.parquet"
    size = queries.stat().st_size
    pl.read_parquet(queries).write_parquet(queries)
    height = pl.read_parquet(topics).height
    topics.unlink()
    part = copy / "snapshots/2022-06/documents/part-00000.parquet"
    more = part.with_name("part-99999.parquet")
    pl.read_parquet(part).head(0).write_parquet(more)
    found = compare(built.version, copy)
    assert [(t.table, t.removed) for t in found.tables] == [("topics", height)]
    assert found.changed_files == (
        f"{topics}: the file is missing",
        f"{more}: the file is not listed in the manifest",
        f"{queries}: the file was changed: {queries.stat().st_size:,} bytes instead of {size:,}",
    )


@pytest.mark.parametrize(
    ("count", "named"),
    [(5, "a.0, a.1, a.2, a.3, a.4"), (7, "a.0, a.1, a.2, a.3, a.4 and 2 more")],
)
def test_five_changed_parameters_are_named_and_the_others_counted(count: int, named: str) -> None:
    parameters = tuple(f"a.{n}" for n in range(count))
    found = JudgementDifference("2022-06", 100, {"parameters": 3}, parameters, 100, 0, None)
    log = format_changelog(VersionDifference("a|", "b|", (), (), (), (), (found,), ()))
    assert f"- 2022-06: changed parameters that affect grades: {named}\n" in log
    assert "- 2022-06: 3 grades changed (cause: parameters)\n" in log
