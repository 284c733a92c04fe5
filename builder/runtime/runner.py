"""Runs planned units whose outputs are out of date, and publishes the outputs atomically.

A unit is a stage applied to a snapshot, a pair of snapshots or the collection. The result is one
`Step` per unit, with its row counts and the reasons why it ran.
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
from builder.runtime.fingerprint import Identity, fingerprint, identity_changes, unit_identity
from builder.runtime.ledger import Ledger
from builder.runtime.limits import Limits
from builder.runtime.plan import Pipeline, Unit
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import describe_files
from builder.runtime.references import TableInput
from builder.runtime.store import Store, check_columns


@dataclass(frozen=True)
class Step:
    """Outcome of a unit that was run, skipped or only planned.

    Args:
        unit: Unit of the run.
        reasons: Why the unit ran; empty if its outputs were valid.
        ledger: Row counts; None if the unit has not run.
        seconds: Duration in seconds.
        is_conditional: For `Runner.dry_run`, whether the unit would run only if the rerun of an
            earlier stage changes a table that the unit reads.
    """

    unit: Unit
    reasons: tuple[str, ...]
    ledger: Ledger | None = None
    seconds: float = 0.0
    is_conditional: bool = False

    @property
    def ran(self) -> bool:
        """Whether the unit ran or, for `Runner.dry_run`, would certainly run."""
        return bool(self.reasons) and not self.is_conditional


@dataclass
class Runner:
    """Runner of the units of a pipeline, which stores their outputs in a collection folder."""

    pipeline: Pipeline
    definition: Definition
    store: Store
    threads: int
    memory: int
    progress: Progress = field(default_factory=NoProgress)
    executor: Executor = field(default_factory=LocalExecutor)

    def dry_run(self, units: Sequence[Unit]) -> list[Step]:
        """Return the steps that `run` would perform, without running them."""
        steps: list[Step] = []
        running: set[Unit] = set()
        for unit in units:
            writers = (
                u for u in self.pipeline.upstream(unit, self.definition.workflow) if u in running
            )
            stages = dict.fromkeys(u.stage.name for u in writers)
            reasons = self._rerun_reasons(unit, self._identity(unit))
            is_conditional = bool(stages and not reasons)
            if is_conditional:
                reasons = (f"if a table of {_join_with_or([*stages])} changes",)
            if reasons:
                running.add(unit)
            steps.append(Step(unit, reasons, is_conditional=is_conditional))
        return steps

    def run(self, units: Sequence[Unit], on_step: Callable[[Step], None]) -> list[Step]:
        """Run every unit whose outputs are out of date; rebuild damaged inputs first.

        Returns:
            One step per unit, including the units that were skipped.
        """
        done: dict[Unit, Step] = {}
        while len(done) < len(units):
            for unit in units:
                if unit in done:
                    continue
                identity = self._identity(unit)
                reasons = self._rerun_reasons(unit, identity)
                damaged = self._damaged_inputs(unit) if reasons else []
                if damaged:
                    for producer in damaged:
                        self.store.delete_record(*producer.name)
                        done.pop(producer, None)
                    break
                done[unit] = self._run_or_skip(unit, reasons, identity)
                on_step(done[unit])
        return [done[unit] for unit in units]

    def repair(self, units: Sequence[Unit], on_step: Callable[[Step], None]) -> None:
        """Rerun all units whose published files are damaged."""
        damaged = [unit for unit in units if not self.store.has_intact_files(*unit.name)]
        for unit in damaged:
            self.store.delete_record(*unit.name)
        if damaged:
            self.run(units, on_step)

    def _damaged_inputs(self, unit: Unit) -> list[Unit]:
        """Return the upstream units of the given unit that have damaged files."""
        producers = self.pipeline.upstream(unit, self.definition.workflow)
        return [
            producer for producer in producers if not self.store.has_intact_files(*producer.name)
        ]

    def _run_or_skip(self, unit: Unit, reasons: tuple[str, ...], identity: Identity) -> Step:
        if not reasons:
            record = self.store.read_record(*unit.name) or {}
            return Step(unit, (), Ledger(**record["ledger"]))
        start = time.perf_counter()
        ledger = self._execute(unit, identity)
        return Step(unit, reasons, ledger, time.perf_counter() - start)

    def _identity(self, unit: Unit) -> Identity:
        producers = self.pipeline.producer_by_table
        return unit_identity(self.definition, self.store, unit.stage, unit.key, producers)

    def _rerun_reasons(self, unit: Unit, identity: Identity) -> tuple[str, ...]:
        record = self.store.read_record(*unit.name)
        return identity_changes(record["identity"] if record else None, identity)

    def _execute(self, unit: Unit, identity: Identity) -> Ledger:
        identifier = fingerprint(identity)
        scratch = self.store.work / "scratch"
        limits = Limits(scratch, self.threads, self.memory, self.executor)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        self.progress.start(str(unit), None, "rows")
        try:
            with (
                self.store.output_folder(*unit.name, identifier) as out,
                reraise_as_user_errors(f"stage {unit}", out, scratch),
            ):
                ledger = unit.stage(out, **self._arguments(unit, limits))
                check_written_tables(unit, out, ledger)
                outputs = unit.stage.output_schemas
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
        self.store.save_record(*unit.name, record)
        return ledger

    def _arguments(self, unit: Unit, limits: Limits) -> dict[str, Any]:
        signature, workflow = unit.stage.signature, self.definition.workflow
        arguments: dict[str, Any] = {"limits": limits, "progress": self.progress}
        for table in signature.tables:
            arguments[table.argument] = self._open_tables(table, unit.key)
        for files in signature.files:
            sources = self.definition.expand_sources(files.patterns(workflow, unit.key))
            arguments[files.argument] = sources[0] if files.single else sources
        for argument, setting in signature.settings.items():
            arguments[argument] = setting(workflow, unit.key)
        if signature.section is not None:
            arguments["params"] = self.definition.section(signature.section, unit.key)
        if signature.cache is not None:
            arguments[signature.cache] = self.store.cache_folder(unit.stage.name)
        return arguments

    def _open_tables(self, table_input: TableInput, key: str) -> Any:
        producer = self.pipeline.producer_by_table[table_input.table_name].name

        def open_table(unit_key: str) -> Table:
            return self.store.open_table(
                producer, unit_key, table_input.table_name, table_input.schema
            )

        units = table_input.units(self.definition.workflow, key)
        if isinstance(units, str):
            return open_table(units)
        if isinstance(units, dict):
            return {name: open_table(unit_key) for name, unit_key in units.items()}
        return tuple(open_table(unit_key) for unit_key in units)


def _join_with_or(names: Sequence[str]) -> str:
    """Join names as `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def check_written_tables(unit: Unit, out: Path, ledger: Ledger) -> None:
    """Before publication, check the tables that a stage wrote.

    Raises:
        LedgerError: Row counts do not match, or the table `rejects` disagrees with the ledger.
        SchemaError: A table is missing, or its columns differ from the schema.
    """
    ledger.check(str(unit))
    listed = int(parquet.read(out / "rejects.parquet", columns=["rows"])["rows"].sum())
    counted = sum(ledger.rejected.values())
    if listed != counted:
        raise LedgerError(
            f"stage {unit}: {counted} {ledger.unit} rejected, but rejects.parquet lists {listed}; "
            "this is a bug in the stage, and its output was not published"
        )
    for name, schema in unit.stage.output_schemas.items():
        check_columns(table_at(out, name, schema), name)
