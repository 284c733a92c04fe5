"""Checks on files: everything the manifest lists is there, unchanged, and nothing else is."""

from collections.abc import Iterator
from pathlib import Path

from builder.collection.checks.finding import Check
from builder.collection.layout import MANIFEST, SUMS
from builder.collection.read import Collection
from builder.store import sha256

Found = tuple[str, str, int, tuple[str, ...]]
REBUILD = "rebuild the version from its definition, or fetch it again"


def _sums(collection: Collection) -> dict[str, str]:
    path = collection.path / SUMS
    if not path.is_file():
        return {}
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _present(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


def _missing(collection: Collection) -> Iterator[Found]:
    expected = {*collection.manifest["files"], MANIFEST, SUMS}
    for name in sorted(expected - _present(collection.path)):
        yield name, "the manifest lists this file, but it is not there", 1, ()


def _unlisted(collection: Collection) -> Iterator[Found]:
    expected = {*collection.manifest["files"], MANIFEST, SUMS}
    for name in sorted(_present(collection.path) - expected):
        yield name, "this file is not in the manifest", 1, ()


def _changed(collection: Collection) -> Iterator[Found]:
    for name, entry in sorted(collection.manifest["files"].items()):
        path = collection.path / name
        if path.is_file() and sha256(path) != entry["sha256"]:
            yield name, "the sha256 of this file is not the one in the manifest", 1, ()


def _edited_manifest(collection: Collection) -> Iterator[Found]:
    sums = _sums(collection)
    expected = {name: e["sha256"] for name, e in collection.manifest["files"].items()}
    expected[MANIFEST] = sha256(collection.path / MANIFEST)
    wrong = sorted({n for n in {*sums, *expected} if sums.get(n) != expected.get(n)})
    if wrong:
        yield SUMS, f"{SUMS} and {MANIFEST} disagree", len(wrong), tuple(wrong[:3])


CHECKS = (
    Check("LB001", "every listed file is there", "error", REBUILD, _missing),
    Check("LB002", "no file is unlisted", "error", "remove it, or build a new version", _unlisted),
    Check("LB003", "files are unchanged", "error", REBUILD, _changed),
    Check("LB004", "the manifest is unchanged", "error", REBUILD, _edited_manifest),
)
