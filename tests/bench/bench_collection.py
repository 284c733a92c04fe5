"""The published collection: validation beside `sha256sum`, export beside a bare loop.

A version with generated documents of LongEval's length; both peers read the same files in the same
run. Memory is that of a process of its own.

Run it as `python -m tests.bench collection`.
"""

import multiprocessing
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from builder.collection.export.files import (
    DocumentFileWriter,
    render_trec_documents,
    write_document_files,
)
from builder.collection.imports.documents import DocumentImporter
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.layouts import SnapshotFiles
from builder.collection.imports.origin import Release
from builder.collection.imports.publish import _describe_tables
from builder.collection.manifest import write_collection_manifest
from builder.collection.validate import validate
from builder.io.tables import Table, TableWriter, write_frame
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import RELEASED, Documents
from tests.bench.peak import peak_bytes

WORDS = 800
CHUNK = 5000
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row per piece of work: name, seconds, peer, peer_seconds, ratio, note."""
    with tempfile.TemporaryDirectory() as name:
        version = write_version(Path(name), 5000 if quick else 300_000)
        return [bench_validate(version), bench_export(version)]


def write_version(folder: Path, documents: int) -> Path:
    """A version of one snapshot with this many documents, as an import writes it."""
    version = folder / "1.0.0"
    home = version / "snapshots" / "2022-06"
    home.mkdir(parents=True)
    scratch = ResourceLimits(folder / "scratch")
    scratch.scratch.mkdir()
    release = Release(folder, "longeval-sci", "fr")
    released = DocumentImporter(SnapshotFiles("2022-06"), release, ImportLog())
    nothing = pl.Series("judged", [], dtype=pl.String)
    rng = np.random.default_rng(0)
    letters = rng.integers(97, 123, (50_000, 12)).astype(np.uint8).view("S12").ravel().astype(str)
    words = np.array([word[: 2 + n % 10] for n, word in enumerate(letters)])
    ids = sorted(map(str, range(documents)))
    with TableWriter(home / "documents" / "part-00000.parquet", RELEASED["documents"]) as writer:
        for start in range(0, documents, CHUNK):
            some = ids[start : start + CHUNK]
            drawn = words[rng.integers(0, len(words), (len(some), WORDS))]
            texts = [" ".join(row) + "." for row in drawn]
            frame = pl.DataFrame({"doc_id": some, "text": texts}).with_columns(
                title=pl.lit(""), text_en=pl.lit(None, dtype=pl.String)
            )
            writer.write(released._add_missing_columns(frame, nothing).to_arrow())
    for name in ("queries", "qrels"):
        contract = RELEASED[name]
        write_frame(pl.DataFrame(schema=contract.dtypes()), home / f"{name}.parquet", contract)
    snapshot = {"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"}
    collection = {"name": "bench", "version": "1.0.0"}
    defined = {"collection": collection, "snapshots": [snapshot], "parameters": {}}
    imported = {"imported": {"layout": "longeval-web", "documents": True}}
    tables = _describe_tables(version, [], scratch)
    write_collection_manifest(version, defined | imported, {}, tables, {})
    return version


def bench_validate(version: Path) -> Row:
    """All checks beside `sha256sum` of the same files."""
    files = [str(p) for p in sorted(version.rglob("*")) if p.is_file()]
    start = time.perf_counter()
    subprocess.run(["sha256sum", *files], check=True, capture_output=True)
    peer = time.perf_counter() - start
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak, found = pool.apply(validate_alone, (version,))
    size = sum(Path(p).stat().st_size for p in files) / 1e6
    return {
        "name": "validate",
        "seconds": round(seconds, 2),
        "peer": "sha256sum of the same files",
        "peer_seconds": round(peer, 2),
        "ratio": round(seconds / peer, 2),
        "note": f"{size:.0f} MB of Parquet, peak {peak / 2**20:.0f} MiB, checks: {found}",
    }


def validate_alone(version: Path) -> tuple[float, int, str]:
    """Seconds, peak bytes and the checks that found something."""
    start = time.perf_counter()
    found = sorted({finding.check for finding in validate(version)})
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    return seconds, peak, " ".join(found) or "none"


def bench_export(version: Path) -> Row:
    """TREC documents beside a bare loop over Arrow batches that writes the same bytes."""
    path = version / "snapshots/2022-06/documents/part-00000.parquet"
    with tempfile.TemporaryDirectory() as name:
        start = time.perf_counter()
        parts = DocumentFileWriter(Path(name) / "a", str, 2**40)
        write_document_files(
            parts, render_trec_documents(Table((path,), Documents), "", NoProgress())
        )
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        bare_loop(path, Path(name) / "b")
        peer = time.perf_counter() - start
        ours = (Path(name) / "a/1").stat().st_size
        same = ours == (Path(name) / "b").stat().st_size
    return {
        "name": "export to TREC",
        "seconds": round(seconds, 2),
        "peer": "bare loop over Arrow batches",
        "peer_seconds": round(peer, 2),
        "ratio": round(peer / seconds, 2),
        "note": f"{ours / 1e6:.0f} MB, {ours / 1e6 / seconds:.0f} MB/s, same size: {same}",
    }


def bare_loop(path: Path, target: Path) -> None:
    """The same documents without any care for what is in them."""
    with pq.ParquetFile(path) as file, target.open("w", encoding="utf-8") as out:
        for batch in file.iter_batches(4096, columns=["doc_id", "text"]):
            ids, texts = (batch.column(place).to_pylist() for place in range(2))
            for doc, text in zip(ids, texts, strict=True):
                out.write(f"<DOC>\n<DOCNO>{doc}</DOCNO>\n<DOCID>{doc}</DOCID>\n")
                out.write(f"<TEXT>\n{text}\n</TEXT>\n</DOC>\n")
