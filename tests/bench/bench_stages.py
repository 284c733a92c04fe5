"""Every stage of a build by itself: seconds, peak memory, the limit of the machine, and growth.

Worlds of one, three and ten times the size are simulated and built stage by stage, each stage in a
process of its own (`--until STAGE`), so that its peak is its own. `limit_seconds` is what it takes
to read the tables and files that the stage reads once (unpacked, JSON not parsed), and to write the
bytes that it writes once, compressed as they are, with nothing between; `times_limit` is ours over
that. `exponent` is that with which time grows from the smallest world to the largest.

Run it as `python -m tests.bench stages`; `STAGES_SCALE=4` makes every world four times as large,
and `STAGES_WORLD=FOLDER` takes one world that is there, under `STAGES_MEMORY` (1GiB).
"""

import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import builder
from builder import SimulationParameters
from builder.pipeline import STAGES
from tests.bench.peak import PeakWithWorkers

BLOCK = 2**22
ROOT = Path(__file__).parents[2]
SIZES = (1, 3, 10)
LEAST_SECONDS = 0.05
"""A stage that is faster in the smallest world is not compared: it measures its own start."""
MEMORY = os.environ.get("STAGES_MEMORY", "1GiB")
RUN_ALONE = """
import json, sys
from tests.bench.bench_stages import run_stage
print(json.dumps(run_stage(*sys.argv[1:])))
"""


def run_bench(quick: bool = False) -> list[dict[str, object]]:
    """One row for each stage and size; `quick` takes two small worlds, all in this process."""
    if world := os.environ.get("STAGES_WORLD"):
        with tempfile.TemporaryDirectory(prefix="bench-stages-", dir=world) as name:
            return _stages(Path(world), Path(name), 1, _apart)
    scale = float(os.environ.get("STAGES_SCALE", "0.2" if quick else "1"))
    rows: list[dict[str, object]] = []
    for size in SIZES[: 2 if quick else 3]:
        with tempfile.TemporaryDirectory(prefix="bench-stages-") as name:
            world = Path(name) / "world"
            _simulate(world, size, scale)
            rows += _stages(world, Path(name), size, run_stage if quick else _apart)
    return _with_growth(rows)


def run_stage(workflow: str, out: str, stage: str, memory: str) -> dict[str, Any]:
    """Run a stage whose inputs are there: seconds, rows, and the peak so far, with workers.

    What is loaded once in a process is loaded before: the first array of Arrow looks for pandas.
    """
    pa.array([])
    with PeakWithWorkers() as peak:
        report = builder.build(workflow, out, until=stage, memory=memory, threads=2)
    results = [r for r in report.results if r.has_run and r.step.stage.name == stage]
    return {
        "seconds": sum(r.seconds for r in results),
        "rows": sum(r.ledger.rows_in for r in results if r.ledger is not None),
        "peak_mib": peak.bytes // 2**20,
    }


def _apart(*arguments: str) -> dict[str, Any]:
    """`run_stage` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALONE, *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _simulate(folder: Path, size: int, scale: float) -> None:
    params = SimulationParameters(
        snapshots=2,
        documents=int(3000 * size * scale),
        queries=100,
        impressions=int(30_000 * size * scale),
        seed=5,
    )
    builder.simulate(folder, params)


def _stages(
    world: Path, folder: Path, size: int, run: Callable[..., dict[str, Any]]
) -> list[dict[str, object]]:
    """Build a world into a folder, and measure every stage."""
    workflow, out = world / "workflow.toml", folder / "out"
    raw = sum(p.stat().st_size for p in world.glob("[lc]*/*"))
    rows: list[dict[str, object]] = []
    for stage in STAGES:
        found = run(str(workflow), str(out), stage.name, MEMORY)
        limit = _limit(world, stage.name, out)
        row: dict[str, object] = {"name": stage.name, "size": size, **found}
        row |= {"limit_seconds": limit, "times_limit": found["seconds"] / limit}
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)  # noqa: T201 - it may take hours
    total = sum(float(str(row["seconds"])) for row in rows)
    most = max(int(str(row["peak_mib"])) for row in rows)
    limits = sum(float(str(row["limit_seconds"])) for row in rows)
    whole = {"name": f"whole build of {raw:,} bytes", "size": size, "seconds": total}
    return [*rows, {**whole, "peak_mib": most, "times_limit": total / limits}]


def _limit(world: Path, stage: str, out: Path) -> float:
    """Seconds to read what a stage reads once, and to write what it writes once."""
    records = [json.loads(p.read_text()) for p in (out / ".work" / stage).rglob("record.json")]
    begun = time.perf_counter()
    for record in records:
        for argument, places in record["identity"]["inputs"].items():
            for name, digest in places.items():
                _read(world, out, argument, name, digest)
    seconds = time.perf_counter() - begun
    written = out / "limit.bin"
    for path in (out / ".work" / stage).rglob("*.parquet"):
        seconds += _rewrite(path, written)
    written.unlink(missing_ok=True)
    return max(seconds, 1e-3)


def _read(world: Path, out: Path, argument: str, name: str, digest: str | None) -> None:
    """Read a raw file, or the table of another stage, which its identity names by its hash."""
    raw = world / name
    if raw.is_file():
        if raw.suffix == ".parquet":
            _decode(raw)
            return
        with gzip.open(raw) if raw.suffix == ".gz" else raw.open("rb") as file:
            while file.read(BLOCK):
                pass
        return
    for stage in STAGES:
        if argument.removesuffix("_from").removesuffix("_to") in stage.output_tables:
            for path in (out / ".work" / stage.name / name).rglob("*.parquet"):
                if path.name != "rejects.parquet" and digest:
                    _decode(path)
            return


def _decode(path: Path) -> None:
    """Read every column of a table, row group by row group."""
    with pq.ParquetFile(path) as file:
        for _ in file.iter_batches():
            pass


def _rewrite(path: Path, target: Path) -> float:
    """Seconds to write the rows of a file again, compressed as they are, without reading them."""
    seconds = 0.0
    with pq.ParquetFile(path) as file:
        groups = file.metadata.num_row_groups
        codec = file.metadata.row_group(0).column(0).compression.lower() if groups else "zstd"
    level = 3 if codec == "zstd" else None
    with (
        pq.ParquetFile(path) as file,
        pq.ParquetWriter(
            target, file.schema_arrow, compression=codec, compression_level=level
        ) as writer,
    ):
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            begun = time.perf_counter()
            writer.write_table(table)
            seconds += time.perf_counter() - begun
    return seconds


def _with_growth(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Add to the rows of the largest world how time and memory grew from the smallest."""
    first = {str(r["name"]).partition(" of ")[0]: r for r in reversed(rows)}
    largest = max(int(str(row["size"])) for row in rows)
    for row in rows:
        if row["size"] != largest:
            continue
        small = first[str(row["name"]).partition(" of ")[0]]
        seconds = float(str(small["seconds"]))
        if seconds >= LEAST_SECONDS:
            ratio = float(str(row["seconds"])) / seconds
            row["exponent"] = math.log(ratio) / math.log(largest)
        row["times_peak"] = int(str(row["peak_mib"])) / int(str(small["peak_mib"]))
    return rows


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_bench("--quick" in sys.argv), indent=1) + "\n")
