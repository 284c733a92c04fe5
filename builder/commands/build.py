"""Build a collection from a definition: plan, run, publish."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from builder.collection.guards import check_program, check_sizes, check_topics, check_version
from builder.collection.publish import is_published, publish_version
from builder.collection.read import open_collection
from builder.definition.model import Definition
from builder.errors import UsageError
from builder.io.disk import explain_errors
from builder.pipeline import PIPELINE
from builder.reporting.parts import html_table
from builder.runtime.executors import get_executor
from builder.runtime.limits import DEFAULT_MEMORY, parse_memory, usable_cores
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import SUMS, sha256
from builder.runtime.runner import Runner, Step
from builder.runtime.store import Store


@dataclass
class BuildReport:
    """The outcome of a build.

    Args:
        root: The collection's folder.
        steps: Outcome of each unit, in the order of the plan.
        version: The published version folder; None if nothing was to be published.
        published: Whether this build wrote that version.
        notes: How its topics differ from those of the draft that it replaced.
    """

    root: Path
    steps: list[Step] = field(default_factory=list)
    version: Path | None = None
    published: bool = False
    notes: tuple[str, ...] = ()

    @property
    def ran(self) -> int:
        """Number of units that ran or would run."""
        return sum(step.ran for step in self.steps)

    def _repr_html_(self) -> str:
        """HTML table of the units for notebooks."""
        rows = [
            (
                str(step.unit),
                "ran" if step.ran else "up to date",
                step.ledger.rows_in,
                step.ledger.rows_out,
            )
            for step in self.steps
            if step.ledger is not None
        ]
        header = ("unit", "", "rows in", "rows kept")
        return html_table(str(self.version or self.root), header, rows)


def default_root(definition: Definition) -> Path:
    """Default output folder: `collections/<name>` next to the definition."""
    return definition.resolve("collections") / definition.workflow.collection.name


def build(
    workflow: Path | str,
    out: Path | str | None = None,
    *,
    snapshots: Sequence[str] = (),
    until: str | None = None,
    explain: bool = False,
    allow_empty: bool = False,
    threads: int | None = None,
    memory: str = DEFAULT_MEMORY,
    executor: str = "local",
    progress: Progress | None = None,
    say: Callable[[Step], None] = lambda _: None,
) -> BuildReport:
    """Build a collection, or part of it.

    Args:
        workflow: The definition file.
        out: The collection's folder; its versions are published in it.
        snapshots: Build only these and their dependencies, without publishing; empty: all.
        until: Name of the last stage to run, without publishing; None: all.
        explain: Report which units would run and why, without running them.
        allow_empty: Also publish snapshots without documents, queries or judgements.
        threads: Worker threads; None: all cores.
        memory: Memory limit of a stage, such as `4GiB`.
        executor: Executor of partitions: `local`, `processes` (one per thread) or `ray`.
        progress: Receives the progress.
        say: Callback after each unit.

    Raises:
        UsageError: a wrong definition, an unknown stage or snapshot, or a released version that
            would change.
        DataError: a stage failed, another build of the collection is running, or a snapshot has
            no documents, queries or judgements.
    """
    definition = Definition.load(workflow)
    definition.check_names(snapshots, "--snapshot")
    units = PIPELINE.plan(definition.workflow, snapshots, until)
    root = Path(out) if out is not None else default_root(definition)
    store = Store(root)
    cores = threads or usable_cores()
    workers = get_executor(executor)
    allowed = parse_memory(memory)
    runner = Runner(PIPELINE, definition, store, cores, allowed, progress or NoProgress(), workers)
    if explain:
        return BuildReport(root, runner.explain(units))
    whole = not snapshots and until is None
    with closing(workers), explain_errors("the build", root), store.lock():
        if whole:
            check_version(definition, store)
            check_program(definition, store, PIPELINE.stages)
        notes = check_topics(definition, store) if whole else ()
        report = BuildReport(root, runner.run(units, say), notes=notes)
        if whole:
            report.version = store.root / definition.workflow.collection.version
            report.published = not is_published(definition, store, PIPELINE.stages)
        if report.published:
            if not allow_empty:
                check_sizes(definition, store, PIPELINE.stages)
            runner.repair(units, say)
            publish_version(definition, store, PIPELINE.stages)
    return report


def verify(
    workflow: Path | str,
    version: Path | str,
    *,
    threads: int | None = None,
    memory: str = DEFAULT_MEMORY,
    executor: str = "local",
    progress: Progress | None = None,
    say: Callable[[Step], None] = lambda _: None,
) -> tuple[str, ...]:
    """Rebuild a published version from the raw files and compare every file.

    Args:
        workflow: The definition that the version was built from.
        version: The published version folder.
        threads: Worker threads; None: all cores.
        memory: Memory limit of a stage.
        executor: Executor of partitions.
        progress: Receives the progress.
        say: Callback after each unit.

    Returns:
        Sorted paths of files that differ or exist on one side only; empty if all are equal.

    Raises:
        UsageError: no such version exists, or the definition builds a different one.
        DataError: a stage failed.
    """
    published = open_collection(version)
    definition = Definition.load(workflow)
    wanted = definition.workflow.collection.version
    if wanted != published.version:
        raise UsageError(
            f"{definition.file} makes version {wanted}, but {published.path} is version "
            f"{published.version}; give the definition that it was built from"
        )
    with tempfile.TemporaryDirectory(prefix="longeval-verify-") as folder:
        report = build(
            workflow,
            folder,
            allow_empty=True,
            threads=threads,
            memory=memory,
            executor=executor,
            progress=progress,
            say=say,
        )
        made = dict(_sums(report.version or Path(folder)))
    held = dict(_sums(published.path))
    return tuple(sorted(n for n in {*made, *held} if made.get(n) != held.get(n)))


def _sums(folder: Path) -> Iterator[tuple[str, str]]:
    """SHA-256 of every file of a version by path, as recorded in its SHA256SUMS."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != SUMS):
        yield path.relative_to(folder).as_posix(), sha256(path)
