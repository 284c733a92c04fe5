"""Small logs for click models."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

RECORDS: list[dict[str, Any]] = [
    {"time": 1, "user": "u", "query": "Été", "results": ["http://B/", "http://b"], "clicks": [2]},
    {"time": 2, "user": None, "query": "ete", "results": ["http://b", "http://c"], "clicks": []},
    {"time": 3, "user": "u", "query": "Été", "results": ["http://b", "http://c"], "clicks": [1]},
]


def lines(records: list[Any]) -> bytes:
    """Records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def written(tmp_path: Path, records: list[Any], name: str = "log.jsonl") -> Path:
    """A log file of records, by the kind of its name."""
    path = tmp_path / name
    data = lines(records)
    if name.endswith(".gz"):
        data = gzip.compress(data)
    if name.endswith(".zst"):
        data = zstandard.compress(data)
    if name.endswith(".parquet"):
        schema = {"query": pl.String, "results": pl.List(pl.String), "clicks": pl.List(pl.Int64)}
        pl.DataFrame([{k: r[k] for k in schema} for r in records], schema).write_parquet(path)
    else:
        path.write_bytes(data)
    return path


def random_records(pages: int) -> list[dict[str, Any]]:
    """Pages of few queries with a fixed pattern of clicks."""
    return [
        {
            "query": f"q{n % 5}",
            "results": [f"http://{n % 5}/{(n * k) % 13}" for k in range(1, 8)],
            "clicks": [k for k in range(1, 8) if (n * n + k) % 6 == 0],
        }
        for n in range(pages)
    ]
