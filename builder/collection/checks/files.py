"""Checks that a version contains exactly the files that its manifest lists, unchanged."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.croissant import CROISSANT
from builder.collection.files import (
    CONVERTED,
    KEEP_LINE_ENDINGS,
    REBUILD,
    find_changed_files,
    hash_with_unix_line_endings,
)
from builder.collection.layout import CARD, DRIFT, REPORT
from builder.collection.manifest import METADATA_HASH, collection_signature, metadata_hash
from builder.runtime.publisher import MANIFEST, SUMS, sha256

DESCRIPTIONS = frozenset({CARD, CROISSANT, DRIFT, REPORT})
"""Files that describe a version; every version must have them."""


def _read_checksums(root: Path) -> set[tuple[str, str]]:
    """Return the (file, digest) pairs of all lines of `SHA256SUMS`."""
    path = root / SUMS
    if not path.is_file():
        return set()
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return {(name, digest) for digest, _, name in (line.partition("  ") for line in lines)}


def _list_files(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


def _list_expected_files(context: ValidationContext) -> set[str]:
    return {*context.manifest["files"], MANIFEST, SUMS}


def _find_missing_files(context: ValidationContext) -> Iterator[Defect]:
    for name in sorted(_list_expected_files(context) - _list_files(context.collection.path)):
        yield name, "the file is listed in the manifest but does not exist", 1, ()
    for name in sorted(DESCRIPTIONS - context.manifest["files"].keys()):
        yield name, "every version has this file, but the manifest does not list it", 1, ()


def _find_unlisted_files(context: ValidationContext) -> Iterator[Defect]:
    for name in sorted(_list_files(context.collection.path) - _list_expected_files(context)):
        yield name, "the file is not listed in the manifest", 1, ()
    tables = {path for _, table in context.list_tables() for path in table.paths}
    for name in sorted(context.manifest["files"].keys() - DESCRIPTIONS):
        path = context.collection.path / name
        if path not in tables and path.is_file() and not _is_trec_file(context, name):
            message = "the manifest lists the file, but it is neither a table nor a TREC export of "
            yield name, f"{message}a snapshot in the definition", 1, ()
    for path in sorted(context.collection.path.rglob("*")):
        if path.is_symlink():
            name = path.relative_to(context.collection.path).as_posix()
            yield name, "the path is a symbolic link; expected a regular file", 1, ()


def _is_trec_file(context: ValidationContext, name: str) -> bool:
    return any(name.startswith(f"trec/{snapshot}/") for snapshot in context.collection.snapshots)


def _find_changed_files(context: ValidationContext) -> Iterator[Defect]:
    """Report files that differ from the manifest, except missing files, which LB001 reports."""
    changed = find_changed_files(context.collection.path, context.manifest["files"])
    for name, change in changed.items():
        if (context.collection.path / name).is_file():
            yield name, change.description, 1, (), change.fix


def _find_checksum_mismatches(context: ValidationContext) -> Iterator[Defect]:
    sums = _read_checksums(context.collection.path)
    expected = {name: e["sha256"] for name, e in context.manifest["files"].items()}
    manifest = context.collection.path / MANIFEST
    expected[MANIFEST] = hash_with_unix_line_endings(manifest)
    if sha256(manifest) != expected[MANIFEST]:
        yield MANIFEST, CONVERTED, 1, (), KEEP_LINE_ENDINGS
    wrong = sorted({name for name, _ in sums ^ {*expected.items()}})
    if wrong:
        yield SUMS, f"checksums in {SUMS} differ from {MANIFEST}", len(wrong), tuple(wrong[:3])
    yield from _find_signature_mismatches(context.manifest)


def _find_signature_mismatches(manifest: Mapping[str, Any]) -> Iterator[Defect]:
    """Yield entries (name, version, signature, hash) that do not follow from the manifest."""
    definition, tables = manifest["definition"], manifest["tables"]
    for key in ("name", "version"):
        if manifest[key] != definition["collection"].get(key):
            expected = definition["collection"].get(key)
            message = f"the {key} is {manifest[key]!r}, but the definition has {expected!r}"
            yield MANIFEST, message, 1, ()
            return
    if any("content" not in entry for entry in tables.values()):
        yield MANIFEST, "content hashes of tables are missing", 1, ()
        return
    builder_version = str(manifest["tools"].get("longeval-builder"))
    if manifest["signature"] != collection_signature(definition, tables, builder_version):
        message = "the hashes in the signature do not match the definition and the tables"
        yield MANIFEST, message, 1, ()
    elif manifest.get(METADATA_HASH, expected_hash := metadata_hash(manifest)) != expected_hash:
        message = f"the hash `{METADATA_HASH}` does not match the entries other than `files`"
        yield MANIFEST, message, 1, ()


CHECKS = (
    Check(
        "LB001",
        "all files listed in the manifest exist",
        "error",
        "an interrupted download or copy",
        REBUILD,
        _find_missing_files,
    ),
    Check(
        "LB002",
        "all files are listed in the manifest",
        "error",
        "notes, caches and old exports distributed with a collection",
        "remove the file, or build a new version",
        _find_unlisted_files,
    ),
    Check(
        "LB003",
        "files are unchanged",
        "error",
        "published files that were changed after papers had cited them",
        REBUILD,
        _find_changed_files,
    ),
    Check(
        "LB004",
        "the manifest is unchanged",
        "error",
        "published metadata with counts that do not match the files",
        REBUILD,
        _find_checksum_mismatches,
    ),
)
