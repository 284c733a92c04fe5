"""Builds a collection from a definition, or verifies a published version: `longeval build`."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from builder.collection.compare.definitions import diff_code_versions
from builder.collection.guards import (
    check_definition_unchanged,
    check_stages_unchanged,
    check_tables_not_empty,
    check_topics_unchanged,
)
from builder.collection.manifest import STAGE_PREFIX, code_versions, tool_versions
from builder.collection.publish import is_published_and_current, publish_version
from builder.collection.read import open_collection
from builder.definition.model import Definition
from builder.documents.url_lists import read_url_list
from builder.errors import DataError, DefinitionError, UsageError
from builder.io.disk import reraise_as_user_errors
from builder.pipeline import PIPELINE
from builder.reporting.parts import html_table
from builder.runtime.executors import create_executor
from builder.runtime.limits import (
    DEFAULT_MEMORY,
    check_thread_count,
    count_usable_cores,
    parse_memory,
)
from builder.runtime.plan import Step
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import SUMS, check_publishable, sha256
from builder.runtime.runner import Runner, StepResult
from builder.runtime.store import Store


@dataclass
class BuildReport:
    """Result of a build.

    Args:
        root: Output folder of the collection.
        results: Outcome of each step (such as a stage applied to a snapshot), in execution order.
        version: Folder of the published version; None if only part of the collection was built.
        published: Whether this build published the version; False if it was up to date.
        topic_changes: Differences from the topics of the draft that this build replaced.
        refusal: With `explain`, the reason why the build would stop before the first step, namely
            that it would change a released version; empty if it would not stop.
    """

    root: Path
    results: list[StepResult] = field(default_factory=list)
    version: Path | None = None
    published: bool = False
    topic_changes: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def executed_step_count(self) -> int:
        """Number of steps that ran or, with `explain`, that would certainly run."""
        return sum(result.has_run for result in self.results)

    @property
    def conditional_step_count(self) -> int:
        """Number of steps that would run only if earlier steps change their input tables.

        The number is 0 without `explain`.
        """
        return sum(result.is_conditional for result in self.results)

    def _repr_html_(self) -> str:
        """Return an HTML table with one row per step of the build, for notebooks."""
        rows = [
            (
                str(result.step),
                "ran" if result.has_run else "up to date",
                result.ledger.rows_in,
                result.ledger.rows_out,
            )
            for result in self.results
            if result.ledger is not None
        ]
        header = ("step", "", "rows in", "rows kept")
        return html_table(str(self.version or self.root), header, rows)


def default_output_folder(definition: Definition) -> Path:
    """Return the default output folder: `collections/<name>` next to the definition file."""
    return definition.resolve_path("collections") / definition.workflow.collection.name


def build(
    definition_file: Path | str,
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
    on_step: Callable[[StepResult], None] = lambda _: None,
) -> BuildReport:
    """Build a collection from a definition file and publish it.

    Args:
        definition_file: Path of the definition file.
        out: Output folder; each version is published in a subfolder. Default:
            `collections/<name>` next to the definition file.
        snapshots: Build only these snapshots and their dependencies, without publishing; default:
            all snapshots.
        until: Stop after this stage, without publishing; default: run all stages.
        explain: Report which steps would run and why, without running them.
        allow_empty: Publish even if a snapshot has no documents, queries or judgements.
        threads: Number of worker threads; default: number of cores.
        memory: Memory limit per stage, such as `4GiB`.
        executor: How partitions are processed: `local`, `processes` (one per thread) or `ray`.
        progress: Progress display; default: none.
        on_step: Function that is called after each step.

    Raises:
        UsageError: The definition is invalid, a stage or snapshot is unknown, `threads` is below
            1, or a released version would change.
        DataError: A stage failed, another build is writing to the output folder, or a snapshot has
            no documents, queries or judgements.
    """
    definition = Definition.load(definition_file)
    definition.check_snapshot_names(snapshots, "--snapshot")
    steps = PIPELINE.plan_steps(definition.workflow, snapshots, until)
    root = Path(out) if out is not None else default_output_folder(definition)
    store = Store(root)
    cores = count_usable_cores() if threads is None else check_thread_count(threads)
    workers = create_executor(executor)
    allowed = parse_memory(memory)
    runner = Runner(PIPELINE, definition, store, cores, allowed, progress or NoProgress(), workers)
    whole = not snapshots and until is None
    if explain:
        refusal = _explain_refusal(definition, store) if whole else ""
        return BuildReport(root, runner.dry_run(steps), refusal=refusal)
    with closing(workers), reraise_as_user_errors("the build", root), store.lock():
        if whole:
            _check_release_unchanged(definition, store)
        _check_url_lists(runner, steps)
        topic_changes = check_topics_unchanged(definition, store) if whole else ()
        report = BuildReport(root, runner.run(steps, on_step), topic_changes=topic_changes)
        if whole:
            report.version = store.root / definition.workflow.collection.version
            report.published = not is_published_and_current(definition, store, PIPELINE.stages)
        if report.published:
            if not allow_empty:
                check_tables_not_empty(definition, store, PIPELINE.stages)
            runner.rerun_damaged_steps(steps, on_step)
            publish_version(definition, store, PIPELINE.stages)
    return report


def _check_release_unchanged(definition: Definition, store: Store) -> None:
    """Raise an error if the build would change a released version; see `guards`."""
    collection = definition.workflow.collection
    check_publishable(store.root / collection.version, is_draft=collection.is_draft)
    check_definition_unchanged(definition, store)
    check_stages_unchanged(definition, store, PIPELINE.stages)


def _explain_refusal(definition: Definition, store: Store) -> str:
    """Return the reason why a build would stop before the first step; empty if there is none."""
    try:
        _check_release_unchanged(definition, store)
    except (DataError, DefinitionError) as error:
        return str(error)
    return ""


def _check_url_lists(runner: Runner, steps: Sequence[Step]) -> None:
    """Check the URL deny and allow lists of a build before logs and crawls are read.

    Raises:
        FormatError: The build would read a list with a line that is not a host, a URL prefix or a
            URL.
    """
    readers = [step for step in steps if step.stage.name == "documents"]
    if any(result.has_run for result in runner.dry_run(readers)):
        params = runner.definition.workflow.documents
        read_url_list(runner.definition.expand_sources((*params.deny, *params.allow)))


def verify(
    definition_file: Path | str,
    version: Path | str,
    *,
    threads: int | None = None,
    memory: str = DEFAULT_MEMORY,
    executor: str = "local",
    progress: Progress | None = None,
    on_step: Callable[[StepResult], None] = lambda _: None,
) -> tuple[str, ...]:
    """Rebuild a published version from the raw files and compare all files byte by byte.

    Args:
        definition_file: Path of the definition file from which the version was built.
        version: Folder of the published version.
        threads: Number of worker threads; default: number of cores.
        memory: Memory limit per stage, such as `4GiB`.
        executor: How partitions are processed: `local`, `processes` or `ray`.
        progress: Progress display; default: none.
        on_step: Function that is called after each step.

    Returns:
        Sorted paths of the files that differ or exist in only one of the two versions; empty if
        the versions are identical.

    Raises:
        UsageError: There is no published version, or the definition defines a different version.
        DataError: A stage failed.
    """
    published = open_collection(version)
    definition = Definition.load(definition_file)
    wanted = definition.workflow.collection.version
    if wanted != published.version:
        raise UsageError(
            f"{definition.file} defines version {wanted}, but {published.path} is version "
            f"{published.version}; pass the definition from which {published.version} was built"
        )
    with tempfile.TemporaryDirectory(prefix="longeval-verify-") as folder:
        report = build(
            definition_file,
            folder,
            allow_empty=True,
            threads=threads,
            memory=memory,
            executor=executor,
            progress=progress,
            on_step=on_step,
        )
        rebuilt = dict(_file_hashes(report.version or Path(folder)))
    original = dict(_file_hashes(published.path))
    return tuple(sorted(n for n in {*rebuilt, *original} if rebuilt.get(n) != original.get(n)))


def changed_tools(version: Path | str) -> tuple[str, ...]:
    """Compare the stage and library versions of a published collection with the installed ones.

    Returns:
        One line per difference, such as `stage clicks: 4 -> 5` or `polars: 2.0.0 -> 2.1.0`.
    """
    manifest = open_collection(version).manifest
    stages = {f"{STAGE_PREFIX}{stage.name}": stage.version for stage in PIPELINE.stages}
    return tuple(diff_code_versions(code_versions(manifest), {**tool_versions(), **stages}))


def _file_hashes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the relative path and SHA-256 of every file in a version folder except `SHA256SUMS`."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != SUMS):
        yield path.relative_to(folder).as_posix(), sha256(path)
