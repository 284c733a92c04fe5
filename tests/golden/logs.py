"""Log files of the golden worlds: the impressions of a simulated log in other formats.

A record is an object of the JSON lines that `simulate` writes: `time` (Unix seconds), `user` (or
None), `query`, `results` (URLs) and `clicks` (1-based ranks).
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

Record = dict[str, Any]
CELLS = ("time", "user", "query", "url", "rank", "clicked")


def read_records(path: Path) -> list[Record]:
    """The records of a simulated log without faulty lines."""
    with gzip.open(path) as file:
        return [json.loads(line) for line in file]


def rewrite(definition: Path, write: Callable[[list[Record], Path], Sequence[Path]]) -> None:
    """Replace the logs of a simulated world.

    Args:
        definition: `workflow.toml` of the world; names the new files afterwards.
        write: Writes records to files whose names begin with a path, and returns these files.
    """
    folder = definition.parent
    text = definition.read_text("utf-8")
    for log in sorted((folder / "logs").glob("*.jsonl.gz")):
        paths = write(read_records(log), log.with_name(log.name.split(".")[0]))
        names = ", ".join(f'"{path.relative_to(folder).as_posix()}"' for path in paths)
        text = text.replace(f'"{log.relative_to(folder).as_posix()}"', names)
        log.unlink()
    definition.write_text(text, "utf-8")


def as_rows(records: Sequence[Record]) -> Iterator[tuple[Any, ...]]:
    """One row for each result, with the cells `CELLS`."""
    for record in records:
        for rank, url in enumerate(record["results"], 1):
            head = (record["time"], record["user"], record["query"])
            yield (*head, url, rank, int(rank in record["clicks"]))


def write_long_tsv(records: Sequence[Record], path: Path) -> Path:
    """Tab-separated text with one row for each result; times are ISO 8601 without an offset."""
    path = path.with_name(path.name + "-long.tsv")
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(CELLS) + "\n")
        for time, user, *cells in as_rows(records):
            moment = datetime.fromtimestamp(time, UTC).replace(tzinfo=None).isoformat()
            file.write("\t".join([moment, user or "", *map(str, cells)]) + "\n")
    return path


def write_long_parquet(records: Sequence[Record], path: Path) -> Path:
    """Parquet with one row for each result."""
    path = path.with_name(path.name + "-long.parquet")
    frame = pl.DataFrame(list(as_rows(records)), schema=CELLS, orient="row")
    typed = frame.with_columns(pl.col("rank").cast(pl.Int16), pl.col("clicked").cast(pl.Boolean))
    typed.write_parquet(path, row_group_size=1000)
    return path


def write_long_json(records: Sequence[Record], path: Path) -> Path:
    """JSON lines with one object for each result."""
    path = path.with_name(path.name + "-long.jsonl")
    rows = (dict(zip(CELLS, row, strict=True)) for row in as_rows(records))
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def write_wide_csv(records: Sequence[Record], path: Path) -> Path:
    """Gzip of text between semicolons: results as JSON, clicks between spaces, other names."""
    path = path.with_name(path.name + ".csv.gz")
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(("when", "who", "q", "shown", "clicked_ranks"))
    for record in records:
        clicks = " ".join(map(str, record["clicks"]))
        cells = (record["time"] * 1000, record["user"] or "", record["query"])
        writer.writerow((*cells, json.dumps(record["results"]), clicks))
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    return path


def write_objects(records: Sequence[Record], path: Path) -> Path:
    """JSON lines whose results and clicks are objects; clicks have times, in another order."""
    path = path.with_name(path.name + "-objects.jsonl")
    path.write_text("".join(json.dumps(_objects(r)) + "\n" for r in records), "utf-8")
    return path


def _objects(record: Record) -> Record:
    clicks = [
        {"url": record["results"][rank - 1], "time": record["time"] + 7 * rank % 5}
        if rank % 2
        else {"rank": rank, "time": record["time"] + 7 * rank % 5}
        for rank in record["clicks"]
    ]
    return {
        "at": datetime.fromtimestamp(record["time"], UTC).isoformat(),
        "who": {"id": record["user"]},
        "query": record["query"],
        "hits": [{"url": url, "score": 1.5} for url in record["results"]],
        "clicks": clicks,
    }


def write_flags(records: Sequence[Record], path: Path, ids: dict[str, int]) -> Path:
    """Parquet with ids of documents as results, and one number a result as clicks."""
    path = path.with_name(path.name + "-flags.parquet")
    rows = [
        {
            "time": record["time"],
            "user": record["user"],
            "query": record["query"],
            "results": [ids[url.split("?")[0]] for url in record["results"]],
            "clicks": [int(n in record["clicks"]) for n in range(1, len(record["results"]) + 1)],
        }
        for record in records
    ]
    pl.DataFrame(rows).write_parquet(path, row_group_size=500)
    return path


def write_actions(records: Sequence[Record], path: Path, ids: dict[str, int]) -> Path:
    """Actions of sessions, as in the relevance prediction challenge; a user is a session."""
    path = path.with_name(path.name + ".tsv.gz")
    queries = {text: n for n, text in enumerate(sorted({r["query"] for r in records}))}
    users = {name: n for n, name in enumerate(sorted({r["user"] or "" for r in records}))}
    start = min(record["time"] for record in records)
    lines = []
    for record in sorted(records, key=lambda r: (users[r["user"] or ""], r["time"])):
        numbers = [str(ids[url.split("?")[0]]) for url in record["results"]]
        session, time = users[record["user"] or ""], record["time"] - start
        lines.append("\t".join([f"{session}\t{time}\tQ\t{queries[record['query']]}\t0", *numbers]))
        lines += [f"{session}\t{time + 3}\tC\t{numbers[rank - 1]}" for rank in record["clicks"]]
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return path


def split_pages(records: Sequence[Record], size: int) -> list[Record]:
    """The records with longer lists cut into pages of `size` results, five seconds apart."""
    found = []
    for record in records:
        for page, start in enumerate(range(0, len(record["results"]), size)):
            clicks = [rank - start for rank in record["clicks"] if 0 < rank - start <= size]
            results = record["results"][start : start + size]
            time = record["time"] + 5 * page
            found.append(record | {"time": time, "results": results, "clicks": clicks})
    return found
