"""Writes `croissant.json`: Croissant 1.0 metadata (JSON-LD, MLCommons) of published tables.

The file lists the SHA-256 hash of each Parquet file, and the name, type and description of each
column.
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.collection.card import describe_collection
from builder.runtime.publisher import canonical_json, sha256
from schemas import TABLES, TableSchema

CROISSANT = "croissant.json"
SPECIFICATION = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def write_croissant(
    folder: Path,
    definition: dict[str, Any],
    tables: dict[str, Any],
    files: dict[str, list[str]],
) -> None:
    """Write `croissant.json` for the Parquet files in a folder; see `croissant_metadata`."""
    metadata = croissant_metadata(folder, definition, tables, files)
    (folder / CROISSANT).write_text(canonical_json(metadata), encoding="utf-8")


def croissant_metadata(
    folder: Path,
    definition: dict[str, Any],
    tables: dict[str, Any],
    files: dict[str, list[str]],
) -> dict[str, Any]:
    """Return the Croissant metadata of the Parquet files in a folder.

    Args:
        folder: Folder with the Parquet files.
        definition: Definition as recorded in the manifest.
        tables: Manifest entry of each table, keyed by table path; `rows` is the row count.
        files: Relative paths of the files of each table, keyed by `<table> <snapshot>`.
    """
    collection = definition["collection"]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": collection["name"],
        "version": collection["version"],
        "description": describe_collection(definition, tables),
        "conformsTo": SPECIFICATION,
        "license": collection["licence"],
        "citeAs": collection["citation"] or f"{collection['name']} {collection['version']}",
        "url": collection["url"] or f"urn:longeval:{collection['name']}:{collection['version']}",
        "datePublished": str(definition["snapshots"][-1]["end"])[:10],
        "distribution": [_file_object(folder, path) for paths in files.values() for path in paths],
        "recordSet": [
            _record_set(table, path, index, len(paths))
            for table, paths in files.items()
            for index, path in enumerate(paths)
        ],
    }


def _file_object(folder: Path, path: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "contentSize": f"{(folder / path).stat().st_size} B",
        "sha256": sha256(folder / path),
    }


def _record_set(table: str, path: str, index: int, file_count: int) -> dict[str, Any]:
    """Return the Croissant record set that describes one Parquet file.

    If the table has several files, the id of the record set ends in the index of the file.

    Args:
        table: Table and snapshot, as `<table> <snapshot>`.
        path: Relative path of the file.
        index: 0-based index of the file in the table.
        file_count: Number of files of the table.
    """
    name, _, snapshot = table.partition(" ")
    schema = TABLES[name]
    suffix = f"_{index:05d}" if file_count > 1 else ""
    identity = f"{name}_{snapshot.replace('-', '_')}{suffix}"
    return {
        "@type": "cr:RecordSet",
        "@id": identity,
        "name": identity,
        "description": f"{(schema.__doc__ or '').strip()} Snapshot {snapshot}.",
        "key": [{"@id": f"{identity}/{column}"} for column in schema.primary_key()],
        "field": [_field_object(identity, path, schema, column) for column in schema.columns()],
    }


def _field_object(
    record_set_id: str, path: str, schema: type[TableSchema], column: str
) -> dict[str, Any]:
    kind = schema.dtypes()[column]
    inner = kind.inner if isinstance(kind, pl.List) else kind
    return {
        "@type": "cr:Field",
        "@id": f"{record_set_id}/{column}",
        "name": column,
        "description": schema.columns()[column].description,
        "dataType": _croissant_data_type(inner),
        "repeated": isinstance(kind, pl.List),
        "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
    }


def _croissant_data_type(dtype: Any) -> str:
    if dtype.is_integer():
        return "sc:Integer"
    if dtype.is_float():
        return "sc:Float"
    return "sc:Boolean" if dtype == pl.Boolean else "sc:Text"
