"""How long it takes until a verb answers, beside `python -c "import polars"` in the same run."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import builder
from builder import SimulationParameters

COMMAND = "from builder.cli import main; main()"


def run_bench(quick: bool = False) -> list[dict[str, object]]:
    """One row for each verb: the least of five runs; of two of a smaller collection where quick."""
    repeats, documents, impressions = (2, 300, 3000) if quick else (5, 1500, 20_000)
    with tempfile.TemporaryDirectory(prefix="bench-start-") as name:
        folder = Path(name)
        world = SimulationParameters(
            snapshots=1 if quick else 3,
            documents=documents,
            queries=150,
            impressions=impressions,
        )
        builder.simulate(folder / "world", world)
        report = builder.build(folder / "world/workflow.toml", folder / "collection")
        peer = _least("import polars", repeats=repeats)
        rows: list[dict[str, object]] = [{"name": "import polars", "seconds": peer}]
        for verb in (["--help"], ["doctor"], ["validate", str(report.root)]):
            seconds = _least(COMMAND, *verb, repeats=repeats)
            label = f"longeval {verb[0]}"
            rows.append({"name": label, "seconds": seconds, "times_peer": seconds / peer})
    return rows


def _least(code: str, *arguments: str, repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
