"""Crawls: how good main text is, how quick ingestion is beside what the machine can do, how much
memory a crawl larger than the limit takes.

Peers are measured in the same run, the quickest of as many runs as ours: DuckDB copying the same
JSON lines to Parquet, and a bare loop of fastwarc and resiliparse over the same archive. Memory is
that of a process of its own.

Run it as `python -m tests.bench ingest_crawl`.
"""

import gzip
import io
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeVar

import duckdb
import numpy as np
import orjson
import polars as pl
from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

import builder
from builder import SimulationParameters
from builder.documents import build_documents
from builder.documents.rules import add_selection_flags
from builder.ingest import ingest_crawl
from builder.ingest.crawls.html import parse_html
from builder.io.sources import Interval, Source
from builder.io.tables import table_at, write_frame
from builder.parameters import CrawlParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64
from schemas import Fetches, Pages, ShownDocuments
from tests.bench.main_text import overlap
from tests.bench.peak import PeakWithWorkers

SHARED = Path(__file__).parents[3] / "shared" / "data" / "warc"
ARCHIVE = "pages_mixed_charsets.warc.gz"
ADDRESS = re.compile(rb"(WARC-Target-URI: <?https?)://")
THREADS = 2
MEMORY = 2 * 2**30
SHARES = (0.01, 0.02)
TEXTS_OF_A_PAGE = 5
Row = dict[str, object]
Result = TypeVar("Result")


def run_bench(quick: bool = False) -> Iterator[Row]:
    """One row per piece of work: name, seconds, peer, peer_seconds, ratio, note."""
    yield bench_sampling(50_000 if quick else 1_000_000)
    if SHARED.is_dir():
        yield bench_main_text()
    documents, runs = (3000, 1) if quick else (20_000, 2)
    with tempfile.TemporaryDirectory() as folder:
        if SHARED.is_dir():
            yield from bench_archive(write_archive(Path(folder), 1 if quick else 24))
        crawl = write_crawl(Path(folder), 0.03 if quick else 0.5, documents, shuffled)
        yield from bench_lines(crawl, runs)
        yield bench_memory(write_crawl(Path(folder), 0.05 if quick else 10.0, documents))


def write_crawl(
    folder: Path,
    gigabytes: float,
    documents: int = 20_000,
    texts: Callable[[bytes, int], bytes] | None = None,
) -> Path:
    """A crawl of about this size: simulated pages, at as many hosts as are needed.

    Args:
        folder: Where it is written.
        gigabytes: Its size.
        documents: Pages that are simulated.
        texts: Makes other texts of the lines for each host; None: hosts have the same.
    """
    lines = simulated_lines(folder / "world", documents)
    path = folder / f"crawl-{gigabytes}.jsonl"
    with path.open("wb") as file:
        for copy in range(max(1, round(gigabytes * 10**9 / len(lines)))):
            here = texts(lines, copy) if texts else lines
            file.write(here.replace(b'"url":"https://', b'"url":"https://h%d-' % copy))
    return path


def shuffled(lines: bytes, copy: int) -> bytes:
    """Lines whose texts have their words in another order: no two of a crawl are the same then, and
    they are compressed to a third, as texts of the web are. A peer that finds the same text again
    writes it down once: copies of 4,000 pages made it twice as quick, and its file 6 MB of 500.
    """
    rng = np.random.default_rng(copy)
    pages = [orjson.loads(line) for line in lines.splitlines()]
    for page in pages:
        words = np.array(page["text"].split(" "), dtype=object)
        page["text"] = " ".join(words[rng.permutation(len(words))].tolist())
    return b"".join(orjson.dumps(page) + b"\n" for page in pages)


def simulated_lines(world: Path, documents: int = 20_000) -> bytes:
    """A simulated crawl whose pages have the texts of several: about 4,900 characters, as
    LongEval's have."""
    if not world.exists():
        params = SimulationParameters(
            snapshots=1, documents=documents, queries=50, impressions=500, malformed_rate=0
        )
        builder.simulate(world, params)
    (source,) = (world / "crawls").iterdir()
    pages = [orjson.loads(line) for line in gzip.decompress(source.read_bytes()).splitlines()]
    whole = []
    for start in range(0, len(pages) - TEXTS_OF_A_PAGE, TEXTS_OF_A_PAGE):
        texts = [page["text"] for page in pages[start : start + TEXTS_OF_A_PAGE]]
        whole.append(orjson.dumps(pages[start] | {"text": "\n".join(texts)}) + b"\n")
    return b"".join(whole)


def clocked(work: Callable[[], Result], runs: int) -> tuple[float, Result]:
    """Seconds of the quickest of some runs, and what they come to."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def compared(name: str, seconds: float, peer: str, peer_seconds: float, note: str) -> Row:
    """A row of ours next to a peer, with the ratio of their seconds."""
    return {
        "name": name,
        "seconds": round(seconds, 2),
        "peer": peer,
        "peer_seconds": round(peer_seconds, 2),
        "ratio": round(peer_seconds / seconds, 3),
        "note": note,
    }


def to_documents(crawl: Path, share: float, **params: Any) -> tuple[int, int]:
    """Crawl to documents, both stages; records and documents."""
    with tempfile.TemporaryDirectory(
        dir=crawl.parent if crawl.suffix == ".jsonl" else None
    ) as name:
        folder = Path(name)
        for home in ("crawl", "documents", "scratch1", "scratch2"):
            (folder / home).mkdir()
        ledger = ingest_crawl(
            folder / "crawl",
            files=[Source(crawl, crawl.name)],
            interval=Interval(0, 2**40),
            params=CrawlParameters(interval="ignore"),
            limits=ResourceLimits(folder / "scratch1", THREADS, MEMORY),
            progress=NoProgress(),
        )
        if share:
            shown = pl.DataFrame(schema=ShownDocuments.dtypes())
            write_frame(shown, folder / "shown_documents.parquet", ShownDocuments)
            ledger = build_documents(
                folder / "documents",
                fetches=table_at(folder / "crawl", "fetches", Fetches),
                pages=table_at(folder / "crawl", "pages", Pages),
                shown_documents=table_at(folder, "shown_documents", ShownDocuments),
                params=DocumentParameters(sample_share=share, **params),
                limits=ResourceLimits(folder / "scratch2", THREADS, MEMORY),
                progress=NoProgress(),
            )
        return ledger.rows_in, ledger.rows_out


def bench_lines(crawl: Path, runs: int) -> Iterator[Row]:
    """JSON lines to pages and documents, beside DuckDB copying the lines to Parquet."""
    target = crawl.with_suffix(".parquet")
    size = crawl.stat().st_size / 10**6
    cases: tuple[tuple[str, float, dict[str, Any]], ...] = (
        ("crawl to pages", 0.0, {}),
        ("crawl to documents, a fifth sampled (default)", 0.2, {}),
        ("crawl to documents, all", 1.0, {}),
        ("crawl to documents, all, no near-duplicates", 1.0, {"near_duplicates": "off"}),
    )
    for name, share, params in cases:
        peer, _ = clocked(partial(copy_lines, crawl, target), runs)
        seconds, (records, kept) = clocked(partial(to_documents, crawl, share, **params), runs)
        note = f"{size:.0f} MB, {records:,} in, {kept:,} out, {size / seconds:.0f} MB/s"
        copied = "duckdb COPY (FROM read_json) TO parquet", peer
        yield compared(f"JSON lines, {name}", seconds, *copied, note)


def copy_lines(crawl: Path, target: Path) -> None:
    """What the machine can do."""
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute(f"COPY (FROM read_json('{crawl}')) TO '{target}' (FORMAT parquet)")


def write_archive(folder: Path, copies: int) -> Path:
    """The real archive some times over, each time at other hosts."""
    path = folder / f"archive-{copies}.warc.gz"
    with (SHARED / ARCHIVE).open("rb") as file, path.open("wb") as out:
        for record in ArchiveIterator(file, parse_http=False):
            stream = io.BytesIO()
            record.write(stream)
            whole = stream.getvalue()
            for copy in range(copies):
                host = b"://h%d-" % copy
                out.write(gzip.compress(ADDRESS.sub(rb"\1" + host, whole, count=1), 6))
    return path


def bench_archive(archive: Path) -> Iterator[Row]:
    """A WARC file to documents, beside a bare loop over it."""
    peer, _ = clocked(partial(bare_loop, archive), 1)
    size = archive.stat().st_size / 10**6
    cases = (("pages", 0.0), ("documents, a fifth sampled (default)", 0.2), ("documents, all", 1.0))
    for name, share in cases:
        seconds, (records, kept) = clocked(partial(to_documents, archive, share), 1)
        note = f"{size:.0f} MB, {records:,} in, {kept:,} out"
        yield compared(f"WARC to {name}", seconds, "fastwarc + resiliparse loop", peer, note)


def bare_loop(archive: Path) -> int:
    """Main text of every response with HTML; characters."""
    total = 0
    with archive.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response):
            body = record.reader.read()
            charset = record.http_charset or detect_encoding(body) or "utf-8"
            tree = HTMLTree.parse(bytes_to_str(body, charset))
            total += len(extract_plain_text(tree, main_content=True, alt_texts=False))
    return total


def bench_main_text() -> Row:
    """Main text of real pages against text that people selected, beside resiliparse alone."""
    with gzip.open(SHARED / "html_gold.json.gz") as file:
        gold = json.load(file)
    pages = [(page["html"].encode(), page["gold"]) for page in gold]
    start = time.perf_counter()
    texts = [parse_html(body, "utf-8", 2**31).text for body, _ in pages]
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    bare = [
        extract_plain_text(HTMLTree.parse(bytes_to_str(body, "utf-8")), main_content=True)
        for body, _ in pages
    ]
    peer = time.perf_counter() - start
    ours, theirs = (
        [overlap(text, wanted) for text, (_, wanted) in zip(found, pages, strict=True)]
        for found in (texts, bare)
    )
    note = (
        f"F1 mean {mean(ours):.3f} median {median(ours):.3f}; "
        f"peer {mean(theirs):.3f}, {median(theirs):.3f}"
    )
    return compared(f"main text of {len(pages)} pages", seconds, "resiliparse alone", peer, note)


def bench_sampling(count: int) -> Row:
    """1 % and 2 % of an index over three snapshots, of which a tenth is replaced each time."""
    step = count // 10
    start = time.perf_counter()
    ids = [doc_id(key64(f"https://index.example/{n}")) for n in range(count + 2 * step)]
    every = pl.DataFrame({"doc_id": ids})
    nothing = pl.Series([], dtype=pl.UInt64)
    begun = time.perf_counter()
    samples = [
        {
            snapshot: add_selection_flags(
                every.slice(snapshot * step, count),
                nothing,
                DocumentParameters(sample_share=share),
            ).filter("sampled")["doc_id"]
            for snapshot in range(3)
        }
        for share in SHARES
    ]
    seconds = time.perf_counter() - begun
    nested = all(samples[0][n].is_in(samples[1][n].implode()).all() for n in range(3))
    stable = [
        set(sample[a]) & set(every.slice(b * step, count)["doc_id"]) <= set(sample[b])
        for sample in samples
        for a in range(3)
        for b in range(3)
    ]
    return {
        "name": f"1 % and 2 % of {count:,} ids, three snapshots",
        "seconds": round(seconds, 2),
        "peer": "md5 of the ids alone",
        "peer_seconds": round(6 / 1.2 * (begun - start), 2),
        "note": f"nested: {nested}; sampled in one, sampled in the other: "
        f"{sum(stable) / len(stable):.0%}; sizes {[len(s) for s in samples[0].values()]}",
    }


def bench_memory(crawl: Path) -> Row:
    """Peak memory of both stages on a crawl larger than their limit, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        seconds, peak, records, kept = pool.submit(run_alone, crawl).result()
    gigabytes = crawl.stat().st_size / 10**9
    return {
        "name": f"{gigabytes:.1f} GB crawl to documents under 2 GiB",
        "seconds": round(seconds, 1),
        "note": f"peak {peak / 2**20:.0f} MiB, {records:,} in, {kept:,} out, "
        f"{gigabytes * 1000 / seconds:.0f} MB/s",
    }


def run_alone(crawl: Path) -> tuple[float, int, int, int]:
    """Seconds, peak bytes, pages and documents of both stages in this process and its workers."""
    start = time.perf_counter()
    with PeakWithWorkers() as peak:
        records, kept = to_documents(crawl, 0.2)
    seconds = time.perf_counter() - start
    return seconds, peak.bytes, records, kept
