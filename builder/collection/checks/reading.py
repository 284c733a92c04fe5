"""What validation knows of a collection: every table read once, row group by row group.

In: a published version. Out: for each table its facts (rows, broken rules, order, repeated keys,
what its texts hold), and its small columns as lazy frames. Texts are looked at in the same pass
and not kept.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.collection import layout
from builder.collection.checks.texts import LOOKED_AT, TEXT_FAULTS, Faults
from builder.collection.read import Collection
from builder.io import parquet
from builder.io.tables import Table, arrow_schema, table_at
from builder.runtime.executors import ordered_map
from builder.runtime.limits import usable_cores
from builder.runtime.stage import CONTRACTS
from schemas import RELEASED, Contract

KEYS_SHOWN = 3


@dataclass
class Facts:
    """What a pass over a table found.

    Args:
        contract: Its contract.
        paths: Its parts that are there.
        problems: Parts that cannot be read or have other columns: message and examples.
        rows: Rows of its readable parts.
        rules: Rows that break each rule of the contract, by part and rule.
        in_order: Whether rows are in the order of the key.
        repeated: Rows that share their key with another one, and the first such keys.
        faults: Rows with each fault of their texts, and the first keys.
    """

    contract: type[Contract]
    paths: tuple[Path, ...]
    problems: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    rows: int = 0
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)
    in_order: bool = True
    repeated: tuple[int, tuple[str, ...]] = (0, ())
    faults: Faults = field(default_factory=Faults)

    @property
    def is_readable(self) -> bool:
        """Whether it is there and every part has the columns of the contract."""
        return bool(self.paths) and not self.problems


class Reading:
    """A collection under validation."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.manifest = collection.manifest

    @property
    def is_imported(self) -> bool:
        """Whether the collection is a release that was imported."""
        return "imported" in self.manifest["definition"]

    @property
    def has_documents(self) -> bool:
        """Whether it holds documents; releases may come without."""
        return bool(self.manifest["definition"].get("imported", {}).get("documents", True))

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """Facts of every table that belongs to the collection, by its path in the layout."""
        return {
            where: _examine(Facts(table.contract, table.paths), where)
            for where, table in self._tables()
        }

    def _tables(self) -> Iterator[tuple[str, Table]]:
        expected = self.manifest["tables"] if self.is_imported else None
        contracts = {**CONTRACTS, **(RELEASED if self.is_imported else {})}
        collection = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
        found = [(place, self.collection.path, place, name) for name, place in collection.items()]
        for snapshot in self.collection.snapshots:
            folder = layout.snapshot_folder(self.collection.path, snapshot)
            tables = {**layout.SNAPSHOT_TABLES, "rejects": "rejects"}
            tables |= layout.RELEASE_TABLES if self.is_imported else {}
            found += [
                (f"snapshots/{snapshot}/{place}", folder, place, name)
                for name, place in tables.items()
            ]
        for where, folder, place, name in found:
            table = table_at(folder, place, contracts[name])
            if expected is None or where in expected or table.paths:
                yield where, table

    def scan(self, where: str) -> pl.LazyFrame | None:
        """A readable table as a lazy frame, or None."""
        facts = self.facts.get(where)
        return parquet.scan(*facts.paths) if facts and facts.is_readable else None

    def snapshots(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        """Snapshots of which all these tables can be read: name and, for each, a lazy frame."""
        for name in self.collection.snapshots:
            frames = [self.scan(f"snapshots/{name}/{kind}") for kind in kinds]
            if all(frame is not None for frame in frames):
                yield name, frames[0] if len(frames) == 1 else tuple(frames)

    def keyed(self, rows: pl.LazyFrame, snapshot: str, column: str) -> pl.LazyFrame:
        """Rows of a snapshot under the keys by which an imported release is aligned."""
        ids = self.scan(f"snapshots/{snapshot}/release_ids") if self.is_imported else None
        if ids is None:
            return rows
        kind = {"doc_id": "document", "query_id": "query"}[column]
        keys = ids.filter(kind=kind).select("key", pl.col("id").alias(column))
        return rows.join(keys, on=column).drop(column).rename({"key": column})


def _examine(facts: Facts, where: str) -> Facts:
    """Fill in the facts of a table."""
    expected = arrow_schema(facts.contract)
    for path in facts.paths:
        found = _columns(path)
        if isinstance(found, str):
            facts.problems.append((f"{path.name} cannot be read: {found}", ()))
        elif found != expected:
            columns = tuple(f"{f.name}: {f.type}" for f in found)[:KEYS_SHOWN]
            message = f"columns of {path.name} differ from {facts.contract.signature()}"
            facts.problems.append((message, columns))
    if facts.is_readable:
        try:
            _pass(facts, _text_faults(where))
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            facts.problems.append((f"a part cannot be read: {str(error).splitlines()[0]}", ()))
    return facts


def _text_faults(where: str) -> dict[str, pl.Expr]:
    """What the texts of a table are looked through for."""
    room, _, name = where.rpartition("/")
    return TEXT_FAULTS.get(name, {}) if room.startswith("snapshots/") else {}


def _columns(path: Path) -> pa.Schema | str:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        return str(error).splitlines()[0]


@dataclass(frozen=True)
class _Group:
    """What one row group holds: its part, rows, broken rules, keys and faults."""

    part: str
    rows: int
    rules: dict[str, int]
    keys: pl.DataFrame
    faults: Faults


def _pass(facts: Facts, text_faults: dict[str, pl.Expr]) -> None:
    """Look at every row group once, several at a time."""
    key = list(facts.contract.sort_key())
    total = sum(pq.read_metadata(path).num_rows for path in facts.paths)
    stride = max(1, total // LOOKED_AT)

    def look(place: tuple[Path, int]) -> _Group:
        path, number = place
        with pq.ParquetFile(path) as file:
            rows = pl.DataFrame(file.read_row_group(number))
        rules = facts.contract.filter(rows, cast=True)[1].counts()
        rules.pop("primary_key", None)
        faults = Faults()
        faults.add(rows, text_faults, key, stride)
        return _Group(path.name, rows.height, rules, rows.select(key), faults)

    before: pl.DataFrame | None = None
    for group in ordered_map(look, _places(facts.paths), usable_cores()):
        facts.rows += group.rows
        for rule, count in group.rules.items():
            facts.rules[group.part, rule] += count
        keys = group.keys if before is None else pl.concat([before, group.keys])
        facts.in_order &= keys.equals(keys.sort(key, maintain_order=True))
        before = keys.tail(1)
        facts.faults.merge(group.faults)
    if facts.contract.primary_key():
        facts.repeated = _repeated(facts, facts.contract.primary_key())


def _places(paths: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    """Every row group of every part."""
    for path in paths:
        yield from ((path, number) for number in range(pq.read_metadata(path).num_row_groups))


def _repeated(facts: Facts, key: list[str]) -> tuple[int, tuple[str, ...]]:
    """Rows that share a key; of a table in order, by comparing neighbours alone."""
    keys = parquet.scan(*facts.paths).select(key)
    if facts.in_order:
        same = pl.struct(key).eq_missing(pl.struct(key).shift(1)) & (pl.int_range(pl.len()) > 0)
        twins = same | same.shift(-1, fill_value=False)
        found = keys.filter(twins).collect()
    else:
        found = keys.filter(pl.struct(key).is_duplicated()).collect()
    rows = found.unique(maintain_order=True).sort(key).head(KEYS_SHOWN).iter_rows()
    return found.height, tuple(" ".join(map(str, row)) for row in rows)
