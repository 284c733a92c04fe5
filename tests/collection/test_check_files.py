"""Checks of files: those that a manifest lists, exports, and files that describe a version."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder import __version__
from builder.collection.card import render_card
from builder.collection.checks import CHECKS, Check, ValidationContext, descriptions
from builder.collection.croissant import croissant_metadata
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
from builder.drift import measure_drift, measure_pair
from builder.errors import DataError
from builder.runtime.publisher import write_manifest
from tests.collection.literal import Found, Row, find, write_version

JUNE, JULY = "snapshots/2022-06", "snapshots/2022-07"
REBUILD = "rebuild the version from its definition, or download it again"
SHA256_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
"""That of a file with the single byte `a`."""


def _entry(data: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


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


def test_a_check_stops_at_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    def read(context: ValidationContext) -> Any:
        yield "a", "first", 1, ()
        yield "b", "second", 2, ("x",), "another fix"
        raise PermissionError(13, "Permission denied", str(context.collection.path / "c/d.txt"))

    check = Check("XY101", "t", "warning", "w", "fix", read)
    context = ValidationContext(write_version(tmp_path, {}))
    denied = "cannot read the file: Permission denied"
    permissions = "correct the permissions of the file, or copy the version again"
    assert [
        (f.severity, f.where, f.message, f.count, f.examples, f.fix, f.version)
        for f in check.run(context)
    ] == [
        ("warning", "a", "first", 1, (), "fix", str(tmp_path)),
        ("warning", "b", "second", 2, ("x",), "another fix", str(tmp_path)),
        ("warning", "c/d.txt", denied, 1, (), permissions, str(tmp_path)),
    ]
    assert {finding.severity for finding in check.run(context, "error")} == {"error"}


TREC = "trec/2022-06"
DOC = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\n{1}\n</TEXT>\n</DOC>\n"
FIELDS = "<num> Number: {}\n<title> Topic: {}\n<desc> Description:\n\n<narr> Narrative:\n"
TOP = f"<top>\n{FIELDS}\n</top>\n"
EXPORTS = {
    f"{TREC}/qrels.txt": "1 0 d1 2\n2 0 d2 0\n",
    f"{TREC}/qrels.numbers.txt": "1 0 d1 2\n2 0 d2 0\n",
    f"{TREC}/query_numbers.tsv": "1\t1\n2\t2\n",
    f"{TREC}/fr/topics.tsv": "1\teau\n2\tpain\n",
    f"{TREC}/fr/topics.trec": TOP.format(1, "eau") + TOP.format(2, "pain"),
    f"{TREC}/en/topics.tsv": "1\twater\n",
    f"{TREC}/en/topics.trec": TOP.format(1, "water"),
    f"{TREC}/urls.tsv": "d1\thttps://a.example\nd2\thttps://b.example\n",
    f"{TREC}/fr/documents/part-0.trec": DOC.format("d1", "Titre\nl'eau"),
    f"{TREC}/fr/documents/part-1.trec": DOC.format("d2", "le pain"),
    f"{TREC}/en/documents/part-0.trec": DOC.format("d1", "Title\nthe water"),
}
EXPORTED: dict[str, list[Row]] = {
    f"{JUNE}/queries": [
        {"query_id": "1", "text": "eau", "text_en": "water"},
        {"query_id": "2", "text": "pain"},
    ],
    f"{JUNE}/qrels": [
        {"query_id": "1", "doc_id": "d1", "grade": 2},
        {"query_id": "2", "doc_id": "d2", "grade": 0},
    ],
    f"{JUNE}/documents": [
        {
            "doc_id": "d1",
            "url": "https://a.example",
            "title": "Titre",
            "text": "l'eau",
            "title_en": "Title",
            "text_en": "the water",
        },
        {"doc_id": "d2", "url": "https://b.example", "text": "le pain"},
    ],
}


def _exported(folder: Path, files: dict[str, str | None], *, trec: bool = True) -> Collection:
    """A version with exports, some of which are other files or missing."""
    written = {name: text for name, text in {**EXPORTS, **files}.items() if text is not None}
    version = write_version(
        folder,
        EXPORTED,
        snapshots=("2022-06",),
        languages=("fr", "en"),
        parameters={"export": {"trec": trec}},
        files={name: _entry(text.encode()) for name, text in written.items()},
    )
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return version


NO_ROW, GONE = "lines do not match a row of the table", "rows of the table are missing"
CRLF = "lines end with CRLF"
FR = f"{TREC}/fr/documents"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("qrels.txt", "2 0 d2 0\n1 0 d1 2\n", []),
        (
            "qrels.txt",
            "2 0 d2 1\n2 0 d1 1\n1 0 d2 1\n2 0 d3 1\n",
            [
                (NO_ROW, 4, ("2 0 d2 1", "2 0 d1 1", "1 0 d2 1")),
                (GONE, 2, ("1 0 d1 2", "2 0 d2 0")),
            ],
        ),
        (
            "qrels.txt",
            "1 0 d1 2\n" + "2 0 d2 0\n" * 5,
            [("lines are repeated", 4, ("2 0 d2 0", "2 0 d2 0", "2 0 d2 0"))],
        ),
        ("qrels.txt", "1 0 d1 2\r\n2 0 d2 0\r\n", [(CRLF, 1, ())]),
        ("qrels.numbers.txt", "1 0 d1 2\n", [(GONE, 1, ("2 0 d2 0",))]),
        ("query_numbers.tsv", "1\t1\n2\t2\n3\t3\n", [(NO_ROW, 1, ("3\t3",))]),
        ("fr/topics.tsv", "1\teau\n", [(GONE, 1, ("2\tpain",))]),
        ("en/topics.tsv", "1\twater\n2\tpain\n", [(NO_ROW, 1, ("2\tpain",))]),
        ("fr/topics.trec", TOP.format(1, "eau"), [(GONE, 1, (TOP.format(2, "pain")[:-1],))]),
        ("urls.tsv", "d2\thttps://b.example\n", [(GONE, 1, ("d1\thttps://a.example",))]),
    ],
)
def test_lines_of_an_export_that_differ(
    name: str, text: str, expected: list[tuple[str, int, tuple[str, ...]]], tmp_path: Path
) -> None:
    where = f"{TREC}/{name}"
    version = _exported(tmp_path, {where: text})
    assert find("LB219", version) == [(where, *defect) for defect in expected]


OTHER_TEXT = "documents have a different text or title in the table"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DOC.format("d1", "l'eau"), [(FR, OTHER_TEXT, 1, ("d1",))]),
        (
            DOC.format("d1", "Titre\nl'eau").replace("\n", "\r\n"),
            [(f"{FR}/part-0.trec", CRLF, 1, ())],
        ),
        (
            DOC.format("d1", "Titre\nl'eau") * 2,
            [
                (FR, "documents are repeated", 1, ("d1",)),
                (FR, "the export has 3 documents, but the table has 2", 1, ()),
            ],
        ),
        (
            DOC.format("d3", "x"),
            [
                (FR, "documents do not match a row of the table", 1, ("d3",)),
                (FR, GONE, 1, ("d1",)),
            ],
        ),
        (
            "no document\n" + DOC.format("d1", "Titre\nl'eau"),
            [
                (FR, "documents do not match a row of the table", 1, ("",)),
                (FR, "the export has 3 documents, but the table has 2", 1, ()),
            ],
        ),
    ],
)
def test_documents_of_an_export_that_differ(
    text: str, expected: list[Found], tmp_path: Path
) -> None:
    version = _exported(tmp_path, {f"{FR}/part-0.trec": text})
    assert find("LB219", version) == expected


def test_line_endings_of_a_changed_file_are_not_reported_twice(tmp_path: Path) -> None:
    version = _exported(tmp_path, {})
    for name in (f"{TREC}/qrels.txt", f"{FR}/part-0.trec"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert find("LB219", version) == []


def test_exports_may_be_missing_only_if_the_definition_sets_none(tmp_path: Path) -> None:
    missing = dict.fromkeys(EXPORTS)
    message = "the export is missing, although the definition sets export.trec"
    files = [name for name in EXPORTS if "/documents/" not in name]
    folders = [FR, f"{TREC}/en/documents"]
    version = _exported(tmp_path / "a", {**missing})
    assert find("LB219", version) == [(name, message, 1, ()) for name in (*files, *folders)]
    version = _exported(tmp_path / "b", {**missing}, trec=False)
    assert find("LB219", version) == []
    version.manifest["definition"]["parameters"] = {}
    assert find("LB219", version) == []


def test_texts_of_a_table_that_was_rewritten_are_not_compared(tmp_path: Path) -> None:
    version = _exported(tmp_path, {f"{FR}/part-0.trec": DOC.format("d1", "x")})
    path = tmp_path / f"{JUNE}/documents/part-00000.parquet"
    pq.write_table(pq.read_table(path).append_column("more", pa.array([1, 2])), path)
    assert find("LB219", version) == []
    (tmp_path / f"{FR}/part-1.trec").unlink()
    assert find("LB219", version) == [
        (FR, GONE, 1, ("d2",)),
        (FR, "the export has 1 documents, but the table has 2", 1, ()),
    ]


SIZES = {
    f"{JUNE}/documents": {"rows": 1200},
    f"{JUNE}/queries": {"rows": 2},
    f"{JUNE}/qrels": {"rows": 3},
    f"{JULY}/queries": {"rows": 4},
}
CARD = "# tiny 0.1.0\n| 2022-06 | June | 1,200 | 2 | 3 |\n|2022-07|0|4|0|\n"
NO_FORMAT = "the file does not have the expected format"


@pytest.mark.parametrize(
    ("card", "message", "count"),
    [
        (CARD, None, 0),
        (CARD.replace("# tiny", "## tiny"), "expected the heading '# tiny 0.1.0'", 1),
        (
            CARD.replace("1,200", "1200"),
            "expected a row for snapshot 2022-06 that ends with | 1,200 | 2 | 3 |",
            1,
        ),
        (
            CARD.replace("2022-07", "2022-08"),
            "expected a row for snapshot 2022-07 that ends with | 0 | 4 | 0 |",
            1,
        ),
        (
            CARD.replace("|4|0|", "|4|0|1|"),
            "expected a row for snapshot 2022-07 that ends with | 0 | 4 | 0 |",
            1,
        ),
        ("", "expected the heading '# tiny 0.1.0'", 3),
    ],
)
def test_a_card_has_the_sizes_of_the_manifest(
    card: str, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(tmp_path, {}, tables=SIZES, tools={"longeval-builder": "0.1"})
    (tmp_path / "README.md").write_text(card)
    found: list[Found] = [("README.md", message, count, ())] if message else []
    assert find("LB123", version) == found


RELEASED = {
    "collection": {
        "name": "tiny",
        "version": "0.1.0",
        "languages": ["fr"],
        "licence": "CC0-1.0",
        "citation": "",
        "url": "",
    },
    "snapshots": [{"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"}],
    "parameters": {},
    "imported": {"layout": "longeval-web"},
}
RELEASED_TABLES = {f"{JUNE}/{kind}": {"rows": 7} for kind in ("documents", "queries", "qrels")}
CURRENT = {"longeval-builder": __version__}


X = "x" * 60
AFTER = " changes and drift use keys derived"
LISTED: list[Row] = [
    {"contentUrl": f"{JUNE}/documents/part-0.parquet", "sha256": "1"},
    {"contentUrl": f"{JUNE}/qrels.parquet", "sha256": "2"},
]


@pytest.mark.parametrize(
    ("old", "new", "message", "count"),
    [
        ("", "", None, 0),
        ("## Prov", "## Prov", None, 0),
        ("\n\n## Prov", "\n\n\n \n## Prov", None, 0),
        (
            "---\n\n# tiny",
            f"---\n{'x' * 61}\n# tiny",
            f"line 21 does not match the manifest: {X!r}",
            1,
        ),
        (
            "|---|---|---|---|",
            "|---|---|---|---|\n|---|---|---|---|",
            "line 45 does not match the manifest: '|---|---|---|---|'",
            2,
        ),
        (
            "## Provenance",
            "## Sources",
            "line 42 does not match the manifest: '## Sources'",
            2,
        ),
        (
            "## Provenance",
            "",
            "the line '## Provenance', expected from the manifest, is missing",
            1,
        ),
        (
            "Documents, queries and qrels keep the ids of the release. Maps,",
            "",
            f"line 38 does not match the manifest: {AFTER[:60]!r}",
            2,
        ),
    ],
)
def test_a_card_of_this_version_is_rendered_again(
    old: str, new: str, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(
        tmp_path, {}, definition=RELEASED, tables=RELEASED_TABLES, tools=CURRENT
    )
    card = render_card(tmp_path, RELEASED, RELEASED_TABLES, {})
    assert old in card
    (tmp_path / "README.md").write_text(card.replace(old, new))
    found: list[Found] = [("README.md", message, count, ())] if message else []
    assert find("LB123", version) == found


BUILT: dict[str, Any] = {
    **{key: value for key, value in RELEASED.items() if key != "imported"},
    "parameters": {"select": {"min_users": 5, "anonymity": "users"}, "export": {"trec": False}},
}
FUNNELS = {"2022-06": [{"rule": "url_like", "left_out": 1, "remaining": 2}]}


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ({}, None),
        ({}, ["other"]),
        ({"min_users": None}, None),
        ({"min_users": "five"}, None),
        ({"min_users": 5}, None),
    ],
)
def test_a_card_that_cannot_be_rendered_is_not_compared(
    select: Row, columns: list[str] | None, tmp_path: Path
) -> None:
    """Click diagnostics are missing or of other columns, or a parameter is no number."""
    parameters = {**BUILT["parameters"], "select": {**BUILT["parameters"]["select"], **select}}
    if select == {"min_users": 5}:
        parameters["select"].pop("anonymity")
    version = write_version(
        tmp_path,
        {},
        definition={**BUILT, "parameters": parameters},
        tables=RELEASED_TABLES,
        tools=CURRENT,
        selection=FUNNELS,
    )
    if columns is not None:
        path = tmp_path / JUNE / "click_diagnostics.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({name: [1] for name in columns}), path)
    (tmp_path / "README.md").write_text("# tiny 0.1.0\n| 2022-06 | 7 | 7 | 7 |\nfree text\n")
    assert find("LB123", version) == []


def _metadata(**changes: Any) -> dict[str, Any]:
    return {"name": "tiny", "version": "0.1.0", "distribution": LISTED, **changes}


@pytest.mark.parametrize(
    ("metadata", "message", "count"),
    [
        (_metadata(), None, 0),
        (_metadata(name="huge"), "expected the name 'tiny', found 'huge'", 1),
        (
            _metadata(name="huge", version="0.2.0"),
            "expected the name 'tiny', found 'huge'",
            2,
        ),
        (
            _metadata(distribution=[]),
            f"the hash of {JUNE}/documents/part-0.parquet differs from the manifest",
            2,
        ),
        (
            _metadata(distribution=[*LISTED, {"contentUrl": "README.md", "sha256": "5"}]),
            "the hash of README.md differs from the manifest",
            1,
        ),
        ({"name": "tiny"}, NO_FORMAT, 1),
        ([], NO_FORMAT, 1),
        ({"name": "tiny", "version": "0.1.0", "distribution": ["a"]}, NO_FORMAT, 1),
        (None, NO_FORMAT, 1),
    ],
)
def test_metadata_have_the_hashes_of_the_manifest(
    metadata: Any, message: str | None, count: int, tmp_path: Path
) -> None:
    names = {
        f"{JUNE}/documents/part-0.parquet": "1",
        f"{JUNE}/qrels.parquet": "2",
        f"{JUNE}/coverage.parquet": "3",
        f"{JUNE}/qrels2.parquet": "4",
        "README.md": "5",
    }
    files = {name: {"sha256": digest} for name, digest in names.items()}
    version = write_version(tmp_path, {}, files=files, tools={"longeval-builder": "0.1"})
    text = "{" if metadata is None else json.dumps(metadata)
    (tmp_path / "croissant.json").write_text(text)
    found: list[Found] = [("croissant.json", message, count, ())] if message else []
    assert find("LB123", version) == found


def test_metadata_of_this_version_are_written_again(tmp_path: Path) -> None:
    version = write_version(
        tmp_path, {}, definition=RELEASED, tables=RELEASED_TABLES, tools=CURRENT
    )
    metadata = croissant_metadata(tmp_path, RELEASED, RELEASED_TABLES, {})
    path = tmp_path / "croissant.json"
    path.write_text(json.dumps({**metadata, "recordSet": ["another"], "more": 1}))
    assert find("LB123", version) == []
    del metadata["url"]
    path.write_text(json.dumps({**metadata, "citeAs": "x"}))
    message = "expected the citeAs 'tiny 0.1.0', found 'x'"
    assert find("LB123", version) == [("croissant.json", message, 2, ())]
    version.manifest["tools"]["longeval-builder"] = "0.1"
    assert find("LB123", version) == []


def _drift(*sizes: tuple[int, int, list[int]], pairs: int = 1) -> dict[str, Any]:
    snapshots = [
        {"snapshot": name, "documents": documents, "queries": {"listed": queries}, "grades": grades}
        for name, (documents, queries, grades) in zip(("2022-06", "2022-07"), sizes, strict=False)
    ]
    return {"snapshots": snapshots, "judgements": [{}] * pairs}


AS_LISTED = ((1200, 2, [1, 0, 2]), (0, 4, []))


@pytest.mark.parametrize(
    ("drift", "message", "count"),
    [
        (_drift(*AS_LISTED), None, 0),
        (
            _drift((12, 2, [1, 2]), (0, 4, [])),
            "expected 1,200 documents in snapshot 2022-06, found 12",
            1,
        ),
        (
            _drift((1200, 2, [1, 2]), (0, 4000, [1])),
            "expected 4 queries in snapshot 2022-07, found 4,000",
            2,
        ),
        (
            _drift((1200, 2, [1, 1]), (0, 4, [])),
            "expected 3 qrels in snapshot 2022-06, found 2",
            1,
        ),
        (
            _drift(AS_LISTED[0]),
            "expected snapshots 2022-06, 2022-07, found ['2022-06']",
            1,
        ),
        (
            _drift(*AS_LISTED, pairs=2),
            "expected comparisons of judgements for 1 snapshot pairs, found 2",
            1,
        ),
        ({}, NO_FORMAT, 1),
        ({"snapshots": {}}, "expected snapshots 2022-06, 2022-07, found []", 1),
        ({"snapshots": [1]}, NO_FORMAT, 1),
        ([], NO_FORMAT, 1),
    ],
)
def test_drift_has_the_sizes_of_the_manifest(
    drift: Any, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(tmp_path, {}, tables=SIZES)
    (tmp_path / "drift.json").write_text(json.dumps(drift))
    found: list[Found] = [("drift.json", message, count, ())] if message else []
    assert find("LB123", version) == found


def test_drift_of_a_release_may_have_other_sizes(tmp_path: Path) -> None:
    """It compares keys, of which several ids may share one."""
    names = ("2022-06", "2022-07", "2022-08")
    version = write_version(tmp_path, {}, tables=SIZES, imported={}, snapshots=names)
    drift = _drift(*AS_LISTED, pairs=3)
    drift["snapshots"].append({**drift["snapshots"][0], "snapshot": "2022-08"})
    drift["snapshots"][0]["documents"] = 1
    (tmp_path / "drift.json").write_text(json.dumps(drift))
    assert find("LB123", version) == []
    version.manifest["definition"].pop("imported")
    ((_, message, count, _),) = find("LB123", version)
    assert message == "expected 1,200 documents in snapshot 2022-06, found 1"
    assert count == 4


def test_reports_of_this_version_are_rendered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another version of the stages computed the drift, the report may be another one."""
    monkeypatch.setattr(descriptions, "render_report", lambda drift: f"<p>{drift['a']}")
    units = {
        "drift all": {"version": measure_drift.version},
        "pair_drift 2022-06_2022-07": {"version": measure_pair.version},
        "drifted 2022-06": {"version": "0"},
    }
    message = "the report does not show the statistics in drift.json"
    found: list[Found] = [("report.html", message, 1, ())]

    def check(
        folder: str, report: str | None, drift: str = '{"a": 1}', **entries: Any
    ) -> list[Found]:
        entries = {"units": units, "tools": CURRENT, **entries}
        version = write_version(tmp_path / folder, {}, **entries)
        (tmp_path / folder / "drift.json").write_text(drift)
        if report is not None:
            (tmp_path / folder / "report.html").write_text(report)
        return [each for each in find("LB123", version) if each[0] == "report.html"]

    assert check("a", "<p>1") == []
    assert check("b", "<p>2") == found
    assert check("c", None) == []
    assert check("d", "<p>2", tools={"longeval-builder": "0.1"}) == []
    assert check("e", "<p>2", units={}) == []
    older = {**units, "pair_drift 2022-07_2022-08": {"version": "0"}}
    assert check("f", "<p>2", units=older) == []
    assert check("g", "<p>2", "{}") == check("h", "<p>2", "[]") == []


def test_rejects_are_those_that_the_stages_counted(tmp_path: Path) -> None:
    rejects = [
        {"stage": "log", "reason": "bad_line", "rows": 2, "line": 1},
        {"stage": "log", "reason": "bad_line", "rows": 3, "line": 2},
        {"stage": "select", "reason": "no_topic", "rows": 4},
        {"stage": "crawl", "reason": "empty", "rows": 1},
    ]

    def ledger(**rejected: int) -> Row:
        total = sum(rejected.values())
        return {"ledger": {"rows_in": total + 1, "rows_out": 1, "rejected": rejected}}

    units = {
        "log 2022-06": ledger(bad_line=5),
        "log 2022-07": ledger(bad_line=9),
        "select 2022-06": ledger(no_topic=4, too_few_users=0),
        "crawl 2022-06": ledger(empty=1),
        "maps all": {},
    }
    tables = {f"{JUNE}/rejects": rejects}
    assert find("LB123", write_version(tmp_path / "a", tables, units=units)) == []
    units["log 2022-06"] = ledger(bad_line=3)
    units["crawl 2022-06"] = ledger(empty=1, gone=1)
    units["select 2022-06"] = ledger(adult=4)
    message = "the rejects do not match the reject counts in the manifest"
    examples = ("crawl gone", "log bad_line", "select adult")
    version = write_version(tmp_path / "b", tables, units=units)
    assert find("LB123", version) == [(f"{JUNE}/rejects", message, 4, examples)]
    assert find("LB123", write_version(tmp_path / "c", tables, units=units, imported={})) == []


def test_rows_of_a_step_add_up(tmp_path: Path) -> None:
    counts = [(9, 4, {"a": 2, "b": 3}), (9, 4, {"a": 3}), (9, 4, {"a": 2, "b": 4}), (4, 4, {})]
    counts += [(4, 5, {}), (0, 1, {})]
    units: dict[str, Any] = {
        f"{9 - n} x": {"ledger": {"rows_in": read, "rows_out": kept, "rejected": rejected}}
        for n, (read, kept, rejected) in enumerate(counts)
    }
    units |= {"0 x": {}, "1 x": {"ledger": None}}
    message = "rows kept and rejected by a step do not add up to the rows that it read"
    assert find("LB123", write_version(tmp_path, {}, units=units)) == [
        ("manifest.json", message, 4, ("4 x", "5 x", "7 x"))
    ]


def test_funnels_are_those_of_the_stage(tmp_path: Path) -> None:
    ledger = {"rows_in": 10, "rows_out": 6, "rejected": {"max_words": 3, "adult": 1}}
    units = {f"select {name}": {"ledger": ledger} for name in ("2022-06", "2022-07")}
    rules = [
        *("only_left_out_users", "too_few_users", "personal_email", "personal_phone"),
        *("personal_iban", "personal_nir", "personal_card", "personal_ip", "too_few_impressions"),
        *("too_few_clicks", "too_many_words", "too_many_characters", "search_operator"),
        *("url_like", "navigational", "stop_list"),
    ]
    steps = [{"rule": rule, "left_out": 0, "remaining": 10} for rule in rules]
    steps += [
        {"rule": "adult", "left_out": 1, "remaining": 9},
        {"rule": "max_words", "left_out": 3, "remaining": 6},
        {"rule": "no_topic", "left_out": 0, "remaining": 6},
    ]
    funnels = {"2022-06": steps, "2022-07": steps[:-1]}
    entries = {"units": units, "selection": funnels, "tools": CURRENT}
    message = "`selection` of 2022-07 does not match the counts of step `select 2022-07`"
    found = [("manifest.json", message, 1, ())]
    version = write_version(tmp_path, {}, **entries)
    assert find("LB123", version) == found
    del version.manifest["selection"]["2022-07"]
    assert find("LB123", version) == found
    version.manifest["units"].pop("select 2022-07")
    assert find("LB123", version) == []
    del version.manifest["selection"]
    assert [message for _, message, *_ in find("LB123", version)] == [
        "`selection` of 2022-06 does not match the counts of step `select 2022-06`"
    ]
    version.manifest["tools"] = {"longeval-builder": "0.1"}
    assert find("LB123", version) == []
    version.manifest["tools"] = CURRENT
    version.manifest["definition"]["imported"] = {"layout": "longeval-web"}
    assert find("LB123", version) == []
