"""Run units: skip those with valid outputs, run the others, publish their outputs atomically.

In: planned units. Out: one `Step` per unit, with its ledger and the reasons why it ran.
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
from builder.io.disk import explain_errors
from builder.io.tables import Table, table_at
from builder.runtime.content import content_hash
from builder.runtime.executors import Executor, LocalExecutor
from builder.runtime.fingerprint import Identity, differences, digest, identity
from builder.runtime.ledger import Ledger
from builder.runtime.limits import Limits
from builder.runtime.plan import Pipeline, Unit
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import describe_files
from builder.runtime.references import TableInput
from builder.runtime.store import Store, check_columns


@dataclass(frozen=True)
class Step:
    """Outcome of one unit, or with `explain` the expected outcome.

    Args:
        unit: The unit.
        reasons: Why the unit ran; empty if its outputs were valid.
        ledger: Its row counts; None if it would run but has not.
        seconds: Duration.
    """

    unit: Unit
    reasons: tuple[str, ...]
    ledger: Ledger | None = None
    seconds: float = 0.0

    @property
    def ran(self) -> bool:
        """Whether the unit ran or would run."""
        return bool(self.reasons)


@dataclass
class Runner:
    """Runs the units of one definition in one collection folder."""

    pipeline: Pipeline
    definition: Definition
    store: Store
    threads: int
    memory: int
    progress: Progress = field(default_factory=NoProgress)
    executor: Executor = field(default_factory=LocalExecutor)

    def explain(self, units: Sequence[Unit]) -> list[Step]:
        """The steps of a run, without running it."""
        steps: list[Step] = []
        running: set[Unit] = set()
        for unit in units:
            writers = (
                u for u in self.pipeline.upstream(unit, self.definition.workflow) if u in running
            )
            stages = dict.fromkeys(u.stage.name for u in writers)
            reasons = self._reasons(unit, self._identity(unit))
            reasons = reasons or tuple(f"reads what {name} writes" for name in stages)
            if reasons:
                running.add(unit)
            steps.append(Step(unit, reasons))
        return steps

    def run(self, units: Sequence[Unit], say: Callable[[Step], None]) -> list[Step]:
        """Run every unit without valid outputs, after units with damaged outputs."""
        done: dict[Unit, Step] = {}
        while len(done) < len(units):
            for unit in units:
                if unit in done:
                    continue
                current = self._identity(unit)
                reasons = self._reasons(unit, current)
                damaged = self._damaged_inputs(unit) if reasons else []
                if damaged:
                    for producer in damaged:
                        self.store.forget(*producer.name)
                        done.pop(producer, None)
                    break
                done[unit] = self._step(unit, reasons, current)
                say(done[unit])
        return [done[unit] for unit in units]

    def repair(self, units: Sequence[Unit], say: Callable[[Step], None]) -> None:
        """Run every unit again whose published files are damaged."""
        damaged = [unit for unit in units if not self.store.is_intact(*unit.name)]
        for unit in damaged:
            self.store.forget(*unit.name)
        if damaged:
            self.run(units, say)

    def _damaged_inputs(self, unit: Unit) -> list[Unit]:
        """Upstream units whose files no longer match their recorded hashes."""
        producers = self.pipeline.upstream(unit, self.definition.workflow)
        return [producer for producer in producers if not self.store.is_intact(*producer.name)]

    def _step(self, unit: Unit, reasons: tuple[str, ...], current: Identity) -> Step:
        if not reasons:
            record = self.store.record(*unit.name) or {}
            return Step(unit, (), Ledger(**record["ledger"]))
        begun = time.perf_counter()
        ledger = self._execute(unit, current)
        return Step(unit, reasons, ledger, time.perf_counter() - begun)

    def _identity(self, unit: Unit) -> Identity:
        return identity(self.definition, self.store, unit.stage, unit.key, self.pipeline.producers)

    def _reasons(self, unit: Unit, current: Identity) -> tuple[str, ...]:
        record = self.store.record(*unit.name)
        return differences(record["identity"] if record else None, current)

    def _execute(self, unit: Unit, current: Identity) -> Ledger:
        identifier = digest(current)
        scratch = self.store.work / "scratch"
        limits = Limits(scratch, self.threads, self.memory, self.executor)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        self.progress.start(str(unit), None, "rows")
        try:
            with (
                self.store.publishing(*unit.name, identifier) as out,
                explain_errors(f"stage {unit}", out, scratch),
            ):
                ledger = unit.stage(out, **self._arguments(unit, limits))
                check_output(unit, out, ledger)
                outputs = unit.stage.outputs
                tables = {name: table_at(out, name, c) for name, c in outputs.items()}
                published = self.pipeline.published
                content = {n: content_hash(t, limits) for n, t in tables.items() if n in published}
                files = describe_files(out)
        finally:
            self.progress.finish()
            shutil.rmtree(scratch, ignore_errors=True)
        record = {
            "id": identifier,
            "identity": current,
            "files": files,
            "content": content,
            "ledger": vars(ledger),
        }
        self.store.commit(*unit.name, record)
        return ledger

    def _arguments(self, unit: Unit, limits: Limits) -> dict[str, Any]:
        signature, workflow = unit.stage.signature, self.definition.workflow
        arguments: dict[str, Any] = {"limits": limits, "progress": self.progress}
        for table in signature.tables:
            arguments[table.argument] = self._tables(table, unit.key)
        for files in signature.files:
            found = self.definition.sources(files.patterns(workflow, unit.key))
            arguments[files.argument] = found[0] if files.single else found
        for argument, setting in signature.settings.items():
            arguments[argument] = setting(workflow, unit.key)
        if signature.section is not None:
            arguments["params"] = self.definition.section(signature.section, unit.key)
        if signature.cache is not None:
            arguments[signature.cache] = self.store.kept(unit.stage.name)
        return arguments

    def _tables(self, read: TableInput, key: str) -> Any:
        producer = self.pipeline.producers[read.table].name

        def at(place: str) -> Table:
            return self.store.table(producer, place, read.table, read.contract)

        found = read.units(self.definition.workflow, key)
        if isinstance(found, str):
            return at(found)
        if isinstance(found, dict):
            return {name: at(place) for name, place in found.items()}
        return tuple(at(place) for place in found)


def check_output(unit: Unit, out: Path, ledger: Ledger) -> None:
    """Check the outputs of a stage before they are published.

    Raises:
        LedgerError: rows are missing, or the table `rejects` disagrees with the ledger.
        ContractError: a table is missing, or its columns differ from the contract.
    """
    ledger.check(str(unit))
    listed = int(parquet.read(out / "rejects.parquet", columns=["rows"])["rows"].sum())
    counted = sum(ledger.rejected.values())
    if listed != counted:
        raise LedgerError(
            f"stage {unit}: {counted} {ledger.unit} rejected, but rejects.parquet has {listed}; "
            "this is a fault of the stage, its output was not published"
        )
    for name, contract in unit.stage.outputs.items():
        check_columns(table_at(out, name, contract), name)
