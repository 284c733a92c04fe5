"""Checks on files: everything the manifest lists is there, unchanged, and nothing else is."""

from collections.abc import Iterator
from pathlib import Path

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading
from builder.runtime.publisher import MANIFEST, SUMS, sha256

REBUILD = "rebuild the version from its definition, or fetch it again"


def _sums(root: Path) -> dict[str, str]:
    path = root / SUMS
    if not path.is_file():
        return {}
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _present(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


def _expected(reading: Reading) -> set[str]:
    return {*reading.manifest["files"], MANIFEST, SUMS}


def _missing(reading: Reading) -> Iterator[Found]:
    for name in sorted(_expected(reading) - _present(reading.collection.path)):
        yield name, "the manifest lists this file, but it is not there", 1, ()


def _unlisted(reading: Reading) -> Iterator[Found]:
    for name in sorted(_present(reading.collection.path) - _expected(reading)):
        yield name, "this file is not in the manifest", 1, ()
    for path in sorted(reading.collection.path.rglob("*")):
        if path.is_symlink():
            name = path.relative_to(reading.collection.path).as_posix()
            yield name, "this is a link to somewhere else, not a file of the version", 1, ()


def _changed(reading: Reading) -> Iterator[Found]:
    for name, entry in sorted(reading.manifest["files"].items()):
        path = reading.collection.path / name
        if path.is_file() and sha256(path) != entry["sha256"]:
            yield name, "the sha256 of this file is not the one in the manifest", 1, ()


def _edited_manifest(reading: Reading) -> Iterator[Found]:
    sums = _sums(reading.collection.path)
    expected = {name: e["sha256"] for name, e in reading.manifest["files"].items()}
    expected[MANIFEST] = sha256(reading.collection.path / MANIFEST)
    wrong = sorted({n for n in {*sums, *expected} if sums.get(n) != expected.get(n)})
    if wrong:
        yield SUMS, f"{SUMS} and {MANIFEST} disagree", len(wrong), tuple(wrong[:3])


CHECKS = (
    Check(
        "LB001",
        "every listed file is there",
        "error",
        "a download or a copy that stopped half-way",
        REBUILD,
        _missing,
    ),
    Check(
        "LB002",
        "no file is unlisted",
        "error",
        "notes, caches and old exports that travel with a collection as if they were part of it",
        "remove it, or build a new version",
        _unlisted,
    ),
    Check(
        "LB003",
        "files are unchanged",
        "error",
        "a published version never changes: papers cite what it was",
        REBUILD,
        _changed,
    ),
    Check(
        "LB004",
        "the manifest is unchanged",
        "error",
        "counts in published metadata that are not those of the files",
        REBUILD,
        _edited_manifest,
    ),
)
