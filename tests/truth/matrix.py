"""The matrix: planted causes x sizes x seeds, and what the checks say of each cell.

A cell is a simulated world of two months whose second month is changed by one cause. Recorded
parameters are claimed to be the same, so that only the data can tell. The checks were tuned on
seeds 0 to 4; those from 5 on were kept apart.
"""

import gzip
import json
import random
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import builder
from builder.collection.read import open_collection
from builder.drift import OptionalInputs, compare_snapshots
from builder.drift.pair_drift import OPTIONAL_TABLES, read_pair_drift
from builder.io.tables import Table, table_at, write_frame
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.simulation import SimulationParameters, simulate
from builder.text.keys import id_to_key
from schemas import TABLES, Pages, Qrels
from tests.truth.month import World
from tests.truth.planted import Cause

SIZES = {
    "2,500": {"documents": 300, "queries": 30, "impressions": 2_500},
    "8,000": {"documents": 800, "queries": 80, "impressions": 8_000},
    "30,000": {"documents": 1_500, "queries": 150, "impressions": 30_000},
}
"""Impressions of a month, and what goes with them."""

MONTHS = ("2022-06", "2022-07")
FIELDS: dict[str, dict[str, type]] = {
    "crawls": {"url": str, "title": str, "text": str},
    "logs": {"query": str, "results": list, "clicks": list},
}
"""Fields of the raw records that changes read or write, and their types."""

MAIN = ("documents", "queries", "qrels")


@dataclass(frozen=True)
class Verdict:
    """What the checks say of one cell.

    Args:
        cause: Name of the planted cause.
        size: A key of `SIZES`.
        seed: Seed of the world and of the change.
        said: For construction the verdict of the check that must name it, and `named` where that
            is `construction`; for a change of the world `clear`, or `false` where a check calls
            it construction.
        named: Checks that found construction.
    """

    cause: str
    size: str
    seed: int
    said: str
    named: tuple[str, ...]


class Laboratory:
    """One simulated world, and its first month as it was built once."""

    def __init__(self, folder: Path, size: str, seed: int) -> None:
        self.folder, self.size, self.seed = folder, size, seed
        self.world = folder / "world"
        simulate(self.world, SimulationParameters(seed=seed, snapshots=2, **SIZES[size]))
        self.raw = {
            kind: self.world / kind / f"{MONTHS[1]}.jsonl.gz" for kind in ("crawls", "logs")
        }
        self.original = {kind: path.read_bytes() for kind, path in self.raw.items()}
        self.before = self._build("before")

    def judge(self, cause: Cause) -> Verdict:
        """Plant a cause, compare both months, and read the checks."""
        after = self._plant(cause)
        if cause.change is not None:
            checks = json.loads((after / "drift.json").read_text())["checks"]
        else:
            checks = self._compare(after, shifted=cause.shifted)
        shutil.rmtree(self.folder / "after", ignore_errors=True)
        named = tuple(c["check"] for c in checks if c["verdict"] == "construction")
        if cause.check is None:
            said = "false" if named else "clear"
        else:
            said = next(c["verdict"] for c in checks if c["check"] == cause.check)
            said = "named" if said == "construction" else said
        return Verdict(cause.name, self.size, self.seed, said, named)

    def _plant(self, cause: Cause) -> Path:
        definition = (self.world / "workflow.toml").read_text()
        topics = self.world / "topics.tsv"
        lines = topics.read_text().splitlines(keepends=True)
        draw = random.Random(f"{cause.name} {self.size} {self.seed}")
        try:
            if cause.change is not None:
                self._write(cause, draw)
            if cause.deleted_topics:
                deleted = set(draw.sample(range(1, len(lines)), cause.deleted_topics))
                topics.write_text("".join(x for n, x in enumerate(lines) if n not in deleted))
            (self.world / "workflow.toml").write_text(f"{definition}\n{cause.definition}")
            return self._build("after")
        finally:
            (self.world / "workflow.toml").write_text(definition)
            topics.write_text("".join(lines))
            for kind, path in self.raw.items():
                path.write_bytes(self.original[kind])

    def _write(self, cause: Cause, draw: random.Random) -> None:
        assert cause.change is not None
        month = World(
            *(list(read_records(self.original[kind], types)) for kind, types in FIELDS.items())
        )
        cause.change(month, draw)
        for path, records in zip(self.raw.values(), (month.crawl, month.log), strict=True):
            with gzip.open(path, "wt") as file:
                file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in records)

    def _build(self, name: str) -> Path:
        root = self.folder / name
        if name != "before":
            shutil.copytree(self.folder / "before", root)  # what did not change is not built again
        report = builder.build(self.world / "workflow.toml", out=root)
        assert report.version is not None
        return report.version

    def _compare(self, after: Path, *, shifted: bool) -> list[dict[str, Any]]:
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        limits = ResourceLimits(scratch, threads=2, memory=2**30)
        (scratch / "maps").mkdir(parents=True)
        homes = dict(zip(MONTHS, (self.before, after), strict=True))
        main = {kind: {m: _table(home, m, kind) for m, home in homes.items()} for kind in MAIN}
        if shifted:
            main["qrels"][MONTHS[1]] = _shifted(main["qrels"][MONTHS[1]], scratch)
        parameters = open_collection(self.before).manifest["definition"]["parameters"]
        recorded = {
            f"{s}.{key}": v for s, values in parameters.items() for key, v in values.items()
        }
        evidence = OptionalInputs(
            {month: _crawled(home, month, scratch) for month, home in homes.items()},
            {
                kind: {m: _table(home, m, kind) for m, home in homes.items()}
                for kind in OPTIONAL_TABLES
            },
            DocumentParameters(**parameters["documents"]),
            dict.fromkeys(MONTHS, recorded),
        )
        params = ChangeParameters()
        series, _ = compare_snapshots(
            scratch / "maps",
            main,
            params,
            limits.with_scratch_folder("pair"),
            NoProgress(),
            evidence,
        )
        return list(read_pair_drift(series.pair_drift[MONTHS])["checks"])


def read_records(content: bytes, types: Mapping[str, type]) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON lines that have all fields that changes touch, of their type.

    The simulation writes some damaged records, which the stages reject.
    """
    for line in gzip.decompress(content).splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and _is_wellformed(record, types):
            yield record


def _is_wellformed(record: dict[str, Any], types: Mapping[str, type]) -> bool:
    items = {"clicks": int, "results": str}
    return all(isinstance(record.get(name), kind) for name, kind in types.items()) and all(
        isinstance(value, kind) for name, kind in items.items() for value in record.get(name, [])
    )


def _table(version: Path, month: str, name: str) -> Table:
    return table_at(version / "snapshots" / month, name, TABLES[name])


def _crawled(version: Path, month: str, folder: Path) -> Table:
    path = folder / f"crawled-{month}.parquet"
    held = pl.read_parquet(version / "documents_map.parquet")
    crawled = held.filter(pl.col("crawled").list.contains(month))
    crawled.select(id_to_key("doc_id").alias("doc")).write_parquet(path)
    return Table((path,), Pages)


def _shifted(qrels: Table, folder: Path) -> Table:
    """Judgements attached to the query after the one that they were made for."""
    rows = qrels.scan().collect()
    ids = rows["query_id"].unique().sort().to_list()
    following = dict(zip(ids, [*ids[1:], ids[0]], strict=True))
    moved = rows.with_columns(pl.col("query_id").replace_strict(following))
    path = folder / "shifted.parquet"
    write_frame(moved.sort("query_id", "doc_id"), path, Qrels)
    return Table((path,), Qrels)
