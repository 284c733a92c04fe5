"""Croissant 1.0 metadata (JSON-LD, MLCommons) of the tables of a collection.

In: a folder with Parquet files, what made them, and which files are which table. Out:
`croissant.json`: every file by sha256, every column by name, type and meaning, from the contracts.
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.collection.card import described
from builder.runtime.publisher import canonical_json, sha256
from schemas import TABLES, Contract

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


def write_croissant(folder: Path, made_from: dict[str, Any], files: dict[str, list[str]]) -> None:
    """Write the metadata of a folder.

    Args:
        folder: Where the files lie.
        made_from: The definition in a manifest: `collection`, `snapshots`.
        files: Paths of the parts of each table of a snapshot, by `<table> <snapshot>`.
    """
    collection = made_from["collection"]
    metadata = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": collection["name"],
        "version": collection["version"],
        "description": described(made_from),
        "conformsTo": SPECIFICATION,
        "license": collection["licence"],
        "citeAs": collection["citation"] or f"{collection['name']} {collection['version']}",
        "url": collection["url"] or f"urn:longeval:{collection['name']}:{collection['version']}",
        "datePublished": str(made_from["snapshots"][-1]["end"])[:10],
        "distribution": [_file(folder, path) for paths in files.values() for path in paths],
        "recordSet": [
            _records(table, path, place, len(paths))
            for table, paths in files.items()
            for place, path in enumerate(paths)
        ],
    }
    (folder / CROISSANT).write_text(canonical_json(metadata), encoding="utf-8")


def _file(folder: Path, path: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "contentSize": f"{(folder / path).stat().st_size} B",
        "sha256": sha256(folder / path),
    }


def _records(table: str, path: str, place: int, parts: int) -> dict[str, Any]:
    """The record set of one file; those of a table in several parts are numbered."""
    name, _, snapshot = table.partition(" ")
    contract = TABLES[name]
    suffix = f"_{place:05d}" if parts > 1 else ""
    identity = f"{name}_{snapshot.replace('-', '_')}{suffix}"
    return {
        "@type": "cr:RecordSet",
        "@id": identity,
        "name": identity,
        "description": f"{(contract.__doc__ or '').strip()} Snapshot {snapshot}.",
        "key": [{"@id": f"{identity}/{column}"} for column in contract.primary_key()],
        "field": [_field(identity, path, contract, column) for column in contract.columns()],
    }


def _field(identity: str, path: str, contract: type[Contract], column: str) -> dict[str, Any]:
    kind = contract.dtypes()[column]
    inner = kind.inner if isinstance(kind, pl.List) else kind
    return {
        "@type": "cr:Field",
        "@id": f"{identity}/{column}",
        "name": column,
        "description": contract.columns()[column].description or column,
        "dataType": _type(inner),
        "repeated": isinstance(kind, pl.List),
        "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
    }


def _type(kind: Any) -> str:
    if kind.is_integer():
        return "sc:Integer"
    if kind.is_float():
        return "sc:Float"
    return "sc:Boolean" if kind == pl.Boolean else "sc:Text"
