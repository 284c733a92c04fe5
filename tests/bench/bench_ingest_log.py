"""Query logs: how quick ingestion is beside what the machine can do with the same file.

The peer is DuckDB copying the same file to Parquet as it is, in the same run. Memory is that of a
process of its own.

Run it as `python -m tests.bench ingest_log`.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest import ingest_log
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from tests.bench.click_log import write_log
from tests.bench.peak import peak_bytes

THREADS = 2
MEMORY = 2 * 2**30
START, DAYS = 1_654_041_600, 30
IMPRESSIONS_OF_A_USER = 20
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row per form of the log: name, seconds, peer, peer_seconds, ratio, note."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = 200_000 if quick else 2_000_000
        write_log(folder / "bare.parquet", count, queries=count // 20)
        write_forms(folder)
        return [
            compare(folder / "log.jsonl", "read_json", count),
            compare(folder / "log.parquet", "read_parquet", count),
        ]


def write_forms(folder: Path) -> None:
    """The log of `bare.parquet` with times and users, as Parquet and as JSON lines."""
    rng = np.random.default_rng(1)
    source = pq.ParquetFile(folder / "bare.parquet")
    users = max(1, source.metadata.num_rows // IMPRESSIONS_OF_A_USER)
    names = pa.array([f"user-{number:08x}" for number in range(users)])
    writer: pq.ParquetWriter | None = None
    with (folder / "log.jsonl").open("wb") as lines:
        for batch in source.iter_batches(50_000):
            times = START + rng.integers(0, DAYS * 86_400, len(batch))
            table = pa.table(
                {
                    "time": pa.array(times),
                    "user": names.take(pa.array(rng.integers(0, users, len(batch)))),
                    **{name: batch[name] for name in ("query", "results", "clicks")},
                }
            )
            writer = writer or pq.ParquetWriter(
                folder / "log.parquet", table.schema, compression="zstd"
            )
            writer.write_table(table)
            lines.writelines(orjson.dumps(row) + b"\n" for row in table.to_pylist())
    if writer is not None:
        writer.close()


def compare(log: Path, reader: str, count: int) -> Row:
    """Ingestion beside DuckDB copying the same file."""
    seconds, peak, kept = alone(log)
    start = time.perf_counter()
    with duckdb.connect(config={"threads": THREADS}) as connection:
        target = log.with_suffix(".copy")
        connection.execute(f"COPY (FROM {reader}('{log}')) TO '{target}' (FORMAT parquet)")
    peer = time.perf_counter() - start
    return {
        "name": f"log of {count:,} impressions, {log.suffix[1:]}",
        "seconds": round(seconds, 2),
        "peer": f"duckdb COPY (FROM {reader}) TO parquet",
        "peer_seconds": round(peer, 2),
        "ratio": round(peer / seconds, 3),
        "note": f"{log.stat().st_size / 1e6:.0f} MB, {kept:,} kept, peak {peak / 2**20:.0f} MiB",
    }


def alone(log: Path) -> tuple[float, int, int]:
    """Seconds, peak bytes and impressions kept, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run_alone, (log,))


def run_alone(log: Path) -> tuple[float, int, int]:
    """See `alone`."""
    with tempfile.TemporaryDirectory(dir=log.parent) as name:
        folder = Path(name)
        for home in ("out", "scratch"):
            (folder / home).mkdir()
        start = time.perf_counter()
        ledger = ingest_log(
            folder / "out",
            files=[Source(log, log.name)],
            interval=Interval(START, START + DAYS * 86_400),
            params=LogParameters(),
            limits=ResourceLimits(folder / "scratch", THREADS, MEMORY),
            progress=NoProgress(),
        )
        seconds = time.perf_counter() - start
    return seconds, peak_bytes(), ledger.rows_out
