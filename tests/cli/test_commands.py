"""Functions behind the commands `build`, `drift` and `demo`, on what they are given."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder import BuildReport
from builder.commands import build as building
from builder.commands import demo as demonstration
from builder.commands import drift as drifting
from builder.errors import DataError, DefinitionError, FormatError, MissingExtraError, UsageError
from builder.pipeline import STAGES
from builder.runtime.ledger import RowLedger
from builder.runtime.plan import Step
from builder.runtime.progress import NoProgress
from builder.runtime.runner import StepResult

NAMES = ("2022-06", "2022-07", "2022-08", "2022-09")
STEPS = [Step(STAGES[0], "all"), Step(STAGES[1], "2022-06"), Step(STAGES[1], "2022-07")]


def test_a_report_counts_steps_that_ran_and_that_may_run() -> None:
    results = [
        StepResult(STEPS[0], ("new",), RowLedger("lines", 1234, 1200)),
        StepResult(STEPS[1], ("new",), RowLedger("lines", 5, 4)),
        StepResult(STEPS[2], ("maybe",), is_conditional=True),
        StepResult(STEPS[2], (), RowLedger("lines", 7, 6)),
    ]
    report = BuildReport(Path("out"), results)
    assert (report.executed_step_count, report.conditional_step_count) == (2, 1)
    page = report._repr_html_()
    cells = [part.partition("</td>")[0] for part in page.split("<td")[1:]]
    names = [f"{STAGES[0].name} all", f"{STAGES[1].name} 2022-06", f"{STAGES[1].name} 2022-07"]
    assert [cell.rpartition(">")[2] for cell in cells] == [
        *(names[0], "ran", "1,234", "1,200"),
        *(names[1], "ran", "5", "4"),
        *(names[2], "up to date", "7", "6"),
    ]
    assert "out" in page
    report.version = Path("out/1.0.0")
    assert "out/1.0.0" in report._repr_html_()


def test_files_of_a_version_are_all_but_its_sums(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    for name in ("SHA256SUMS", "b/SHA256SUMS", "b/c/x.txt", "a.txt"):
        (tmp_path / name).write_text(name[:1])
    a, b = (
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    )
    assert list(building._file_hashes(tmp_path)) == [("a.txt", a), ("b/c/x.txt", b)]


def test_the_default_folder_lies_beside_the_definition() -> None:
    workflow = SimpleNamespace(collection=SimpleNamespace(name="mine"))
    definition: Any = SimpleNamespace(
        workflow=workflow, resolve_path=lambda name: Path("home") / name
    )
    assert building.default_output_folder(definition) == Path("home/collections/mine")


@pytest.mark.parametrize("error", [DataError("changed"), DefinitionError("changed", "w.toml")])
def test_a_build_that_would_stop_says_why(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*_: object) -> None:
        raise error

    monkeypatch.setattr(building, "_check_release_unchanged", check)
    nothing: Any = None
    assert building._explain_refusal(nothing, nothing) == str(error)
    monkeypatch.setattr(building, "_check_release_unchanged", lambda *_: None)
    assert building._explain_refusal(nothing, nothing) == ""


@pytest.mark.parametrize(
    ("stage", "is_read"), [("documents", True), ("crawl", False), (None, False)]
)
def test_lists_of_urls_are_read_before_documents_are_built(
    stage: str | None, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    monkeypatch.setattr(building, "read_url_list", read.append)
    documents = SimpleNamespace(deny=("a",), allow=("b",))
    steps: list[Any] = [
        Step(next(each for each in STAGES if each.name == name), "2022-06")
        for name in ("crawl", "documents")
    ]
    runner: Any = SimpleNamespace(
        definition=SimpleNamespace(
            workflow=SimpleNamespace(documents=documents), expand_sources=lambda names: names
        ),
        dry_run=lambda steps: [
            StepResult(step, ("new",) * (step.stage.name == stage)) for step in steps
        ],
    )
    building._check_url_lists(runner, steps)
    assert read == ([("a", "b")] if is_read else [])


WHOLE = ("check release", "check lists", "check topics", "run")


@pytest.mark.parametrize(
    ("options", "is_current", "called", "published"),
    [
        ({}, False, (*WHOLE, "check tables", "rerun damaged", "publish"), True),
        ({"allow_empty": True}, False, (*WHOLE, "rerun damaged", "publish"), True),
        ({}, True, WHOLE, False),
        ({"until": "log"}, False, ("check lists", "run"), False),
        ({"snapshots": ("2022-06",)}, False, ("check lists", "run"), False),
        ({"snapshots": ("2022-06",), "until": "log"}, False, ("check lists", "run"), False),
        ({"explain": True}, False, ("explain refusal",), False),
        ({"explain": True, "until": "log"}, False, (), False),
    ],
)
def test_whole_collections_are_published_unless_they_are_up_to_date(
    options: dict[str, Any],
    is_current: bool,
    called: tuple[str, ...],
    published: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    calls: list[str] = []

    def note(name: str, result: Any = None) -> Callable[..., Any]:
        def call(*_: object) -> Any:
            calls.append(name)
            return result

        return call

    collection = SimpleNamespace(name="mine", version="1.0.0")
    definition = SimpleNamespace(
        workflow=SimpleNamespace(collection=collection),
        resolve_path=lambda name: tmp_path / name,
        check_snapshot_names=lambda names, option: None,
    )
    ran, planned = [StepResult(STEPS[0], ("new",))], [StepResult(STEPS[0], ())]
    made: list[Any] = []

    def make_runner(*arguments: Any) -> SimpleNamespace:
        made.extend(arguments[3:6])
        return SimpleNamespace(
            dry_run=lambda steps: planned,
            run=note("run", ran),
            rerun_damaged_steps=note("rerun damaged"),
        )

    pipeline = SimpleNamespace(plan_steps=lambda *_: STEPS, stages=())
    replaced: dict[str, Any] = {
        "PIPELINE": pipeline,
        "Runner": make_runner,
        "count_usable_cores": lambda: 5,
        "_check_release_unchanged": note("check release"),
        "_explain_refusal": note("explain refusal", "released"),
        "_check_url_lists": note("check lists"),
        "check_topics_unchanged": note("check topics", ("eau",)),
        "is_published_and_current": lambda *_: is_current,
        "check_tables_not_empty": note("check tables"),
        "publish_version": note("publish"),
    }
    for name, value in replaced.items():
        monkeypatch.setattr(building, name, value)
    monkeypatch.setattr(building.Definition, "load", lambda file: definition)
    report = building.build("w.toml", **options)
    is_whole, is_explained = not {"until", "snapshots"} & options.keys(), "explain" in options
    assert tuple(calls) == called
    assert report == BuildReport(
        tmp_path / "collections" / "mine",
        planned if is_explained else ran,
        version=tmp_path / "collections/mine/1.0.0" if is_whole and not is_explained else None,
        published=published,
        topic_changes=("eau",) if is_whole and not is_explained else (),
        refusal="released" if is_whole and is_explained else "",
    )
    assert (*made[:2], type(made[2])) == (5, 4 * 2**30, NoProgress)
    progress = NoProgress()
    building.build("w.toml", tmp_path / "o", threads=3, memory="1GiB", progress=progress, **options)
    assert made[3:] == [3, 2**30, progress]


def test_versions_are_rebuilt_elsewhere_and_compared_file_by_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    version, again = tmp_path / "1.0.0", tmp_path / "again"
    for folder, files in (
        (version, {"same": "x", "changed": "x", "gone": "x", "SHA256SUMS": "x"}),
        (again, {"same": "x", "changed": "y", "new": "x", "SHA256SUMS": "y"}),
    ):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    calls: list[Any] = []

    def build(*arguments: Any, **options: Any) -> BuildReport:
        calls.append((arguments, options))
        return BuildReport(tmp_path, version=again)

    opened = SimpleNamespace(path=version, version="1.0.0")
    monkeypatch.setattr(building, "open_collection", lambda folder: opened)
    collection = SimpleNamespace(version="1.0.0")
    definition = SimpleNamespace(file="w.toml", workflow=SimpleNamespace(collection=collection))
    monkeypatch.setattr(building.Definition, "load", lambda file: definition)
    monkeypatch.setattr(building, "build", build)
    options = {"threads": 3, "memory": "1GiB", "executor": "processes", "progress": None}
    found = building.verify("w.toml", version, **options, on_step=print)
    assert found == ("changed", "gone", "new")
    ((arguments, given),) = calls
    assert arguments[0] == "w.toml"
    assert not Path(arguments[1]).exists()
    assert given == options | {"allow_empty": True, "on_step": print}
    collection.version = "1.1.0"
    message = (
        f"^w.toml defines version 1.1.0, but {version} is version 1.0.0; pass the definition from "
        "which 1.0.0 was built$"
    )
    with pytest.raises(UsageError, match=message):
        building.verify("w.toml", version)


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A collection of four snapshots, of which nothing is measured."""
    opened = SimpleNamespace(path=tmp_path, snapshots=NAMES, manifest={"definition": {}})
    monkeypatch.setattr(drifting, "open_collection", lambda path: opened)
    monkeypatch.setattr(drifting, "_read_published_drift", lambda version: {"all": version})
    monkeypatch.setattr(drifting, "select_pair", lambda measured, pair: {"published": pair})
    monkeypatch.setattr(
        drifting, "_compute_pair_drift", lambda collection, pair, *_: {"computed": pair}
    )
    return opened


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2022-06", "2022-07", {"published": ("2022-06", "2022-07")}),
        ("2022-08", None, {"published": ("2022-08", "2022-09")}),
        (None, "2022-07", {"published": ("2022-06", "2022-07")}),
        ("2022-07", "2022-09", {"computed": ("2022-07", "2022-09")}),
        ("2022-06", None, {"computed": ("2022-06", "2022-09")}),
        (None, "2022-08", {"computed": ("2022-06", "2022-08")}),
    ],
)
def test_drift_of_neighbours_is_published_and_of_others_computed(
    start: str | None, end: str | None, expected: dict[str, Any], collection: Any
) -> None:
    limits: Any = None
    found = drifting.compute_drift(collection.path, start, end, limits, NoProgress())
    assert found == expected


def test_drift_of_all_neighbours_is_published(collection: Any) -> None:
    limits: Any = None
    found = drifting.compute_drift(collection.path, None, None, limits, NoProgress())
    assert found == {"all": collection.path}


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (
            "2022-07",
            "2022-07",
            "--from, --to: expected an earlier and a later snapshot, found 2022-07, 2022-07",
        ),
        (
            "2022-08",
            "2022-06",
            "--from, --to: expected an earlier and a later snapshot, found 2022-08, 2022-06",
        ),
        ("2022-066", None, "unknown snapshot '2022-066'; did you mean '2022-06'?"),
        (None, "x", "unknown snapshot 'x'; expected one of 2022-06, 2022-07, 2022-08, 2022-09"),
    ],
)
def test_drift_is_measured_forwards_in_time(
    start: str | None, end: str | None, message: str, collection: Any
) -> None:
    limits: Any = None
    with pytest.raises(UsageError) as refused:
        drifting.compute_drift(collection.path, start, end, limits, NoProgress())
    assert str(refused.value) == message


def test_published_drift_has_the_format_of_this_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as missing:
        drifting._read_published_drift(tmp_path)
    assert str(missing.value) == f"{tmp_path}/drift.json: file not found; rebuild the collection"
    (tmp_path / "drift.json").write_text(json.dumps({"format": "longeval-drift/1"}))
    with pytest.raises(FormatError) as old:
        drifting._read_published_drift(tmp_path)
    assert str(old.value) == (
        f"{tmp_path}/drift.json: expected format longeval-drift/2, found longeval-drift/1; rebuild "
        "the collection"
    )
    (tmp_path / "drift.json").write_text(json.dumps({"format": "longeval-drift/2", "a": 1}))
    assert drifting._read_published_drift(tmp_path) == {"format": "longeval-drift/2", "a": 1}


def _with_rejects(rows: list[tuple[str, str, str | None]]) -> Any:
    """A collection of which only the rejects of a snapshot are known."""
    frame = pl.DataFrame(
        rows, {"stage": pl.String, "reason": pl.String, "key": pl.String}, orient="row"
    )
    return SimpleNamespace(snapshot=lambda name: SimpleNamespace(rejects=frame.lazy()))


def test_documents_that_are_missing_are_those_of_the_rejects(tmp_path: Path) -> None:
    rows: list[tuple[str, str, str | None]] = [
        ("coverage", "left_out_of_collection", "d000000000000000a"),
        ("coverage", "not_in_crawl", None),
        ("documents", "left_out_of_collection", "d000000000000000b"),
        ("coverage", "left_out_of_collection", "d00000000000000ff"),
    ]
    found = drifting._missing_shown_documents(_with_rejects(rows), "2022-07", tmp_path)
    assert found is not None
    assert found.scan().collect()["doc"].to_list() == [10, 255]
    unknown = [*rows, ("coverage", "left_out_of_collection", None)]
    assert drifting._missing_shown_documents(_with_rejects(unknown), "2022-07", tmp_path) is None


def test_crawled_documents_are_those_of_the_map(tmp_path: Path) -> None:
    rows: list[tuple[str, list[str] | None]] = [
        ("d000000000000000a", ["2022-06"]),
        ("d000000000000000b", ["2022-06", "2022-08"]),
        ("d000000000000000c", ["2022-07"]),
    ]
    found = []
    for documents in (rows, [*rows, ("d000000000000000d", None)]):
        frame = pl.DataFrame(
            documents, {"doc_id": pl.String, "crawled": pl.List(pl.String)}, orient="row"
        )
        collection: Any = SimpleNamespace(table=lambda name, frame=frame: frame.lazy())
        tables = drifting._crawled_documents(collection, ("2022-06", "2022-08"), tmp_path)
        docs = {name: table.scan().collect()["doc"].to_list() for name, table in tables.items()}
        found.append(docs)
    assert found == [{"2022-06": [10, 11], "2022-08": [11]}, {}]


@pytest.mark.parametrize("is_known", [True, False])
def test_drift_uses_what_the_collection_knows(
    is_known: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(drifting, "_crawled_documents", lambda *_: "crawled")
    shown = "shown" if is_known else None
    monkeypatch.setattr(drifting, "_missing_shown_documents", lambda *_: shown)
    parameters = {"documents": {"sample_share": 0.25}}
    collection: Any = SimpleNamespace(
        path=tmp_path, manifest={"definition": {"parameters": parameters}}
    )
    limits: Any = SimpleNamespace(scratch=tmp_path)
    found = drifting._open_optional_inputs(collection, ("2022-06", "2022-08"), limits)
    crawls, tables, documents, values, missing = vars(found).values()
    assert (crawls, missing) == (("crawled", {"2022-08": "shown"}) if is_known else ({}, {}))
    assert {kind: list(names) for kind, names in tables.items()} == {
        kind: ["2022-06", "2022-08"]
        for kind in ("coverage", "host_coverage", "click_estimates", "click_diagnostics")
    }
    assert documents.sample_share == 0.25
    assert values["2022-08"]["documents.sample_share"] == 0.25
    collection.manifest = {"definition": {}}
    nothing = drifting._open_optional_inputs(collection, ("2022-06", "2022-08"), limits)
    assert nothing == drifting.OptionalInputs()


@pytest.mark.parametrize("is_imported", [True, False])
def test_ids_of_a_release_are_made_stable_before_snapshots_are_compared(
    is_imported: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compared: list[Any] = []

    def compare(out: Path, tables: Any, params: Any, *more: Any) -> tuple[str, None]:
        compared.append((out, tables, params.model_dump()))
        return "series", None

    monkeypatch.setattr(drifting, "write_tables_with_stable_ids", lambda *_: STABLE)
    monkeypatch.setattr(drifting, "_open_optional_inputs", lambda *_: None)
    monkeypatch.setattr(drifting, "compare_snapshots", compare)
    monkeypatch.setattr(drifting, "measure_all_snapshots", lambda *arguments: arguments)
    (tmp_path / "snapshots/2022-08").mkdir(parents=True)
    (tmp_path / "snapshots/2022-08/click_diagnostics.parquet").touch()
    (tmp_path / "snapshots/2022-08/queries.parquet").touch()
    definition: dict[str, Any] = {"imported": {}} if is_imported else {}
    definition["parameters"] = {"changes": {"shingle": 7}}
    collection: Any = SimpleNamespace(path=tmp_path, manifest={"definition": definition})
    limits: Any = SimpleNamespace(scratch=tmp_path, with_scratch_folder=lambda name: name)
    pair = ("2022-06", "2022-08")
    found: Any = drifting._compute_pair_drift(collection, pair, limits, NoProgress())
    ((out, tables, params),) = compared
    assert out.is_dir()
    assert params["shingle"] == 7
    assert {kind: list(names) for kind, names in tables.items()} == {
        kind: ["2022-06", "2022-08"] for kind in ("documents", "queries", "qrels")
    }
    own = (tmp_path / "snapshots/2022-08/queries.parquet",)
    later = tables["queries"]["2022-08"]
    assert (later == "stable queries") if is_imported else (later.paths == own)
    series, changes, _, _, diagnostics = found
    assert (series, changes.shingle) == ("series", 7)
    assert list(diagnostics) == ["2022-08"]


STABLE = {kind: f"stable {kind}" for kind in ("documents", "queries", "qrels")}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The demo without its world, its build and its scores."""
    calls: dict[str, Any] = {"simulated": []}

    def simulate(world: Path, parameters: object) -> None:
        world.mkdir(parents=True)
        (world / "workflow.toml").touch()
        calls["simulated"].append((world, parameters))

    def build(definition: Path, out: Path, **options: Any) -> BuildReport:
        calls["built"] = (definition, out, options)
        return BuildReport(out)

    opened = SimpleNamespace(
        snapshots=("a", "b"), languages={"fr": ""}, snapshot=lambda name: f"snapshot {name}"
    )
    monkeypatch.setattr(demonstration, "simulate", simulate)
    monkeypatch.setattr(demonstration, "build", build)
    monkeypatch.setattr(demonstration, "validate", lambda root: [f"findings of {root}"])
    monkeypatch.setattr(demonstration, "open_collection", lambda root: opened)
    monkeypatch.setattr(
        demonstration, "run_sanity_check", lambda snapshots, languages: (snapshots, languages)
    )
    return calls


def test_the_demo_simulates_its_world_once(demo: dict[str, Any], tmp_path: Path) -> None:
    say: Callable[[StepResult], None] = print
    for _ in range(2):
        report = demonstration.demo(tmp_path, threads=3, on_step=say)
    world, out = tmp_path / "world", tmp_path / "collection"
    assert demo["simulated"] == [(world, demonstration.WORLD)]
    options = {"threads": 3, "progress": None, "on_step": say}
    assert demo["built"] == (world / "workflow.toml", out, options)
    assert (report.world, report.build.root) == (world, out)
    assert report.findings == [f"findings of {out}"]
    assert report.sanity == (["snapshot a", "snapshot b"], {"fr": ""})


def test_the_demo_needs_no_extra(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lacks(*_: object) -> None:
        raise MissingExtraError("BM25", "baseline")

    monkeypatch.setattr(demonstration, "run_sanity_check", lacks)
    assert demonstration.demo(tmp_path).sanity is None
