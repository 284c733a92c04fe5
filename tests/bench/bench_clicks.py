"""How long sDBN on a log takes, beside PyClick, beside reading the same columns, and as logs grow.

The log has ten results a page and text for queries and URLs, in Parquet. `times_reading` is ours
over reading the same columns as Arrow batches, `times_maximum` over the engine's own scan for the
maximum of each. The stage of the pipeline is measured on the same log in keys, as ingestion leaves
it, and on a longer one, of `CODED_IMPRESSIONS`. PyClick is measured when the environment variable
PYCLICK names its folder; its load and training are one number, and its counts must be ours; a
million impressions take it a minute and 3 GiB. Growth is measured in processes of
their own, under `--memory 1GiB`: first with the same queries in the longer log, then with five
times as many, which is five times the output.

Run it as `python -m tests.bench clicks`.
"""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.clicks import estimate_from_log, estimate_relevance
from builder.ingest import ingest_log
from builder.io.sources import Interval, Source
from builder.io.tables import Table, table_at
from builder.parameters import ClickParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Candidates, Impressions
from tests.bench.click_log import write_log
from tests.bench.coded_log import write_impressions

READ = "SELECT query, results, clicks FROM read_parquet(?)"
MAXIMUM = "SELECT max(query), max(results), max(clicks) FROM read_parquet(?)"
ROOT = Path(__file__).parents[2]
RUN_ALONE = """
import json, sys, time
from pathlib import Path
from builder.clicks import estimate_from_log
from builder.runtime.limits import ResourceLimits
from tests.bench.peak import peak_bytes
log, scratch = map(Path, sys.argv[1:])
begun = time.perf_counter()
limits = ResourceLimits(scratch, memory=2**30)
estimate_from_log(log, "sdbn", scratch / "out.parquet", limits=limits)
seconds = time.perf_counter() - begun
peak = peak_bytes() // 2**20
print(json.dumps({"seconds": seconds, "peak_mib": peak}))
"""
RUN_STAGE = """
import json, sys, time
from pathlib import Path
from builder.clicks import estimate_relevance
from builder.parameters import ClickParameters
from builder.runtime.progress import NoProgress
from builder.runtime.limits import ResourceLimits
from builder.io.tables import Table, table_at
from schemas import Candidates, Impressions
from tests.bench.peak import peak_bytes
folder = Path(sys.argv[1])
begun = time.perf_counter()
estimate_relevance(
    folder,
    impressions=table_at(folder, "impressions", Impressions),
    candidates=table_at(folder, "candidates", Candidates),
    params=ClickParameters(),
    limits=ResourceLimits(folder, threads=2, memory=2 * 2**30),
    progress=NoProgress(),
)
seconds = time.perf_counter() - begun
print(json.dumps({"seconds": seconds, "peak_mib": peak_bytes() // 2**20}))
"""
CODED = "CODED_IMPRESSIONS"


def run_bench(quick: bool = False) -> Iterator[dict[str, object]]:
    """One row per measurement; `quick` takes a hundredth of the impressions."""
    scale = 100 if quick else 1
    with tempfile.TemporaryDirectory(prefix="bench-clicks-") as name:
        folder = Path(name)
        yield from _beside_peers(folder, 1_000_000 // scale)
        yield _coded(folder / "coded", int(os.environ.get(CODED, "20000000")) // scale)
        yield from _growth(folder, 5_000_000 // scale)


def _beside_peers(folder: Path, impressions: int) -> list[dict[str, object]]:
    log = folder / "log.parquet"
    write_log(log, impressions, queries=impressions // 20)
    with duckdb.connect() as connection:
        maximum = _best(lambda: connection.execute(MAXIMUM, [str(log)]).fetchall())
        reading = _best(lambda: _read(connection, log))
    rows: list[dict[str, object]] = []
    for prior in ("beta", "empirical_bayes"):
        params = ClickParameters.model_validate({"prior": prior})
        out = folder / "out.parquet"
        seconds = _best(lambda: estimate_from_log(log, "sdbn", out, params=params))  # noqa: B023
        row: dict[str, object] = {
            "name": f"sdbn, {impressions} impressions, prior {prior}",
            "seconds": seconds,
            "times_reading": seconds / reading,
            "times_maximum": seconds / maximum,
        }
        rows.append(row)
    rows.append(_stage(folder, log, impressions))
    if os.environ.get("PYCLICK"):
        theirs = _alone(["-m", "tests.bench.pyclick_peer", str(log)])
        estimate_from_log(log, "sdbn", out, params=ClickParameters(prior="beta"))
        rows[0] |= _beside_pyclick(theirs, rows[0], _digest(pl.read_parquet(out)))
        rows[2] |= _beside_pyclick(theirs, rows[2], _digest(_in_words(folder / "keys")))
    roomy = ResourceLimits(folder, memory=8 * 2**30)
    for model in ("pbm", "dbn"):
        seconds = _best(lambda: estimate_from_log(log, model, out, limits=roomy), repeats=1)  # noqa: B023
        rows.append({"name": f"{model}, {impressions} impressions, 50 steps", "seconds": seconds})
    return rows


def _read(connection: duckdb.DuckDBPyConnection, log: Path) -> int:
    """Read the columns as Arrow batches."""
    relation = connection.sql(READ, params=[str(log)])
    return sum(len(batch) for batch in relation.to_arrow_reader(122_880))


def _stage(folder: Path, log: Path, impressions: int) -> dict[str, object]:
    """The stage `clicks` on a log that the stage `log` has read, beside the engine's scan."""
    keys, scratch = folder / "keys", folder / "scratch"
    keys.mkdir()
    scratch.mkdir()
    source = keys / "log.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 5 + rowid AS time, 'u' || rowid // 7 AS \"user\", query, results, clicks "
            f"FROM (SELECT *, file_row_number AS rowid FROM read_parquet('{log}', "
            f"file_row_number = true))) TO '{source}' (FORMAT parquet)"
        )
        limits = ResourceLimits(scratch, threads=2, memory=2 * 2**30)
        ingest_log(
            keys,
            files=[Source(source, source.name)],
            interval=Interval(0, 2**40),
            params=LogParameters(bots="keep"),
            limits=limits,
            progress=NoProgress(),
        )
        coded, chosen = table_at(keys, "impressions", Impressions), keys / "candidates.parquet"
        paths = list(map(str, coded.paths))
        connection.read_parquet(paths).create_view("coded")
        connection.execute(f"COPY (SELECT DISTINCT query FROM coded ORDER BY query) TO '{chosen}'")
        scan = _best(lambda: connection.execute(MAXIMUM, [paths]).fetchall())
    seconds = _best(
        lambda: estimate_relevance(
            keys,
            impressions=coded,
            candidates=Table((chosen,), Candidates),
            params=ClickParameters(prior="beta"),
            limits=limits,
            progress=NoProgress(),
        )
    )
    return {
        "name": f"the stage clicks, {impressions} impressions in keys",
        "seconds": seconds,
        "times_maximum": seconds / scan,
    }


def _coded(folder: Path, impressions: int) -> dict[str, object]:
    """The stage `clicks` on a large log in keys, in a process of its own, beside the scan."""
    parts = write_impressions(folder / "impressions", impressions, impressions // 100)
    files = [str(path) for path in sorted(parts.iterdir())]
    with duckdb.connect() as connection:
        chosen = "COPY (SELECT DISTINCT query FROM read_parquet(?) ORDER BY query) TO "
        connection.execute(f"{chosen} '{folder / 'candidates.parquet'}'", [files])
        scan = _best(lambda: connection.execute(MAXIMUM, [files]).fetchall())
    found = _alone(["-c", RUN_STAGE, str(folder)])
    shutil.rmtree(folder)
    name = f"the stage clicks, {impressions} impressions in keys, 2 GiB"
    return {"name": name, **found, "times_maximum": float(found["seconds"]) / scan}


def _in_words(keys: Path) -> pl.DataFrame:
    """The estimates of the stage with the texts and addresses of the log."""
    queries = pl.read_parquet(keys / "log_queries.parquet", columns=["query", "text"])
    urls = pl.read_parquet(keys / "log_urls.parquet", columns=["doc", "url"])
    found = pl.read_parquet(keys / "click_estimates.parquet")
    found = found.join(queries, on="query").join(urls, on="doc").drop("query")
    return found.rename({"text": "query"}).sort("query", "url")


def _beside_pyclick(
    theirs: dict[str, Any], ours: dict[str, object], digest: str
) -> dict[str, object]:
    total = theirs["load"] + theirs["train"]
    return {
        "peer": "PyClick",
        "peer_seconds": total,
        "ratio": total / float(str(ours["seconds"])),
        "peer_peak_mib": theirs["peak_mib"],
        "note": "counts equal" if theirs["counts"] == digest else "COUNTS DIFFER",
    }


def _digest(estimates: pl.DataFrame) -> str:
    columns = ["query", "url", "examinations", "clicks", "last_clicks"]
    digest = hashlib.md5(usedforsecurity=False)
    digest.update(
        estimates.select(columns).write_csv(separator="\t", include_header=False).encode()
    )
    return digest.hexdigest()


def _growth(folder: Path, base: int) -> list[dict[str, object]]:
    """Seconds and peak of a log, of one five times as long, and of one with more queries too."""
    rows: list[dict[str, object]] = []
    for size, queries in ((base, base // 50), (5 * base, base // 50), (5 * base, base // 10)):
        log, scratch = folder / "growing.parquet", folder / "scratch"
        write_log(log, size, queries)
        scratch.mkdir(exist_ok=True)
        found = _alone(["-c", RUN_ALONE, str(log), str(scratch)])
        row: dict[str, object] = {"name": f"sdbn, {size} impressions, {queries} queries, 1 GiB"}
        rows.append(row | found)
    for row in rows[1:]:
        ratio = float(str(row["seconds"])) / float(str(rows[0]["seconds"]))
        row["note"] = f"growth exponent {math.log(ratio) / math.log(5):.2f}"
    return rows


def _alone(arguments: list[str]) -> dict[str, Any]:
    """What a Python process of its own prints as JSON."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    """Least wall-clock seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_bench("--quick" in sys.argv), indent=1) + "\n")
