"""A large synthetic query log in keys, drawn with numpy: the input of the selection benchmark.

Queries follow Zipf's law (exponent 1) over twice as many ranks as impressions; a quarter of the
impressions use a second form of the query; there is one user for twenty impressions.
"""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from builder.io.tables import arrow_schema
from schemas import Impressions, LogQueries

Keys = NDArray[np.uint64]
CHUNK = 1_000_000
WORDS = 40_000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(keys: Keys) -> Keys:
    """SplitMix64's finalizer: 64 bits that look random and are all different."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def write_impressions(path: Path, count: int) -> None:
    """Write `count` impressions (see `schemas.Impressions`), each with one result."""
    draw = np.random.default_rng(1)
    with pq.ParquetWriter(path, arrow_schema(Impressions), compression="zstd") as writer:
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            rank = np.exp(draw.random(size) * np.log(2 * count)).astype(np.uint64)
            query = mix(rank + np.uint64(12345))
            second = (draw.random(size) < 0.25).astype(np.uint64)
            users = draw.integers(0, count // 20, size).astype(np.uint64)
            clicks = (draw.random(size) < 0.4).astype(np.int32) + (draw.random(size) < 0.05)
            ends = np.concatenate([[0], np.cumsum(clicks)]).astype(np.int32)
            ranks = draw.integers(1, 11, ends[-1]).astype(np.uint16)
            columns = [
                pa.array(np.arange(start, start + size, dtype=np.uint64)),
                pa.array(mix(users + np.uint64(999))),
                pa.array(query),
                pa.array(mix(query + second * GOLDEN)),
                pa.ListArray.from_arrays(pa.array(np.arange(size + 1, dtype=np.int32)), query),
                pa.ListArray.from_arrays(pa.array(ends), pa.array(ranks)),
            ]
            table = pa.table(columns, names=list(Impressions.dtypes())).cast(writer.schema)
            writer.write_table(table, row_group_size=122_880)


def write_log_queries(path: Path, impressions: Path, scratch: Path) -> None:
    """Write the forms of the impressions (see `schemas.LogQueries`): four words each."""
    vocabulary = pl.Series("word", [f"mot{number}" for number in range(WORDS)])
    with (
        duckdb.connect(config={"temp_directory": str(scratch)}) as connection,
        pq.ParquetWriter(path, arrow_schema(LogQueries), compression="zstd") as writer,
    ):
        connection.read_parquet([str(impressions)]).create_view("impressions")
        forms = connection.sql("SELECT DISTINCT surface, query FROM impressions ORDER BY surface")
        for batch in forms.to_arrow_reader(CHUNK):
            query = np.asarray(batch.column("query"))
            words = [
                vocabulary[((query >> np.uint64(16 * place)) % np.uint64(WORDS)).astype(np.int64)]
                for place in range(4)
            ]
            folded = pl.DataFrame([words[i].alias(f"word{i}") for i in range(4)]).select(
                pl.concat_str(pl.all(), separator=" ").alias("folded")
            )
            frame = folded.select(
                pl.Series("surface", np.asarray(batch.column("surface"))),
                pl.Series("query", query),
                pl.col("folded").str.to_titlecase().alias("text"),
                "folded",
            )
            writer.write_table(frame.to_arrow().cast(writer.schema))


def write_topics(path: Path, count: int) -> None:
    """Write `count` topics, each a word of the log and a pair of words."""
    rows = [
        (f"t{number:04d}", f"mot{number * 7}", [f"mot{number} mot{number + 1}"], "fr", "")
        for number in range(count)
    ]
    schema = ["topic_id", "label", "aliases", "language", "source"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
