"""Checks of the files that a manifest lists, and of its own entries and checksums."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from builder.collection.checks import CHECKS, ValidationContext
from builder.collection.files import (
    FileChange,
    describe_unreadable_file,
    find_changed_files,
    find_changed_table_files,
    is_intact,
    link_or_copy,
)
from builder.collection.manifest import collection_signature, metadata_hash
from builder.collection.read import Collection
from builder.errors import DataError
from builder.runtime.publisher import write_manifest
from tests.collection.literal import JULY, JUNE, Found, find, write_version
from tests.collection.literal import entry as _entry

REBUILD = "rebuild the version from its definition, or download it again"
SHA256_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
"""That of a file with the single byte `a`."""


def _write(folder: Path, **files: str) -> None:
    """Write files; in their names, `__` is a slash and the last `_` is the dot."""
    for name, text in files.items():
        head, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{head}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def test_listed_files_and_descriptions_exist(tmp_path: Path) -> None:
    listed = {name: {"sha256": ""} for name in ("b.txt", "README.md", "a.txt", "drift.json")}
    version = write_version(tmp_path, {}, files=listed)
    _write(tmp_path, a_txt="")
    message = "the file is listed in the manifest but does not exist"
    every = "every version has this file, but the manifest does not list it"
    assert find("LB001", version) == [
        *((name, message, 1, ()) for name in ("README.md", "SHA256SUMS", "b.txt", "drift.json")),
        *((name, every, 1, ()) for name in ("croissant.json", "report.html")),
    ]


def test_files_that_are_not_listed_and_files_that_belong_to_nothing(tmp_path: Path) -> None:
    names = (
        "README.md",
        "notes.txt",
        "trec/2022-06/a.txt",
        "trec/2022-09/a.txt",
        "trec/2022-061/a.txt",
        "topics.parquet",
        "gone.txt",
        "snapshots/2022-06/qrels.parquet",
    )
    version = write_version(
        tmp_path,
        {"topics": [], f"{JUNE}/qrels": [], f"{JULY}/qrels": []},
        files={name: {"sha256": ""} for name in names},
    )
    for name in (*names[:5], "SHA256SUMS", "b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "trec/link").symlink_to(tmp_path)
    unlisted = "the file is not listed in the manifest"
    foreign = (
        "the manifest lists the file, but it is neither a table nor a TREC export of a snapshot in "
        "the definition"
    )
    link = "the path is a symbolic link; expected a regular file"
    assert find("LB002", version) == [
        ("b.txt", unlisted, 1, ()),
        (f"{JULY}/qrels.parquet", unlisted, 1, ()),
        ("notes.txt", foreign, 1, ()),
        ("trec/2022-061/a.txt", foreign, 1, ()),
        ("trec/2022-09/a.txt", foreign, 1, ()),
        ("trec/link", link, 1, ()),
    ]


LFS = (
    "the file is a Git LFS pointer",
    "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`",
)
CONFLICT = (
    "the file contains conflict markers of Git",
    (
        "restore the file from one branch, for example with `git checkout --theirs`; files of a "
        "version cannot be merged"
    ),
)
CONVERTED = (
    "the line endings of the file were converted to CRLF",
    (
        "put a line such as `collections/** -text` into .gitattributes, so that Git does not "
        "convert line endings, and check out the file again"
    ),
)
HASH = "the SHA-256 hash of the file differs from the manifest"
PARQUET = b"PAR1 footer PAR1"


@pytest.mark.parametrize(
    ("name", "published", "found", "change"),
    [
        ("a.txt", b"a\nb\n", b"a\nb\n", None),
        ("a.txt", b"a\nb\n", b"a\nc\n", (HASH, REBUILD)),
        ("a.txt", b"a\nb\n", b"a\r\nb\r\n", CONVERTED),
        ("a.txt", b"a\nb\n", b"a\r\nb\n", CONVERTED),
        (
            "a.txt",
            b"a\nb\n",
            b"a\r\nc\r\n",
            ("the file was changed: 6 bytes instead of 4", REBUILD),
        ),
        ("a.txt", b"a\nb\n", b"a", ("the file was changed: 1 bytes instead of 4", REBUILD)),
        ("a.txt", b"a\nb\n", b"", ("the file was truncated: 0 bytes instead of 4", REBUILD)),
        (
            "a.txt",
            b"x" * 1000,
            b"x" * 1001,
            ("the file was changed: 1,001 bytes instead of 1,000", REBUILD),
        ),
        (
            "a.parquet",
            PARQUET,
            PARQUET[:-4],
            ("the file was truncated: 12 bytes instead of 16", REBUILD),
        ),
        (
            "a.parquet",
            PARQUET,
            b"PAR1PAR1",
            ("the file was changed: 8 bytes instead of 16", REBUILD),
        ),
        (
            "a.parquet",
            b"PAR1PAR1",
            PARQUET[:-4],
            ("the file was changed: 12 bytes instead of 8", REBUILD),
        ),
        ("a.txt", b"a\n", b"version https://git-lfs.github.com/spec/v1\n", LFS),
        ("a.txt", b"a\n", b"b\n<<<<<<< HEAD\n", CONFLICT),
        ("a.txt", b"a\n", None, ("the file is missing", REBUILD)),
    ],
)
def test_what_happened_to_a_file(
    name: str,
    published: bytes,
    found: bytes | None,
    change: tuple[str, str] | None,
    tmp_path: Path,
) -> None:
    if found is not None:
        (tmp_path / name).write_bytes(found)
    changed = find_changed_files(tmp_path, {name: _entry(published)})
    assert changed == ({} if change is None else {name: FileChange(*change)})


def test_a_manifest_without_sizes_still_has_hashes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    assert find_changed_files(tmp_path, {"a": {"sha256": SHA256_OF_A}}) == {}
    (changed,) = find_changed_files(tmp_path, {"a": {"sha256": "0"}}).values()
    assert changed.description == "the file was changed: 1 bytes instead of 0"


def test_missing_files_are_not_called_changed(tmp_path: Path) -> None:
    files = {"b.txt": _entry(b"b"), "c.txt": _entry(b"c"), "a.txt": _entry(b"a\n")}
    version = write_version(tmp_path, {}, files=files)
    _write(tmp_path, a_txt="a\r\n", b_txt="x")
    (check,) = (each for each in CHECKS if each.id == "LB003")
    found = [(f.where, f.message, f.fix) for f in check.run(ValidationContext(version))]
    assert found == [("a.txt", *CONVERTED), ("b.txt", HASH, REBUILD)]


def test_a_file_is_copied_where_no_link_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("a")
    link_or_copy(tmp_path / "a", tmp_path / "x/b")
    assert (tmp_path / "x/b").stat().st_ino == (tmp_path / "a").stat().st_ino

    def refuse(source: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    link_or_copy(tmp_path / "a", tmp_path / "x/c")
    assert (tmp_path / "x/c").read_text() == "a"
    assert (tmp_path / "x/c").stat().st_ino != (tmp_path / "a").stat().st_ino


def test_an_unreadable_file_is_described_by_the_system() -> None:
    fix = "correct the permissions of the file, or copy the version again"
    denied = describe_unreadable_file(PermissionError(13, "Permission denied"))
    assert denied == FileChange("cannot read the file: Permission denied", fix)
    odd = describe_unreadable_file(OSError("odd"))
    assert odd == FileChange("cannot read the file: odd", fix)


def test_files_of_a_table_are_listed_and_unchanged(tmp_path: Path) -> None:
    good = {f"{JUNE}/documents/part-{n}.parquet": _entry(b"a") for n in (0, 1, 3)}
    others = {f"{JUNE}/{name}.parquet": _entry(b"b") for name in ("documents2", "qrels")}
    others[f"{JUNE}/documents/old/part-0.parquet"] = _entry(b"b")
    for name in (*good, *others, f"{JUNE}/documents/part-2.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"a")
    (tmp_path / f"{JUNE}/documents/part-3.parquet").unlink()
    found = find_changed_table_files(tmp_path, {**good, **others}, f"{JUNE}/documents")
    assert list(found.items()) == [
        (
            f"{JUNE}/documents/part-2.parquet",
            FileChange("the file is not listed in the manifest", "remove the file"),
        ),
        (f"{JUNE}/documents/part-3.parquet", FileChange("the file is missing", REBUILD)),
    ]
    (changed,) = find_changed_table_files(tmp_path, others, f"{JUNE}/qrels").values()
    assert changed.description == HASH


def test_a_release_that_was_changed_is_not_published_again(tmp_path: Path) -> None:
    _write(tmp_path, a_txt="a", b_txt="b", c_txt="c", d_txt="d")
    write_manifest(tmp_path, {"name": "tiny"})
    files = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert sorted(files) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert is_intact(tmp_path, files, is_draft=False)
    (tmp_path / "SHA256SUMS").write_text("")
    assert not is_intact(tmp_path, files, is_draft=True)
    message = (
        f"{tmp_path} is already published, but files were changed or deleted afterwards "
        "({}); restore them, or delete the folder to publish the version again"
    )
    with pytest.raises(DataError) as raised:
        is_intact(tmp_path, files, is_draft=False)
    assert str(raised.value) == message.format("SHA256SUMS")
    _write(tmp_path, d_txt="", b_txt="", c_txt="")
    with pytest.raises(DataError) as raised:
        is_intact(tmp_path, files, is_draft=False)
    assert str(raised.value) == message.format("b.txt, c.txt, d.txt, and 1 more")


DEFINITION = {
    "collection": {"name": "tiny", "version": "0.1.0"},
    "snapshots": [{"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"}],
    "parameters": {},
}
TABLES = {"topics": {"rows": 1, "content": "1-a"}, "near_leaks": {"rows": 0, "content": "0-b"}}


def test_a_signature_has_the_hashes_of_content_and_definition() -> None:
    """Both are the first 12 digits of a SHA-256 of JSON with sorted keys, indented by 1."""
    content = '{\n "near_leaks": "0-b",\n "topics": "1-a"\n}\n'
    definition = (
        '{\n "collection": {\n  "name": "tiny",\n  "version": "0.1.0"\n },\n "parameters": {},\n'
        ' "snapshots": [\n  {\n   "end": "2022-07-01",\n   "name": "2022-06",\n'
        '   "start": "2022-06-01"\n  }\n ]\n}\n'
    )
    hashes = [hashlib.sha256(text.encode()).hexdigest()[:12] for text in (content, definition)]
    assert collection_signature(DEFINITION, TABLES, "1.2.3") == (
        f"tiny 0.1.0|snapshots 1|content {hashes[0]}|definition {hashes[1]}|longeval-builder 1.2.3"
    )


def _sealed(folder: Path, **entries: Any) -> Collection:
    """A version without files, whose hashes are right unless they are given."""
    manifest = {
        "name": "tiny",
        "version": "0.1.0",
        "signature": collection_signature(DEFINITION, TABLES, "1.2.3"),
        "definition": DEFINITION,
        "tools": {"longeval-builder": "1.2.3"},
        "units": {},
        "tables": TABLES,
    }
    manifest["metadata_sha256"] = metadata_hash(manifest)
    folder.mkdir(exist_ok=True)
    write_manifest(folder, {**manifest, **entries})
    return Collection(folder)


SIGNATURE = "the hashes in the signature do not match the definition and the tables"
METADATA = "the hash `metadata_sha256` does not match the entries other than `files`"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, None),
        ({"name": "huge"}, "the name is 'huge', but the definition has 'tiny'"),
        ({"version": "1.0.0"}, "the version is '1.0.0', but the definition has '0.1.0'"),
        ({"tables": {**TABLES, "a": {"rows": 1}}}, "content hashes of tables are missing"),
        ({"tools": {"longeval-builder": "1.2.4"}}, SIGNATURE),
        ({"tables": {"topics": TABLES["topics"]}}, SIGNATURE),
        ({"signature": "tiny 0.1.0", "metadata_sha256": "0"}, SIGNATURE),
        ({"metadata_sha256": "0"}, METADATA),
        ({"units": {"select 2022-06": {"version": "1"}}}, METADATA),
    ],
)
def test_entries_of_a_manifest_follow_from_each_other(
    entries: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    found: list[Found] = [("manifest.json", message, 1, ())] if message else []
    assert find("LB004", _sealed(tmp_path, **entries)) == found


def test_checksums_are_those_of_the_manifest(tmp_path: Path) -> None:
    _write(tmp_path, a_txt="a", b_txt="b", c_txt="c", e_txt="e")
    version = _sealed(tmp_path)
    assert find("LB004", version) == []
    sums = (tmp_path / "SHA256SUMS").read_text()
    assert f"{SHA256_OF_A}  a.txt\n" in sums
    lines = [line for line in sums.splitlines() if not line.endswith("b.txt")]
    lines = [line if not line.endswith("c.txt") else f"{'0' * 64}  c.txt" for line in lines]
    (tmp_path / "SHA256SUMS").write_text("\n".join([*lines, f"{'0' * 64}  d.txt"]))
    message = "checksums in SHA256SUMS differ from manifest.json"
    three = ("b.txt", "c.txt", "d.txt")
    assert find("LB004", version) == [("SHA256SUMS", message, 3, three)]
    (tmp_path / "SHA256SUMS").unlink()
    examples = ("a.txt", "b.txt", "c.txt")
    assert find("LB004", version) == [("SHA256SUMS", message, 5, examples)]
    path = tmp_path / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "SHA256SUMS").write_text(sums)
    (check,) = (each for each in CHECKS if each.id == "LB004")
    found = [(f.where, f.message, f.fix) for f in check.run(ValidationContext(version))]
    assert found == [("manifest.json", *CONVERTED)]
