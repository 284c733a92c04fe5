"""The runner on a toy pipeline: what runs, what is skipped, what survives faults."""

import shutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import dataframely as dy
import polars as pl
import pytest

from builder.definition.model import Definition
from builder.errors import DataError, LedgerError, SchemaError, UsageError
from builder.io.sources import Source
from builder.io.tables import Table, write_frame
from builder.parameters import ClickParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.plan import Pipeline
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.references import All, FileReference, From, Same, To
from builder.runtime.runner import Runner, StepResult, _join_with_or
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from builder.runtime.store import Store
from schemas import TableSchema

DEFINITION = """
[collection]
name = "toy"
version = "0.1.0"
topics = "topics.tsv"
[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["june.txt"]
crawl = ["june.txt"]
[[snapshots]]
name = "2022-07"
start = 2022-07-01
end = 2022-08-01
log = ["july.txt"]
crawl = ["july.txt"]
[clicks]
prior_alpha = 1.0
"""


class Words(TableSchema):
    """Numbered words."""

    number = dy.UInt32(primary_key=True)
    word = dy.String()


class Shouts(Words):
    """Words in upper case."""


class Sizes(Words):
    """Numbers of words."""


class Names(Words):
    """Names of snapshots."""


def _write(out: Path, table: str, words: list[str]) -> None:
    frame = pl.DataFrame({"number": range(len(words)), "word": words})
    write_frame(frame, out / f"{table}.parquet", Words)


def _words(table: Table) -> list[str]:
    return table.scan().collect()["word"].to_list()


def read_words(
    out: Path,
    *,
    files: Annotated[tuple[Source, ...], FileReference(lambda w, key: w.snapshot(key).log)],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Words of the files; words with a dash are rejected."""
    words = [word for file in files for word in file.path.read_text().split()]
    kept = [word for word in words if "-" not in word]
    ledger = RowLedger("words", len(words), len(kept))
    with RejectWriter(out, "words", ledger) as rejects:
        for word in words:
            if "-" in word:
                rejects.add("dash", key=word)
    _write(out, "words", kept)
    return ledger


def shout(
    out: Path,
    *,
    words: Same[Words],
    params: ClickParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Words in upper case, as often as the prior says."""
    shouts = [word.upper() * int(params.prior_alpha) for word in _words(words)]
    _write(out, "shouts", shouts)
    with RejectWriter(out, "shout", ledger := RowLedger("words", len(shouts), len(shouts))):
        return ledger


def compare(
    out: Path,
    *,
    shouts_from: From[Shouts],
    shouts_to: To[Shouts],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """How many words each side has."""
    _write(out, "sizes", [str(len(_words(side))) for side in (shouts_from, shouts_to)])
    with RejectWriter(out, "compare", ledger := RowLedger("sides", 2, 2)):
        return ledger


def collect(
    out: Path, *, words: All[Words], limits: ResourceLimits, progress: Progress
) -> RowLedger:
    """Snapshots by name."""
    _write(out, "names", list(words))
    with RejectWriter(out, "collect", ledger := RowLedger("snapshots", 2, 2)):
        return ledger


def toy(**changed: Any) -> Pipeline:
    """The toy pipeline, with other functions or versions for some stages."""
    functions: dict[str, Callable[..., RowLedger]] = {
        "words": read_words,
        "shout": shout,
        "compare": compare,
        "collect": collect,
        **changed,
    }
    version = changed.get("version", "1")
    pair, once = Scope.PAIR, Scope.COLLECTION
    return Pipeline(
        (
            stage("words", version=version, writes=(Words,))(functions["words"]),
            stage("shout", version="1", writes=(Shouts,))(functions["shout"]),
            stage("compare", version="1", scope=pair, writes=(Sizes,))(functions["compare"]),
            stage("collect", version="1", scope=once, writes=(Names,))(functions["collect"]),
        )
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").touch()
    (tmp_path / "june.txt").write_text("un deux-trois quatre")
    (tmp_path / "july.txt").write_text("cinq six")
    (tmp_path / "workflow.toml").write_text(DEFINITION)
    return tmp_path


def run(folder: Path, pipeline: Pipeline | None = None) -> dict[str, StepResult]:
    """One run; the results by step."""
    pipeline = pipeline or toy()
    runner = _runner(folder, pipeline)
    steps = pipeline.plan_steps(runner.definition.workflow)
    with runner.store.lock():
        return {str(result.step): result for result in runner.run(steps, lambda _: None)}


def _runner(folder: Path, pipeline: Pipeline) -> Runner:
    definition = Definition.load(folder / "workflow.toml")
    return Runner(pipeline, definition, Store(folder / "out"), threads=1, memory=2**30)


def ran(results: dict[str, StepResult]) -> list[str]:
    return [name for name, result in results.items() if result.has_run]


def _tree(folder: Path) -> dict[str, bytes]:
    files = sorted(p for p in (folder / "out").rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


ALL = [
    "words 2022-06",
    "words 2022-07",
    "shout 2022-06",
    "shout 2022-07",
    "compare 2022-06_2022-07",
    "collect all",
]


def test_first_run_builds_all_and_second_nothing(folder: Path) -> None:
    results = run(folder)
    assert ran(results) == ALL
    assert all(result.reasons == ("not built yet",) for result in results.values())
    ledger = results["words 2022-06"].ledger
    assert ledger is not None
    assert (ledger.rows_in, ledger.rows_out, dict(ledger.rejected)) == (3, 2, {"dash": 1})
    before = _tree(folder)
    again = run(folder)
    assert ran(again) == []
    assert again["words 2022-06"].ledger == ledger
    assert {result.seconds for result in again.values()} == {0.0}
    assert _tree(folder) == before


def test_a_parameter_runs_only_what_depends_on_it(folder: Path) -> None:
    run(folder)
    (folder / "workflow.toml").write_text(DEFINITION.replace("alpha = 1.0", "alpha = 2.0"))
    runner = _runner(folder, pipeline := toy())
    planned = runner.dry_run(pipeline.plan_steps(runner.definition.workflow))
    assert [str(result.step) for result in planned if result.has_run] == [*ALL[2:4]]
    assert planned[2].reasons == ("clicks.prior_alpha 1.0 -> 2.0",)
    assert [str(result.step) for result in planned if result.is_conditional] == [ALL[4]]
    assert planned[4].reasons == ("if a table of shout changes",)
    results = run(folder)
    assert ran(results) == ALL[2:5]
    assert results["shout 2022-06"].reasons == ("clicks.prior_alpha 1.0 -> 2.0",)


@pytest.mark.parametrize(
    ("names", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_alternatives_are_joined(names: list[str], text: str) -> None:
    assert _join_with_or(names) == text


def test_explain_writes_nothing(folder: Path) -> None:
    runner = _runner(folder, pipeline := toy())
    results = runner.dry_run(pipeline.plan_steps(runner.definition.workflow))
    assert [str(result.step) for result in results if result.has_run] == ALL
    assert not list((folder / "out").rglob("*.parquet"))


def test_a_changed_input_is_named(folder: Path) -> None:
    run(folder)
    (folder / "july.txt").write_text("cinq sept")
    results = run(folder)
    assert ran(results) == ["words 2022-07", "shout 2022-07", ALL[4], ALL[5]]
    assert results["words 2022-07"].reasons == ("input files july.txt changed",)


def test_equal_output_stops_the_chain(folder: Path) -> None:
    run(folder)
    (folder / "july.txt").write_text("  cinq   six  ")
    assert ran(run(folder)) == ["words 2022-07"]


def test_older_outputs_are_removed(folder: Path) -> None:
    run(folder)
    run(folder, toy(version="2"))
    outputs = [path for path in (folder / "out/.work/words/2022-06").iterdir() if path.is_dir()]
    assert len(outputs) == 1


def test_a_stage_version_runs_it_again(folder: Path) -> None:
    run(folder)
    results = run(folder, toy(version="2"))
    assert ran(results) == ["words 2022-06", "words 2022-07"]
    assert results["words 2022-06"].reasons == ("stage version 1 -> 2",)


def test_a_damaged_intermediate_file_is_built_again_before_use(folder: Path) -> None:
    run(folder)
    good = _tree(folder)
    (path,) = (folder / "out/.work/words/2022-06").glob("*/words.parquet")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    (folder / "workflow.toml").write_text(DEFINITION.replace("alpha = 1.0", "alpha = 2.0"))
    assert ran(run(folder)) == ["words 2022-06", *ALL[2:5]]
    assert path.read_bytes() == good[path.relative_to(folder).as_posix()]


def test_damaged_outputs_are_repaired_before_they_are_published(folder: Path) -> None:
    run(folder)
    good = _tree(folder)
    (path,) = (folder / "out/.work/collect/all").glob("*/names.parquet")
    path.write_bytes(path.read_bytes()[::-1])
    assert ran(run(folder)) == []  # of the same size, and no stage reads it
    runner = _runner(folder, pipeline := toy())
    results: list[StepResult] = []
    with runner.store.lock():
        runner.rerun_damaged_steps(pipeline.plan_steps(runner.definition.workflow), results.append)
    assert [str(result.step) for result in results if result.has_run] == [ALL[5]]
    assert path.read_bytes() == good[path.relative_to(folder).as_posix()]


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x"])
def test_an_intermediate_file_of_another_size_is_built_again(
    change: Callable[[bytes], bytes], folder: Path
) -> None:
    run(folder)
    (path,) = (folder / "out/.work/shout/2022-07").glob("*/shouts.parquet")
    path.write_bytes(change(path.read_bytes()))
    assert ran(run(folder)) == ["shout 2022-07"]


def test_a_missing_intermediate_file_is_built_again(folder: Path) -> None:
    run(folder)
    for path in (folder / "out/.work/shout/2022-07").glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
    assert ran(run(folder)) == ["shout 2022-07"]


def test_a_failed_stage_leaves_the_old_state(folder: Path) -> None:
    @wraps(shout)
    def fail(out: Path, **_: Any) -> RowLedger:
        (out / "half.parquet").write_text("half")
        raise DataError("no more disk")

    run(folder)
    before = _tree(folder)
    (folder / "workflow.toml").write_text(DEFINITION.replace("alpha = 1.0", "alpha = 2.0"))
    with pytest.raises(DataError, match="no more disk"):
        run(folder, toy(shout=fail))
    assert _tree(folder) == before
    assert ran(run(folder)) == ALL[2:5]


def test_leftovers_of_a_kill_are_swept(folder: Path) -> None:
    run(folder)
    before = _tree(folder)
    work = folder / "out/.work"
    (work / "scratch").mkdir()
    (work / "scratch/spilled").touch()
    (work / "words/2022-06/abc.partial").mkdir()
    (work / "words/2022-06/abc.partial/words.parquet").touch()
    (work / "words/2022-06/record.json.partial").touch()
    assert ran(run(folder)) == []
    assert _tree(folder) == before


def test_lost_rows_are_a_fault(folder: Path) -> None:
    @wraps(read_words)
    def lose(out: Path, **arguments: Any) -> RowLedger:
        ledger = read_words(out, **arguments)
        ledger.rows_out -= 1
        return ledger

    with pytest.raises(LedgerError, match="stage words 2022-06: read 3 words, but kept 1"):
        run(folder, toy(words=lose))


def test_unlisted_rejects_are_a_fault(folder: Path) -> None:
    @wraps(read_words)
    def hide(out: Path, **arguments: Any) -> RowLedger:
        ledger = read_words(out, **arguments)
        with RejectWriter(out, "words", RowLedger("words")):
            return ledger

    with pytest.raises(LedgerError, match="rejected 1 words, but"):
        run(folder, toy(words=hide))


def test_a_broken_contract_is_a_fault(folder: Path) -> None:
    @wraps(read_words)
    def rename(out: Path, **arguments: Any) -> RowLedger:
        ledger = read_words(out, **arguments)
        path = out / "words.parquet"
        pl.read_parquet(path).rename({"word": "mot"}).write_parquet(path)
        return ledger

    with pytest.raises(SchemaError, match="table words has the columns"):
        run(folder, toy(words=rename))


def test_two_builds_at_once(folder: Path) -> None:
    store = Store(folder / "out")
    with (
        store.lock(),
        pytest.raises(DataError, match="another build or import of this collection"),
    ):
        run(folder)
    assert ran(run(folder)) == ALL


def test_only_one_snapshot_and_what_it_needs(folder: Path) -> None:
    workflow = Definition.load(folder / "workflow.toml").workflow
    steps = toy().plan_steps(workflow, ["2022-07"], "shout")
    assert [str(step) for step in steps] == ["words 2022-07", "shout 2022-07"]
    steps = toy().plan_steps(workflow, ["2022-06", "2022-07"])
    assert [str(step) for step in steps] == ALL[:5]


def test_an_unknown_stage(folder: Path) -> None:
    workflow = Definition.load(folder / "workflow.toml").workflow
    with pytest.raises(UsageError, match="unknown stage 'shut'; did you mean 'shout'"):
        toy().plan_steps(workflow, until="shut")


def test_a_table_that_nobody_writes() -> None:
    shouting = stage("shout", version="1", writes=(Shouts,))(shout)
    with pytest.raises(TypeError, match=r"stage shout reads \['words'\], which no earlier stage"):
        Pipeline((shouting,))


def test_a_table_with_two_writers() -> None:
    first, second = (stage(n, version="1", writes=(Words,))(read_words) for n in ("a", "b"))
    with pytest.raises(TypeError, match=r"stage b writes \['words'\], which an earlier stage"):
        Pipeline((first, second))


def test_an_argument_without_origin() -> None:
    def count(out: Path, *, words: Table, limits: ResourceLimits, progress: Progress) -> RowLedger:
        raise NotImplementedError

    with pytest.raises(TypeError, match="argument 'words' is not a table"):
        stage("count", version="1")(count)


def test_a_stage_is_still_its_function(tmp_path: Path) -> None:
    words = stage("words", version="1", writes=(Words,))(read_words)
    (tmp_path / "june.txt").write_text("un deux")
    ledger = words(
        tmp_path,
        files=(Source(tmp_path / "june.txt", "june.txt"),),
        limits=ResourceLimits(tmp_path),
        progress=NoProgress(),
    )
    assert (ledger.rows_in, ledger.rows_out) == (2, 2)
    assert words.__doc__ == read_words.__doc__
