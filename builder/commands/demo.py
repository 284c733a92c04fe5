"""A small world from nothing: simulate it, build its collection, check it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builder.collection.checks import Finding
from builder.collection.read import open_collection
from builder.collection.validate import validate
from builder.commands.build import BuildReport, build
from builder.errors import MissingExtraError
from builder.evaluation import SanityRow, sanity_table
from builder.runtime.progress import Progress
from builder.runtime.runner import Step
from builder.simulation import Simulation, simulate

WORLD = Simulation(
    name="demo",
    documents=3000,
    queries=100,
    impressions=20_000,
    seed=2022,
    translation="embedded",
)


@dataclass(frozen=True)
class DemoReport:
    """What a demo made.

    Args:
        world: The simulated raw data and its truth.
        build: The build of its collection.
        findings: What `validate` found; nothing, if all is well.
        sanity: BM25 on the collection, in both languages; None without the extras for it.
    """

    world: Path
    build: BuildReport
    findings: list[Finding]
    sanity: list[SanityRow] | None


def demo(
    folder: Path | str = "demo",
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    say: Callable[[Step], None] = lambda _: None,
) -> DemoReport:
    """Simulate three snapshots of a small search engine and build a collection from them.

    Args:
        folder: Where to; `world/` and `collection/` are written in it.
        threads: Worker threads; None: all cores.
        progress: Where progress goes.
        say: Called after each unit of the build.
    """
    world = Path(folder) / "world"
    definition = world / "workflow.toml"
    if not definition.exists():
        simulate(world, WORLD)
    report = build(
        definition, Path(folder) / "collection", threads=threads, progress=progress, say=say
    )
    return DemoReport(world, report, validate(report.root), _sanity(report.root))


def _sanity(root: Path) -> list[SanityRow] | None:
    collection = open_collection(root)
    try:
        return sanity_table(
            [(name, collection.snapshot(name).folder) for name in collection.snapshots],
            collection.languages,
        )
    except MissingExtraError:
        return None
