"""One more snapshot: what it costs in a collection of ten, beside a build of that snapshot alone.

Run it as `python -m tests.bench adding`.
"""

import tempfile
import time
from pathlib import Path

import builder
from builder import SimulationParameters

ENTRY = "[[snapshots]]"
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row for each part of the work: name, seconds, peer, peer_seconds, ratio."""
    count = 2 if quick else 11
    params = SimulationParameters(
        snapshots=count,
        documents=300 if quick else 40_000,
        queries=100,
        impressions=5_000 if quick else 400_000,
        seed=5,
    )
    with tempfile.TemporaryDirectory(prefix="bench-adding-") as name:
        folder = Path(name)
        builder.simulate(folder / "world", params)
        head, *entries = (folder / "world/workflow.toml").read_text("utf-8").split(ENTRY)

        def build(chosen: list[str], out: str) -> builder.BuildReport:
            definition = folder / "world" / f"{out}-{len(chosen)}.toml"
            definition.write_text(ENTRY.join([head, *chosen]), "utf-8")
            return builder.build(definition, folder / out, threads=2)

        build(entries[:1], "warm")
        build(entries[:-1], "all")
        begun = time.perf_counter()
        more = build(entries, "all")
        seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        alone = build(entries[-1:], "alone")
        peer = time.perf_counter() - begun
    whole = {
        "name": f"one more snapshot in a collection of {count - 1}",
        "seconds": round(seconds, 2),
        "peer": "that snapshot alone",
        "peer_seconds": round(peer, 2),
        "times": round(seconds / peer, 2),
    }
    return [whole, *_stages(more, alone)]


def _stages(more: builder.BuildReport, alone: builder.BuildReport) -> list[Row]:
    """The stages that cost most when a snapshot is added."""
    spent, peers = _by_stage(more), _by_stage(alone)
    dearest = sorted(spent, key=spent.__getitem__, reverse=True)[:8]
    return [
        {
            "name": f"stage {name}",
            "seconds": round(spent[name], 2),
            "peer_seconds": round(peers.get(name, 0.0), 2),
        }
        for name in dearest
    ]


def _by_stage(report: builder.BuildReport) -> dict[str, float]:
    found: dict[str, float] = {}
    for result in report.results:
        found[result.step.stage.name] = found.get(result.step.stage.name, 0.0) + result.seconds
    return found
