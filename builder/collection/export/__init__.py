"""Exports a published collection in formats that other tools can load.

Every export also contains `SHA256SUMS` and `longeval-export.json`, which records what was
exported, how markup was escaped, which data the file layout cannot represent, and how many queries
and documents were omitted because they have no text in an exported language.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.collection.export import huggingface, longeval_2023, longeval_sci, longeval_web, markup
from builder.collection.export.omitted import OmittedRowCounts, count_omitted_rows
from builder.collection.export.source import SnapshotTables
from builder.collection.export.trec import write_trec
from builder.collection.files import checksum_lines, find_changed_table_files
from builder.collection.read import Collection, open_collection
from builder.errors import FormatError, UsageError, suggest
from builder.io.disk import reraise_as_user_errors
from builder.parameters import ExportParameters
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import PARTIAL, canonical_json, publish_folder, temporary_folder

METADATA = "longeval-export.json"
Writer = Callable[[Collection, Path, Mapping[str, str], int, Progress], None]


def _export_trec(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    for name in collection.snapshots:
        tables = SnapshotTables(collection, name)
        inputs = (tables.documents, tables.queries, tables.qrels)
        write_trec(out / name, *inputs, languages, max_bytes, progress)


TREC_OMITTED = (
    "titles (exported as the first line of the text)",
    "fetch times, the query split, topics, click evidence, query variants and flags",
)


@dataclass(frozen=True)
class Layout:
    """Layout of an export: its folders and file formats.

    Args:
        write: Function that writes a collection in this layout.
        omitted: Description of each kind of data that the layout cannot represent.
    """

    write: Writer
    omitted: tuple[str, ...]


LAYOUTS = {
    "trec": Layout(_export_trec, TREC_OMITTED),
    "longeval-2023": Layout(longeval_2023.export_longeval_2023, longeval_2023.OMITTED),
    "longeval-web": Layout(longeval_web.export_longeval_web, longeval_web.OMITTED),
    "longeval-sci": Layout(longeval_sci.export_longeval_sci, longeval_sci.OMITTED),
    "huggingface": Layout(huggingface.export_huggingface, huggingface.OMITTED),
}


def export(
    collection: Path | str,
    layout: str,
    out: Path | str,
    *,
    languages: tuple[str, ...] = (),
    max_file_bytes: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Export a published collection to a folder.

    Args:
        collection: Folder of a version, or a parent folder of it.
        layout: Name of the layout, one of `LAYOUTS`.
        out: Output folder; must be empty or not exist.
        languages: Language codes to export, such as `fr`; default: all languages of the
            collection.
        max_file_bytes: Size in bytes at which a new document file is started; default:
            `ExportParameters.max_file_bytes`.
        progress: Progress display; default: none.

    Returns:
        The output folder.

    Raises:
        UsageError: The layout or a language is unknown; the output folder is not empty, is in the
            version folder, or contains the current folder; the size of files is below 1; or only
            some of the languages are to be exported as `huggingface`.
        FormatError: A file of an exported table differs from the manifest.
        DataError: The layout does not support this collection, or a snapshot has queries or
            documents, but none in the exported languages.
    """
    opened, target = open_collection(collection), Path(out)
    size = ExportParameters().max_file_bytes if max_file_bytes is None else max_file_bytes
    if size < 1:
        raise UsageError(f"--file-size: expected a size of at least 1 byte, found {size}")
    if layout not in LAYOUTS:
        raise UsageError(f"unknown layout {layout!r}; {suggest(layout, LAYOUTS)}")
    resolved = target.resolve()
    if Path.cwd().is_relative_to(resolved) or resolved.is_relative_to(opened.path.resolve()):
        raise UsageError(
            f"{out}: cannot export to the current folder, to a parent of it, or into a version "
            "folder; pass a new folder as --out"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            f"{target}: expected a new or empty folder, found existing files; "
            "pass another folder as --out or empty this one"
        )
    chosen = _select_languages(opened, layout, languages)
    partial = target.with_name(target.name + PARTIAL)
    _check_table_files_unchanged(opened)
    meter = progress or NoProgress()
    meter.start(f"export {layout}", None, "documents")
    try:
        with reraise_as_user_errors(f"the export as {layout}", partial), temporary_folder(partial):
            omitted = {} if layout == "huggingface" else count_omitted_rows(opened, chosen)
            LAYOUTS[layout].write(opened, partial, chosen, size, meter)
            _write_metadata(opened, layout, chosen, omitted, partial)
            if target.exists():
                target.rmdir()
            publish_folder(partial, target)
    finally:
        meter.finish()
    return target


def _check_table_files_unchanged(collection: Collection) -> None:
    """Raise an error if a file of an exported table differs from the manifest.

    Raises:
        FormatError: A file is missing, was changed, or is not listed in the manifest.
    """
    tables = [
        f"snapshots/{snapshot}/{name}"
        for snapshot in collection.snapshots
        for name in huggingface.SNAPSHOT_TABLES
    ]
    for table in (*huggingface.COLLECTION_TABLES, *tables):
        for name, change in find_changed_table_files(
            collection.path, collection.manifest["files"], table
        ).items():
            raise FormatError(
                f"expected the published file, but {change.description}; restore the version, then "
                f"check it with: longeval validate {collection.path}",
                collection.path / name,
            )


def read_omitted_row_counts(folder: Path) -> OmittedRowCounts:
    """Return the numbers of omitted queries and documents that an export has recorded."""
    omitted: OmittedRowCounts = json.loads((folder / METADATA).read_text("utf-8"))["omitted"]
    return omitted


def _select_languages(
    collection: Collection, layout: str, requested: tuple[str, ...]
) -> dict[str, str]:
    available = collection.languages
    missing = sorted({*requested} - {*available})
    if missing:
        raise UsageError(
            f"{collection.path}: no texts in {', '.join(missing)}; available languages: "
            f"{', '.join(available)}. Omit --language, or set `translate.model` and rebuild"
        )
    chosen = {
        name: suffix for name, suffix in available.items() if not requested or name in requested
    }
    if layout == "huggingface" and chosen != available:
        raise UsageError(
            "--language cannot be used with --layout huggingface, which exports all languages "
            f"({', '.join(available)}); omit --language, or choose another --layout"
        )
    return longeval_sci.select_language(chosen) if layout == "longeval-sci" else chosen


def _write_metadata(
    collection: Collection,
    layout: str,
    languages: Mapping[str, str],
    omitted: OmittedRowCounts,
    folder: Path,
) -> None:
    description = {
        "collection": collection.signature,
        "layout": layout,
        "snapshots": list(collection.snapshots),
        "languages": list(languages),
        "markup": markup.NOT_ESCAPED
        if layout in ("huggingface", "longeval-sci")
        else markup.ESCAPING_RULE,
        "lost": list(LAYOUTS[layout].omitted),
        "omitted": omitted,
    }
    (folder / METADATA).write_text(canonical_json(description), encoding="utf-8")
    (folder / "SHA256SUMS").write_text(checksum_lines(folder), encoding="utf-8")
