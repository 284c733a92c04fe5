"""Runs planned steps whose outputs are out of date, and publishes the outputs atomically.

A step is a stage applied to a snapshot, a pair of snapshots or the collection. The result is one
`StepResult` per step, with its row counts and the reasons why it ran.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builder.definition.model import Definition
from builder.errors import LedgerError
from builder.io import parquet
from builder.io.disk import reraise_as_user_errors
from builder.io.tables import Table, table_at
from builder.runtime.content import content_hash
from builder.runtime.executors import Executor, LocalExecutor
from builder.runtime.fingerprint import Identity, fingerprint, step_identity, step_identity_changes
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.plan import Pipeline, Step
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import describe_files
from builder.runtime.references import TableInput
from builder.runtime.store import Store, check_columns


@dataclass(frozen=True)
class StepResult:
    """Outcome of a step that was run, skipped or only planned.

    Args:
        step: Step that was run, skipped or planned.
        reasons: Why the step ran; empty if its outputs were up to date.
        ledger: Row counts; None if the step has not run.
        seconds: Duration in seconds.
        is_conditional: Whether the step would run only if an earlier stage, run again, changes a
            table that the step reads; set by `Runner.dry_run`.
    """

    step: Step
    reasons: tuple[str, ...]
    ledger: RowLedger | None = None
    seconds: float = 0.0
    is_conditional: bool = False

    @property
    def has_run(self) -> bool:
        """Whether the step has run or, for `Runner.dry_run`, would certainly run."""
        return bool(self.reasons) and not self.is_conditional


@dataclass
class Runner:
    """Runner of the steps of a pipeline, which stores their outputs in a collection folder."""

    pipeline: Pipeline
    definition: Definition
    store: Store
    threads: int
    memory: int
    progress: Progress = field(default_factory=NoProgress)
    executor: Executor = field(default_factory=LocalExecutor)

    def dry_run(self, steps: Sequence[Step]) -> list[StepResult]:
        """Return one result per step, with the reasons why `run` would run it; no step is run."""
        results: list[StepResult] = []
        running: set[Step] = set()
        for step in steps:
            writers = (
                s
                for s in self.pipeline.upstream_steps(step, self.definition.workflow)
                if s in running
            )
            stages = dict.fromkeys(s.stage.name for s in writers)
            reasons = self._rerun_reasons(step, self._step_identity(step))
            is_conditional = bool(stages and not reasons)
            if is_conditional:
                reasons = (f"if a table of {_join_with_or([*stages])} changes",)
            if reasons:
                running.add(step)
            results.append(StepResult(step, reasons, is_conditional=is_conditional))
        return results

    def run(self, steps: Sequence[Step], on_step: Callable[[StepResult], None]) -> list[StepResult]:
        """Run every step whose outputs are out of date; rebuild damaged inputs first.

        Returns:
            One result per step, including the steps that were skipped.
        """
        done: dict[Step, StepResult] = {}
        while len(done) < len(steps):
            for step in steps:
                if step in done:
                    continue
                identity = self._step_identity(step)
                reasons = self._rerun_reasons(step, identity)
                damaged = self._damaged_upstream_steps(step) if reasons else []
                if damaged:
                    for producer in damaged:
                        self.store.delete_record(*producer.store_key)
                        done.pop(producer, None)
                    break
                done[step] = self._run_or_skip(step, reasons, identity)
                on_step(done[step])
        return [done[step] for step in steps]

    def rerun_damaged_steps(
        self, steps: Sequence[Step], on_step: Callable[[StepResult], None]
    ) -> None:
        """Rerun all steps whose published files are damaged."""
        damaged = [step for step in steps if not self.store.has_intact_files(*step.store_key)]
        for step in damaged:
            self.store.delete_record(*step.store_key)
        if damaged:
            self.run(steps, on_step)

    def _damaged_upstream_steps(self, step: Step) -> list[Step]:
        """Return the steps that wrote the inputs of a step and whose files are damaged."""
        producers = self.pipeline.upstream_steps(step, self.definition.workflow)
        return [
            producer
            for producer in producers
            if not self.store.has_intact_files(*producer.store_key)
        ]

    def _run_or_skip(self, step: Step, reasons: tuple[str, ...], identity: Identity) -> StepResult:
        if not reasons:
            record = self.store.read_record(*step.store_key) or {}
            return StepResult(step, (), RowLedger(**record["ledger"]))
        start = time.perf_counter()
        ledger = self._execute(step, identity)
        return StepResult(step, reasons, ledger, time.perf_counter() - start)

    def _step_identity(self, step: Step) -> Identity:
        producers = self.pipeline.producer_by_table
        return step_identity(self.definition, self.store, step.stage, step.key, producers)

    def _rerun_reasons(self, step: Step, identity: Identity) -> tuple[str, ...]:
        record = self.store.read_record(*step.store_key)
        return step_identity_changes(record["identity"] if record else None, identity)

    def _execute(self, step: Step, identity: Identity) -> RowLedger:
        identifier = fingerprint(identity)
        scratch = self.store.work / "scratch"
        limits = ResourceLimits(scratch, self.threads, self.memory, self.executor)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        self.progress.start(str(step), None, "rows")
        try:
            with (
                self.store.output_folder(*step.store_key, identifier) as out,
                reraise_as_user_errors(f"stage {step}", out, scratch),
            ):
                ledger = step.stage(out, **self._arguments(step, limits))
                check_written_tables(step, out, ledger)
                outputs = step.stage.output_schemas
                tables = {name: table_at(out, name, c) for name, c in outputs.items()}
                published = self.pipeline.published
                content = {n: content_hash(t, limits) for n, t in tables.items() if n in published}
                files = describe_files(out)
        finally:
            self.progress.finish()
            shutil.rmtree(scratch, ignore_errors=True)
        record = {
            "id": identifier,
            "identity": identity,
            "files": files,
            "content": content,
            "ledger": vars(ledger),
        }
        self.store.save_record(*step.store_key, record)
        return ledger

    def _arguments(self, step: Step, limits: ResourceLimits) -> dict[str, Any]:
        signature, workflow = step.stage.signature, self.definition.workflow
        arguments: dict[str, Any] = {"limits": limits, "progress": self.progress}
        for table in signature.tables:
            arguments[table.argument] = self._open_tables(table, step.key)
        for files in signature.files:
            sources = self.definition.expand_sources(files.patterns(workflow, step.key))
            arguments[files.argument] = sources[0] if files.single else sources
        for argument, setting in signature.settings.items():
            arguments[argument] = setting(workflow, step.key)
        if signature.section is not None:
            arguments["params"] = self.definition.section(signature.section, step.key)
        if signature.cache is not None:
            arguments[signature.cache] = self.store.cache_folder(step.stage.name)
        return arguments

    def _open_tables(self, table_input: TableInput, key: str) -> Any:
        producer = self.pipeline.producer_by_table[table_input.table_name].name

        def open_table(step_key: str) -> Table:
            return self.store.open_table(
                producer, step_key, table_input.table_name, table_input.schema
            )

        keys = table_input.step_keys(self.definition.workflow, key)
        if isinstance(keys, str):
            return open_table(keys)
        if isinstance(keys, dict):
            return {name: open_table(step_key) for name, step_key in keys.items()}
        return tuple(open_table(step_key) for step_key in keys)


def _join_with_or(names: Sequence[str]) -> str:
    """Join names as `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def check_written_tables(step: Step, out: Path, ledger: RowLedger) -> None:
    """Check the tables that a stage wrote, before they are published.

    Raises:
        LedgerError: Row counts do not match, or the table `rejects` disagrees with the ledger.
        SchemaError: A table is missing, or its columns differ from the schema.
    """
    ledger.check(str(step))
    listed = int(parquet.read(out / "rejects.parquet", columns=["rows"])["rows"].sum())
    counted = sum(ledger.rejected.values())
    if listed != counted:
        raise LedgerError(
            f"stage {step}: rejected {counted} {ledger.unit}, but rejects.parquet lists {listed}; "
            "this is a bug in the stage, and its output was not published"
        )
    for name, schema in step.stage.output_schemas.items():
        check_columns(table_at(out, name, schema), name)
