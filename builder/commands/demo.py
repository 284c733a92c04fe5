"""Simulates a small search engine and builds a collection from it: `longeval demo`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builder.collection.checks import Finding
from builder.collection.read import open_collection
from builder.collection.validate import validate
from builder.commands.build import BuildReport, build
from builder.errors import MissingExtraError
from builder.evaluation import SanityCheckRow, run_sanity_check
from builder.runtime.progress import Progress
from builder.runtime.runner import StepResult
from builder.simulation import SimulationParameters, simulate

WORLD = SimulationParameters(
    name="demo",
    documents=3000,
    queries=100,
    impressions=20_000,
    seed=2022,
    translation="embedded",
)


@dataclass(frozen=True)
class DemoReport:
    """Result of `demo`.

    Args:
        world: Folder with the simulated raw data and their ground truth.
        build: Report of the build.
        findings: Defects found by `validate`; empty if the collection is valid.
        sanity: BM25 scores per snapshot and language; None if the optional dependencies that
            compute them are not installed.
    """

    world: Path
    build: BuildReport
    findings: list[Finding]
    sanity: list[SanityCheckRow] | None


def demo(
    folder: Path | str = "demo",
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    on_step: Callable[[StepResult], None] = lambda _: None,
) -> DemoReport:
    """Simulate three snapshots of a small search engine and build a collection from them.

    Args:
        folder: Output folder; raw data are written to `world/`, the collection to `collection/`.
        threads: Number of worker threads; default: number of cores.
        progress: Progress display; default: none.
        on_step: Function that is called after each step of the build.
    """
    world = Path(folder) / "world"
    definition = world / "workflow.toml"
    if not definition.exists():
        simulate(world, WORLD)
    report = build(
        definition, Path(folder) / "collection", threads=threads, progress=progress, on_step=on_step
    )
    return DemoReport(world, report, validate(report.root), _compute_sanity_scores(report.root))


def _compute_sanity_scores(collection_folder: Path) -> list[SanityCheckRow] | None:
    collection = open_collection(collection_folder)
    try:
        return run_sanity_check(
            [collection.snapshot(name) for name in collection.snapshots], collection.languages
        )
    except MissingExtraError:
        return None
