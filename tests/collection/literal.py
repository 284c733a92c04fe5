"""Versions of a few literal rows, for functions that read a version, and what checks say of them.

Columns that a row does not name are null, 0, false or empty, so that a test names only the columns
that matter. Tables that a version does not name have no file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builder import __version__
from builder.collection.checks import CHECKS, ValidationContext
from builder.collection.read import Collection
from builder.io.tables import TableWriter
from builder.runtime.publisher import describe_files
from builder.runtime.stage import SCHEMAS
from schemas import RELEASED, TableSchema

Row = Mapping[str, Any]
Found = tuple[str, str, int, tuple[str, ...]]
"""File or table, message, number of affected rows or files, and examples."""
JUNE, JULY, AUGUST = "snapshots/2022-06", "snapshots/2022-07", "snapshots/2022-08"
CURRENT = {"longeval-builder": __version__}
INTERVALS = {
    "2022-06": ("2022-06-01", "2022-07-01"),
    "2022-07": ("2022-07-01", "2022-08-01"),
    "2022-08": ("2022-08-01", "2022-09-01"),
}
CHANGES = {
    "documents": "document_changes",
    "queries": "query_changes",
    "qrels": "qrel_changes",
}


def write_rows(path: Path, schema: type[TableSchema], rows: Sequence[Row]) -> None:
    """Write a table with these rows, in this order."""
    columns = schema.columns()
    filled = [
        {name: row.get(name, _empty(column)) for name, column in columns.items()} for row in rows
    ]
    with TableWriter(path, schema) as writer:
        writer.append(pl.DataFrame(filled, schema=schema.dtypes(), strict=False))


def _empty(column: Any) -> Any:
    if column.nullable:
        return None
    if isinstance(column.dtype, pl.List):
        return []
    return {pl.String: "", pl.Boolean: False}.get(type(column.dtype), 0)


def write_version(
    folder: Path,
    tables: Mapping[str, Sequence[Row]],
    /,
    *,
    snapshots: Sequence[str] = ("2022-06", "2022-07"),
    imported: Row | None = None,
    languages: Sequence[str] = ("fr",),
    parameters: Mapping[str, Row] | None = None,
    **entries: Any,
) -> Collection:
    """Write a version; `entries` replace entries of its manifest."""
    definition: dict[str, Any] = {
        "collection": {"name": "tiny", "version": "0.1.0", "languages": list(languages)},
        "snapshots": [
            {"name": name, "start": INTERVALS[name][0], "end": INTERVALS[name][1]}
            for name in snapshots
        ],
        "parameters": parameters or {},
    }
    if imported is not None:
        definition["imported"] = {"layout": "longeval-web", **imported}
    for path, rows in tables.items():
        home, _, short = path.rpartition("/")
        name = CHANGES[short] if home == "changes" else short
        schemas = {**SCHEMAS, **(RELEASED if imported is not None else {})}
        in_parts = home.startswith("snapshots/") and short in ("documents", "sentences")
        suffix = "/part-00000.parquet" if in_parts else ".parquet"
        write_rows(folder / f"{path}{suffix}", schemas[name], rows)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "name": "tiny",
        "version": "0.1.0",
        "signature": "tiny 0.1.0",
        "definition": definition,
        "files": describe_files(folder),
        "tables": {},
        "units": {},
        "tools": {},
        **entries,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return Collection(folder)


def entry(data: bytes) -> dict[str, Any]:
    """What a manifest says of a file."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def find(check: str, version: Collection) -> list[Found]:
    """What a check says of a version."""
    (chosen,) = (each for each in CHECKS if each.id == check)
    findings = chosen.run(ValidationContext(version))
    return [(f.where, f.message, f.count, f.examples) for f in findings]
