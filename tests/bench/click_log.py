"""A large query log with clicks for benchmarks, in Parquet: strings, ten results, Zipf popularity.

Queries are drawn by Zipf's law; a result page has one of four orders of the query's best
documents; users click by a dynamic Bayesian network. Written in chunks, so any size fits.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = 10
DOCS = 15
SWAPS = ((0, 0), (3, 10), (0, 1), (7, 12))
CHUNK = 250_000
ROWS_PER_GROUP = 122_880


def write_log(path: Path, impressions: int, queries: int = 50_000, seed: int = 0) -> None:
    """Write a log of `impressions` result pages."""
    writer: pq.ParquetWriter | None = None
    for table in _chunks(impressions, queries, np.random.default_rng(seed)):
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    if writer is not None:
        writer.close()


def _chunks(impressions: int, queries: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    popularity = 1 / np.arange(1, queries + 1)
    bounds = np.cumsum(popularity / popularity.sum())
    attractiveness = rng.beta(0.5, 4, (queries, DOCS))
    satisfaction = rng.beta(3, 2, (queries, DOCS))
    texts = pa.array([f"requete {n} exemple {n % 97}" for n in range(queries)])
    urls = pa.array(
        [f"https://www.site-{n % 5003}.example/chemin/page-{n}.html" for n in range(queries * DOCS)]
    )
    orders = np.tile(np.arange(DOCS), (len(SWAPS), 1))
    for row, (one, other) in enumerate(SWAPS):
        orders[row, [one, other]] = orders[row, [other, one]]
    for start in range(0, impressions, CHUNK):
        size = min(CHUNK, impressions - start)
        query = np.searchsorted(bounds, rng.random(size)).clip(max=queries - 1)
        docs = orders[rng.integers(0, len(SWAPS), size)][:, :RESULTS]
        at = query[:, None] * DOCS + docs
        clicks = _clicks(attractiveness.ravel()[at], satisfaction.ravel()[at], rng)
        yield pa.table(
            {
                "query": texts.take(pa.array(query)),
                "results": _lists(np.full(size, RESULTS), urls.take(pa.array(at.ravel()))),
                "clicks": _lists(
                    clicks.sum(axis=1), pa.array((np.nonzero(clicks)[1] + 1).astype(np.uint16))
                ),
            }
        )


def _clicks(a: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    clicks = np.zeros(a.shape, dtype=bool)
    looking = np.ones(len(a), dtype=bool)
    for rank in range(a.shape[1]):
        clicks[:, rank] = looking & (rng.random(len(a)) < a[:, rank])
        looking &= ~(clicks[:, rank] & (rng.random(len(a)) < s[:, rank]))
        looking &= rng.random(len(a)) < 0.95
    return clicks


def _lists(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
