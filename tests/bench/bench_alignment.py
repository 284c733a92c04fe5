"""Alignment of three snapshots: time beside one reading of the same columns, and peak memory.

Pages are made by number: of two snapshots 85 % are the same, 10 % updated, 5 % removed and as many
added, of which a tenth are moved and a tenth stand at another form of their address. Each measured
step runs in a process of its own, so that its peak is its own.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from hashlib import md5
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builder.alignment import align_snapshots, build_id_maps
from builder.io.tables import Table, TableWriter, write_frame
from builder.parameters import ChangeParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, Qrels, Queries
from tests.bench.peak import peak_bytes

MEMORY = 2 * 2**30
SNAPSHOTS = ("2022-06", "2022-07", "2022-09")
COLUMNS = ["doc_id", "url", "url_key", "text_hash", "token_hash", "tokens", "title", "text"]
WORDS = np.array([f"mot{number}" for number in range(5000)])
TOKENS = 60
ROWS_PER_PIECE = 100_000


def run_bench(quick: bool = False) -> list[dict[str, object]]:
    """Measure 0.2 M pages and 2 M; 0.02 M where quick."""
    return [row for pages in ((20_000,) if quick else (200_000, 2_000_000)) for row in _size(pages)]


def _size(pages: int) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place, snapshot in enumerate(SNAPSHOTS):
            _apart(_write, folder / snapshot, pages, place)
        read, _ = _apart(_read, folder)
        aligned, peak = _apart(_align, folder)
        mapped, map_peak = _apart(_map, folder)
    label = f"{len(SNAPSHOTS)} snapshots of {pages / 1e6:g} M pages"
    peer = "reading the columns once"
    return [
        {
            "name": f"{what}, {label}",
            "seconds": seconds,
            "peer": peer,
            "peer_seconds": read,
            "ratio": seconds / read,
            "peak_mib": peak_mib,
            "note": f"--memory {MEMORY / 2**30:g}GiB",
        }
        for what, seconds, peak_mib in (("changes", aligned, peak), ("maps", mapped, map_peak))
    ]


def _apart(work: Callable[..., float], *arguments: Any) -> tuple[float, int]:
    """Seconds and peak MiB of some work in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(sender, work, arguments))
    process.start()
    seconds, peak = receiver.recv()
    process.join()
    return float(seconds), int(peak)


def _report(sender: Any, work: Callable[..., float], arguments: tuple[Any, ...]) -> None:
    seconds = work(*arguments)
    sender.send((seconds, peak_bytes() // 2**20))


def _write(folder: Path, pages: int, place: int) -> float:
    """Write one snapshot: page n is in it unless its number says otherwise."""
    begun = time.perf_counter()
    numbers = np.arange(pages + pages // 10)
    lot = (numbers * 2654435761) % 2**32 / 2**32
    born = np.where(numbers < pages * 0.9, 0, 1 + numbers % 2)
    kept = (born <= place) & ~((lot < 0.05) & (place > 0)) & ~((lot > 0.95) & (place > 1))
    numbers, lot = numbers[kept], lot[kept]
    path = np.where((lot < 0.06) & (place > 0), "archive/", "").astype(object)
    scheme = np.where((lot > 0.94) & (place > 1), "http", "https").astype(object)
    urls = [
        f"{s}://site{n % 5000}.fr/{p}{n}" for s, p, n in zip(scheme, path, numbers, strict=True)
    ]
    ids = [f"d{md5(url.encode(), usedforsecurity=False).hexdigest()[:16]}" for url in urls]
    order = np.argsort(np.array(ids))
    edited = (lot > 0.3) & (lot < 0.3 + 0.1 * place)
    with TableWriter(folder / "documents.parquet", Documents) as writer:
        for start in range(0, len(order), ROWS_PER_PIECE):
            chosen = order[start : start + ROWS_PER_PIECE]
            rows = _pages(numbers[chosen], edited[chosen], place)
            rows = rows.with_columns(
                pl.Series("doc_id", [ids[n] for n in chosen]),
                pl.Series("url", [urls[n] for n in chosen]),
                pl.Series("url_key", [urls[n] for n in chosen]),
            )
            writer.write(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    for name, contract in (("queries", Queries), ("qrels", Qrels)):
        write_frame(pl.DataFrame(schema=contract.dtypes()), folder / f"{name}.parquet", contract)
    return time.perf_counter() - begun


def _pages(numbers: np.ndarray, edited: np.ndarray, place: int) -> pl.DataFrame:
    codes = (numbers[:, None] * 7919 + np.arange(TOKENS)[None, :] * 104_729) % len(WORDS)
    codes[edited, TOKENS // 2] = place
    texts = [" ".join(row) for row in WORDS[codes]]
    digests = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
    constants = {"fetched_at": 0, "title": "", "shown": True, "sampled": True, "tokens": TOKENS}
    known = {"text": texts, "text_hash": digests, "token_hash": digests}
    absent = [name for name in Documents.dtypes() if name not in {*constants, *known}]
    return pl.DataFrame(known).with_columns(
        *(pl.lit(value).alias(name) for name, value in constants.items()),
        *(pl.lit(None).alias(name) for name in absent),
    )


def _table(folder: Path, snapshot: str, name: str, contract: Any) -> Table:
    return Table((folder / snapshot / f"{name}.parquet",), contract)


def _read(folder: Path) -> float:
    """Seconds of the second of two readings: the first loads the engine."""
    for _ in range(2):
        begun = time.perf_counter()
        for snapshot in SNAPSHOTS:
            for batch in _table(folder, snapshot, "documents", Documents).iter_batches(COLUMNS):
                batch.validate()
    return time.perf_counter() - begun


def _align(folder: Path) -> float:
    begun = time.perf_counter()
    for place, pair in enumerate(pairwise(SNAPSHOTS)):
        out = folder / "_".join(pair)
        sides = {
            f"{name}_{side}": _table(folder, snapshot, name, contract)
            for side, snapshot in zip(("from", "to"), pair, strict=True)
            for name, contract in (("documents", Documents), ("queries", Queries), ("qrels", Qrels))
        }
        earlier = tuple(_table(folder, s, "documents", Documents) for s in SNAPSHOTS[:place])
        align_snapshots(
            _made(out),
            **sides,
            earlier=earlier,
            from_snapshot=pair[0],
            to_snapshot=pair[1],
            params=ChangeParameters(),
            limits=ResourceLimits(_made(out / "scratch"), threads=2, memory=MEMORY),
            progress=NoProgress(),
        )
    return time.perf_counter() - begun


def _map(folder: Path) -> float:
    begun = time.perf_counter()
    out = _made(folder / "maps")
    build_id_maps(
        out,
        documents={s: _table(folder, s, "documents", Documents) for s in SNAPSHOTS},
        queries={s: _table(folder, s, "queries", Queries) for s in SNAPSHOTS},
        limits=ResourceLimits(_made(out / "scratch"), threads=2, memory=MEMORY),
        progress=NoProgress(),
    )
    return time.perf_counter() - begun


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
