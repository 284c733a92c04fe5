"""A published collection in the layouts that the field's tools load.

Every export also holds `longeval-export.json`, which says what was exported, how markup was
escaped and what the layout cannot hold, and `SHA256SUMS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.collection.export import huggingface, longeval_2023, longeval_sci, longeval_web, markup
from builder.collection.export.source import SnapshotTables
from builder.collection.export.trec import write_trec
from builder.collection.files import sum_lines
from builder.collection.read import Collection, open_collection
from builder.errors import UsageError, meant
from builder.io.disk import explain_errors
from builder.parameters import ExportParameters
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import PARTIAL, canonical_json, private_folder, publish

DESCRIPTION = "longeval-export.json"
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
        parts = (tables.documents, tables.queries, tables.qrels)
        write_trec(out / name, *parts, languages, max_bytes, progress)


@dataclass(frozen=True)
class Layout:
    """A way to lay out a collection.

    Args:
        write: Writes one.
        lost: What it cannot hold.
    """

    write: Writer
    lost: tuple[str, ...]


LAYOUTS = {
    "trec": Layout(_export_trec, longeval_web.LOST),
    "longeval-2023": Layout(longeval_2023.export_longeval_2023, longeval_2023.LOST),
    "longeval-web": Layout(longeval_web.export_longeval_web, longeval_web.LOST),
    "longeval-sci": Layout(longeval_sci.export_longeval_sci, longeval_sci.LOST),
    "huggingface": Layout(huggingface.export_huggingface, huggingface.LOST),
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
    """Export a collection.

    Args:
        collection: A version folder, or one above it.
        layout: One of `LAYOUTS`.
        out: A folder that does not exist yet, or an empty one.
        languages: Such as `fr`, `en`; default: all that the collection has.
        max_file_bytes: A file of documents ends with the one that fills it.
        progress: Where progress goes.

    Returns:
        The folder.

    Raises:
        UsageError: no such layout or language, or the folder is not empty.
        DataError: the layout cannot hold the collection.
    """
    opened, target = open_collection(collection), Path(out)
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}; {meant(layout, LAYOUTS)}")
    place = target.resolve()
    if Path.cwd().is_relative_to(place) or place.is_relative_to(opened.path.resolve()):
        raise UsageError(
            f"{out}: an export is a folder of its own, not the one that you are in, one above it, "
            "or one inside a version; give a new folder as --out"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            f"{target}: expected an empty or new folder, found something in it; "
            "give another --out, or empty it"
        )
    chosen = _languages(opened, languages)
    partial = target.with_name(target.name + PARTIAL)
    meter = progress or NoProgress()
    meter.start(f"export {layout}", None, "documents")
    size = max_file_bytes or ExportParameters().max_file_bytes
    try:
        with explain_errors(f"the export as {layout}", partial), private_folder(partial):
            LAYOUTS[layout].write(opened, partial, chosen, size, meter)
            _describe(opened, layout, chosen, partial)
            if target.exists():
                target.rmdir()
            publish(partial, target)
    finally:
        meter.finish()
    return target


def _languages(collection: Collection, asked: tuple[str, ...]) -> dict[str, str]:
    has = collection.languages
    missing = sorted({*asked} - {*has})
    if missing:
        raise UsageError(
            f"{collection.path}: the collection is in {', '.join(has)}, not in "
            f"{', '.join(missing)}; leave --language out, or build it with [translate] model"
        )
    return {name: suffix for name, suffix in has.items() if not asked or name in asked}


def _describe(
    collection: Collection, layout: str, languages: Mapping[str, str], folder: Path
) -> None:
    described = {
        "collection": collection.signature,
        "layout": layout,
        "snapshots": list(collection.snapshots),
        "languages": list(languages),
        "markup": markup.RULE if layout not in ("huggingface", "longeval-sci") else "none",
        "lost": list(LAYOUTS[layout].lost),
    }
    (folder / DESCRIPTION).write_text(canonical_json(described), encoding="utf-8")
    (folder / "SHA256SUMS").write_text(sum_lines(folder), encoding="utf-8")
