"""Checks on tables: contracts, keys, order, and row counts of the manifest."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.collection import layout
from builder.collection.checks.finding import Check
from builder.collection.read import Collection
from builder.stage import CONTRACTS
from builder.tables import arrow_schema
from schemas import Contract

Found = tuple[str, str, int, tuple[str, ...]]
REBUILD = "rebuild the version from its definition"


def published_tables(
    collection: Collection,
) -> Iterator[tuple[str, type[Contract], tuple[Path, ...]]]:
    """Every table of a version: its path in the layout, contract, and the parts that are there."""
    for name, place in {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}.items():
        yield place, CONTRACTS[name], _parts(collection.path / place)
    for snapshot in collection.snapshots:
        folder = layout.snapshot_folder(collection.path, snapshot)
        for name, place in {**layout.SNAPSHOT_TABLES, "rejects": "rejects"}.items():
            where = f"snapshots/{snapshot}/{place}"
            yield where, CONTRACTS[name], _parts(folder / place)


def _parts(path: Path) -> tuple[Path, ...]:
    single = path.with_suffix(".parquet")
    return (single,) if single.is_file() else tuple(sorted(path.glob("part-*.parquet")))


def _columns(path: Path) -> pa.Schema | str:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        return str(error).splitlines()[0]


def readable_tables(
    collection: Collection,
) -> Iterator[tuple[str, type[Contract], tuple[Path, ...]]]:
    """Tables whose every part can be opened and has the columns of the contract."""
    for where, contract, paths in published_tables(collection):
        expected = arrow_schema(contract)
        if paths and all(_columns(path) == expected for path in paths):
            yield where, contract, paths


def _contract(collection: Collection) -> Iterator[Found]:
    for where, contract, paths in published_tables(collection):
        if not paths:
            yield where, f"the table is missing ({contract.__name__})", 1, ()
        for path in paths:
            found = _columns(path)
            if isinstance(found, str):
                yield where, f"{path.name} cannot be read: {found}", 1, ()
            elif found != arrow_schema(contract):
                message = f"columns of {path.name} differ from {contract.signature()}"
                yield where, message, 1, tuple(f"{f.name}: {f.type}" for f in found)[:3]


def _rules(collection: Collection) -> Iterator[Found]:
    for where, contract, paths in readable_tables(collection):
        for path in paths:
            for group in _row_groups(path):
                counts = contract.filter(group, cast=True)[1].counts()
                for rule, count in sorted(counts.items()):
                    if rule != "primary_key":
                        yield where, f"rows of {path.name} break the rule {rule}", count, ()


def _row_groups(path: Path) -> Iterator[pl.DataFrame]:
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            frame = pl.from_arrow(file.read_row_group(number))
            if isinstance(frame, pl.DataFrame):
                yield frame


def _keys(collection: Collection) -> Iterator[Found]:
    for where, contract, paths in readable_tables(collection):
        key = contract.primary_key()
        if not key:
            continue
        repeated = (
            pl.scan_parquet(list(paths))
            .group_by(key)
            .len()
            .filter(pl.col("len") > 1)
            .sort(key)
            .collect(engine="streaming")
        )
        if repeated.height:
            examples = tuple(" ".join(map(str, row[:-1])) for row in repeated.head(3).iter_rows())
            message = f"rows share one key ({', '.join(key)})"
            yield where, message, int(repeated["len"].sum()), examples


def _order(collection: Collection) -> Iterator[Found]:
    for where, contract, paths in readable_tables(collection):
        key = list(contract.sort_key())
        frame = pl.scan_parquet(list(paths)).select(key).collect(engine="streaming")
        if not frame.equals(frame.sort(key, maintain_order=True)):
            yield where, f"rows are not in the order of {', '.join(key)}", 1, ()


def _counts(collection: Collection) -> Iterator[Found]:
    rows = {where: paths for where, _, paths in readable_tables(collection)}
    for where, entry in sorted(collection.manifest["tables"].items()):
        if where in rows:
            found = sum(pq.read_metadata(path).num_rows for path in rows[where])
            if found != entry["rows"]:
                yield where, f"the manifest says {entry['rows']} rows, found {found}", 1, ()


CHECKS = (
    Check("LB101", "tables have the columns of their contract", "error", REBUILD, _contract),
    Check("LB102", "rows keep the rules of their contract", "error", REBUILD, _rules),
    Check("LB103", "keys are unique", "error", REBUILD, _keys),
    Check("LB104", "rows are in order", "error", REBUILD, _order),
    Check("LB105", "row counts are those of the manifest", "error", REBUILD, _counts),
)
