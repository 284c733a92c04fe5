"""Selection of a large log in bounded memory, and variant sets against sets that people made.

Selection: impressions in keys against 1,000 topics, limited to 2 GiB, in a process of its own so
that its peak memory can be read. Beside it DuckDB reading the query column of the same log: from
JSON lines, as a log is delivered, and from Parquet, as strings and as keys.

Variants: pairwise precision and recall of automatic sets against real hand-made ones (two dates),
for each threshold; the sets of people are topical, so recall is small by nature.

Run it as `python -m tests.bench.bench_queries`.
"""

import json
import multiprocessing
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import duckdb
import orjson
import polars as pl

from builder.io.tables import Table
from builder.parameters import SelectionParameters, SplitParameters, VariantParameters
from builder.queries import select_queries
from builder.queries.manual_sets import read_manual_sets
from builder.queries.sets import build_variant_sets
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import fold_texts, key64
from schemas import Impressions, LogQueries, Topics
from tests.bench.peak import peak_bytes
from tests.bench.query_log import write_impressions, write_log_queries, write_topics

SHARED = Path(__file__).parents[3] / "shared" / "data" / "queries"
THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
JSON_LINES = 300_000
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row per piece of work: name, seconds, peer, peer_seconds, ratio, note."""
    count = 500_000 if quick else 100_000_000
    with tempfile.TemporaryDirectory() as folder:
        return [
            *bench_selection(Path(folder), count),
            *bench_variants(THRESHOLDS[4:5] if quick else THRESHOLDS),
        ]


def bench_selection(folder: Path, count: int) -> list[Row]:
    """Select `count` impressions against 1,000 topics in 2 GiB."""
    log, forms, topics = (folder / f"{name}.parquet" for name in ("log", "forms", "topics"))
    write_impressions(log, count)
    write_log_queries(forms, log, folder / "scratch")
    write_topics(topics, 1000)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        seconds, memory, kept = pool.apply(run_selection, (folder,))
    note = f"{memory / 2**20:.0f} MiB at most; {kept} candidates"
    rows = []
    for peer, rate in read_rates(folder, log, forms):
        rows.append(
            {
                "name": f"select, {count:,} impressions",
                "seconds": round(seconds, 1),
                "peer": f"duckdb reads the query column, {peer}",
                "peer_seconds": round(count / rate, 2),
                "ratio": round(count / rate / seconds, 3),
                "note": note,
            }
        )
    return rows


def run_selection(folder: Path) -> tuple[float, int, int]:
    """Seconds, peak bytes and candidates of the stage, in this process."""
    out = folder / "out"
    out.mkdir()
    start = time.perf_counter()
    ledger = select_queries(
        out,
        impressions=Table((folder / "log.parquet",), Impressions),
        log_queries=Table((folder / "forms.parquet",), LogQueries),
        topics=Table((folder / "topics.parquet",), Topics),
        params=SelectionParameters(),
        limits=ResourceLimits(scratch=folder, threads=2, memory=2 * 2**30),
        progress=NoProgress(),
    )
    seconds = time.perf_counter() - start
    ledger.check("select")
    peak = peak_bytes()
    return seconds, peak, ledger.rows_out


def read_rates(folder: Path, log: Path, forms: Path) -> Iterator[tuple[str, float]]:
    """Impressions a second that DuckDB reads of the query column, by form of the log."""
    config = {"threads": 2, "temp_directory": str(folder / "scratch")}
    of_lines = "SELECT sum(strlen(query)) FROM read_json('{}', columns = {{query: 'VARCHAR'}})"
    with duckdb.connect(config=config) as connection:
        connection.read_parquet([str(log)]).create_view("log")
        connection.read_parquet([str(forms)]).create_view("forms")
        strings = folder / "strings.parquet"
        sample = f"(SELECT surface FROM log LIMIT {10 * JSON_LINES})"
        connection.execute(
            f"COPY (SELECT text FROM {sample} JOIN forms USING (surface)) TO '{strings}' "
            "(COMPRESSION zstd)"
        )
        lines = write_json_lines(folder / "log.jsonl", strings)
        for peer, sql, rows in (
            ("JSON lines", of_lines.format(lines), JSON_LINES),
            ("Parquet, text", f"SELECT sum(strlen(text)) FROM '{strings}'", 10 * JSON_LINES),
            ("Parquet, keys", "SELECT sum(query::HUGEINT) FROM log", None),
        ):
            total = rows or connection.execute("SELECT count(*) FROM log").fetchall()[0][0]
            yield peer, total / clock(lambda sql=sql: connection.execute(sql).fetchall())


def write_json_lines(path: Path, strings: Path) -> Path:
    """A log as it is delivered: ten results a line."""
    texts = pl.scan_parquet(strings).head(JSON_LINES).collect()["text"]
    urls = [
        f"https://www.exemple{rank}.example/rubrique/une-page-de-resultat" for rank in range(10)
    ]
    with path.open("wb") as file:
        for number, text in enumerate(texts):
            line = {
                "time": 1_654_041_842 + number,
                "user": f"u-{number}",
                "query": text,
                "results": urls,
                "clicks": [],
            }
            file.write(orjson.dumps(line) + b"\n")
    return path


def clock(work: Callable[[], object]) -> float:
    """Seconds of the second of two calls."""
    work()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_variants(thresholds: Sequence[float]) -> list[Row]:
    """Precision and recall of pairs at each threshold; nothing without the real sets."""
    rows: list[Row] = []
    for path in sorted(SHARED.glob("cdtn_requests_*.json")):
        sets = [fold_texts(entry["variants"]) for entry in json.loads(path.read_text())]
        human = {pair for texts in sets for pair in combinations(sorted(set(texts)), 2)}
        texts = sorted({text for of in sets for text in of})
        base: set[tuple[str, str]] = set()
        for threshold in (None, *thresholds):
            start = time.perf_counter()
            found = automatic_pairs(texts, threshold)
            base = found if threshold is None else base
            added = found - base
            rows.append(
                {
                    "name": f"variants {path.stem[-7:]}, "
                    + ("signature" if threshold is None else f"edit >= {threshold}"),
                    "seconds": round(time.perf_counter() - start, 2),
                    "precision": round(len(found & human) / max(1, len(found)), 3),
                    "recall": round(len(found & human) / len(human), 4),
                    "added": len(added),
                    "added_precision": round(len(added & human) / max(1, len(added)), 3),
                    "note": f"{len(found)} pairs of {len(texts)} texts, {len(human)} by people",
                }
            )
    return rows


def automatic_pairs(texts: list[str], threshold: float | None) -> set[tuple[str, str]]:
    """Pairs of folded texts that share a set; on one side of the split, to see the method alone."""
    rows = {"query": [key64(text) for text in texts], "text": texts}
    frame = pl.DataFrame(rows, schema={"query": pl.UInt64, "text": pl.String})
    params = (
        VariantParameters(sets="signature")
        if threshold is None
        else VariantParameters(sets="edit", threshold=threshold)
    )
    with duckdb.connect() as connection:
        sets = build_variant_sets(
            connection,
            frame.with_columns(impressions=pl.lit(1, pl.UInt32)),
            read_manual_sets(()),
            [],
            params,
            SplitParameters(heldout_share=0),
        )
    members = defaultdict(list)
    for variant_set, text in sets.select("variant_set", "text").rows():
        members[variant_set].append(text)
    return {pair for of in members.values() for pair in combinations(sorted(of), 2)}


if __name__ == "__main__":
    for line in run_bench(quick="--quick" in sys.argv):
        sys.stdout.write(json.dumps(line) + "\n")
