"""How a published collection changes: between all neighbours, or between any two snapshots.

In: a version folder. Out: the content of `drift.json`, as published, or measured anew for two
snapshots that are no neighbours, from the tables of the version.
"""

from pathlib import Path
from typing import Any

import orjson
import polars as pl

from builder.collection import layout
from builder.collection.read import Collection, open_collection
from builder.drift import FORMAT, OptionalInputs, compare_snapshots, measure_series, select_pair
from builder.drift.pair_drift import OPTIONAL_TABLES
from builder.errors import FormatError, UsageError, meant
from builder.io.tables import Table, table_at
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.text.keys import id_to_key
from schemas import TABLES, Pages

MAIN = ("documents", "queries", "qrels")


def drift_of(
    path: Path, start: str | None, end: str | None, limits: Limits, progress: Progress
) -> dict[str, Any]:
    """How a collection changes.

    Args:
        path: A version folder, or one above it.
        start: Earlier snapshot; None: the first, where a later one is named.
        end: Later snapshot; None: the last, where an earlier one is named.
        limits: Memory, threads, scratch space.
        progress: Reports the documents that are compared.

    Raises:
        UsageError: the version has no `drift.json` or no such snapshot, or `end` is not later.
        FormatError: `drift.json` cannot be read.
    """
    collection = open_collection(path)
    measured = _published(collection.path / "drift.json")
    if start is None and end is None:
        return measured
    names = collection.snapshots
    pair = (_known(start or names[0], names), _known(end or names[-1], names))
    first, second = (names.index(name) for name in pair)
    if first >= second:
        raise UsageError(f"expected a snapshot before and a later one, found {' and '.join(pair)}")
    if second == first + 1:
        return select_pair(measured, pair)
    return _measure(collection, pair, limits, progress)


def _published(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UsageError(f"{path}: no such file; build the collection again")
    try:
        found = orjson.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FormatError(f"expected JSON ({error}); build the collection again", path) from None
    written = found.get("format") if isinstance(found, dict) else None
    if written != FORMAT:
        raise FormatError(f"expected {FORMAT}, found {written}; build the collection again", path)
    return dict(found)


def _known(name: str, names: tuple[str, ...]) -> str:
    if name not in names:
        raise UsageError(f"no snapshot {name!r}; {meant(name, names)}")
    return name


def _measure(
    collection: Collection, pair: tuple[str, str], limits: Limits, progress: Progress
) -> dict[str, Any]:
    """Compare two snapshots as if they were neighbours."""
    out = limits.scratch / "maps"
    out.mkdir()
    main = {kind: {name: _table(collection, name, kind) for name in pair} for kind in MAIN}
    parameters = collection.manifest["definition"].get("parameters", {})
    params = ChangeParameters(**parameters.get("changes", {}))
    series, _ = compare_snapshots(
        out, main, params, limits.within("pair"), progress, _evidence(collection, pair, limits)
    )
    diagnostics = {name: _table(collection, name, "click_diagnostics") for name in pair}
    known = {name: table for name, table in diagnostics.items() if table.paths}
    return measure_series(series, params, limits.within("drift"), progress, known)


def _table(collection: Collection, snapshot: str, name: str) -> Table:
    return table_at(layout.snapshot_folder(collection.path, snapshot), name, TABLES[name])


def _evidence(collection: Collection, pair: tuple[str, str], limits: Limits) -> OptionalInputs:
    parameters = collection.manifest["definition"].get("parameters", {})
    if not parameters:
        return OptionalInputs()
    recorded = {
        f"{section}.{key}": value
        for section, values in parameters.items()
        for key, value in values.items()
    }
    return OptionalInputs(
        _crawled(collection, pair, limits.scratch),
        {kind: {name: _table(collection, name, kind) for name in pair} for kind in OPTIONAL_TABLES},
        DocumentParameters(**parameters.get("documents", {})),
        dict.fromkeys(pair, recorded),
    )


def _crawled(
    collection: Collection, pair: tuple[str, str], folder: Path
) -> dict[str, Table[Pages]]:
    """Documents of the collection found in each crawl; empty if that was not recorded."""
    held = collection.table("documents_map").select("doc_id", "crawled").collect()
    if held["crawled"].null_count():
        return {}
    found = {}
    for name in pair:
        path = folder / f"crawled-{name}.parquet"
        held.filter(pl.col("crawled").list.contains(name)).select(
            doc=id_to_key("doc_id")
        ).write_parquet(path)
        found[name] = Table((path,), Pages)
    return found
