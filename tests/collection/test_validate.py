"""Validation: nothing on a good collection, the right check for every kind of damage."""

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pyarrow.parquet as pq
import pytest

import builder
from builder.collection.checks import CHECKS, Finding, descriptions
from builder.collection.findings import FINDINGS_SCHEMA, format_github, format_json, format_text
from builder.collection.validate import validate, validate_all_versions
from builder.errors import FormatError, UsageError
from tests.collection.mutations import MUTATIONS, edit, edit_manifest, every, seal
from tests.faults.kills import published
from tests.thorough import ALL

UNCHECKED = "; the rows of the table are not checked"
POINTER = f"the file is a Git LFS pointer{UNCHECKED}."
NO_PARQUET = (
    "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
    f"parquet file.{UNCHECKED}."
)
OF_FILES = ("LB0", "LB101", "LB118", "LB212")
"""Checks that find damaged files, and values of the manifest and of drift.json."""

VARYING = {
    r"[\d,]+ bytes instead of [\d,]+": "N bytes instead of M",
    r"[\d,]+ bytes": "N bytes",
    r"\bline \d+": "line N",
    r"all \d+ recorded": "all N recorded",
    r"(cannot read \S+): .*(; the rows of)": r"\1: REASON\2",
    r"(schema \w+/\d+)\(.*?\);": r"\1(COLUMNS);",
}
"""Patterns of the parts of a message that change with the report, the card or the schema."""
BLOCKS = (Path(__file__).parent / "found.txt").read_text("utf-8").strip().split("\n\n")
FOUND = {
    title.rpartition(": ")[0]: lines for title, *lines in (block.split("\n  ") for block in BLOCKS)
}
"""What the check says about each mutation: file or table, message, number of affected rows or
files, and number of examples."""


@pytest.fixture(scope="module")
def good(undisturbed: tuple[Path, str]) -> Path:
    """A small good version."""
    return published(undisturbed[0])


def test_a_good_collection_has_no_findings(good: Path) -> None:
    assert validate(good) == []


@pytest.mark.parametrize("kind", MUTATIONS)
def test_damage_is_found(kind: str, good: Path, tmp_path: Path) -> None:
    """The other checks run too where they may be unable to read what is damaged."""
    check, damage = MUTATIONS[kind]
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    damage(copy)
    select = () if ALL or check.startswith(OF_FILES) else (check,)
    findings = validate(copy, select=select)
    found = {finding.check for finding in findings}
    assert check in found, f"{kind}: expected {check}, found {sorted(found)}"
    assert [_described(finding) for finding in findings if finding.check == check] == FOUND[kind]


def _described(finding: Finding) -> str:
    """A finding in one line, without what depends on the length of other texts."""
    numbers = f"({finding.count}; {len(finding.examples)} given)"
    message = f"{finding.where}: {finding.message} {numbers}"
    for changing, written in VARYING.items():
        message = re.sub(changing, written, message)
    return message


def test_pairs_that_nobody_clicked_are_given_as_query_and_document(
    good: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    MUTATIONS["relevance that nobody clicked"][1](copy)
    (finding,) = validate(copy, select=["LB227"])
    qrels = pl.read_parquet(copy / f"snapshots/{finding.where.split('/')[1]}/qrels.parquet")
    first = qrels.sort("query_id", "doc_id").head(3)
    pairs = zip(first["query_id"], first["doc_id"], strict=True)
    assert finding.examples == tuple(f"{query} {document}" for query, document in pairs)


def test_every_check_on_a_built_collection_has_a_mutation() -> None:
    covered = {check for check, _ in MUTATIONS.values()}
    of_releases = {"LB201", "LB202", "LB203", "LB205", "LB206"}
    assert covered | of_releases == {check.id for check in CHECKS}


def test_checks_can_be_chosen_and_weighed(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "notes.txt").write_text("x")
    (copy / "report.html").unlink()
    assert {f.check for f in validate(copy)} == {"LB001", "LB002"}
    assert {f.check for f in validate(copy, select=("LB002", "LB1"))} == {"LB002"}
    assert {f.check for f in validate(copy, ignore=("LB0",))} == set()
    (finding,) = validate(copy, select=("LB002",), severities={"LB002": "warning"})
    assert finding.severity == "warning"
    with pytest.raises(UsageError, match="no check matches 'LB9'"):
        validate(copy, select=("LB9",))
    with pytest.raises(UsageError, match="expected error or warning for LB002, found 'fatal'"):
        validate(copy, severities={"LB002": "fatal"})  # type: ignore[dict-item]


def test_findings_are_what_their_schema_says(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "notes.txt").write_text("x")
    findings = validate(copy)
    jsonschema.validate(json.loads(format_json(findings, {})), FINDINGS_SCHEMA)
    assert json.loads(format_json(findings, {}))["valid"] is False
    assert [finding.version for finding in findings] == [str(copy)]


@pytest.mark.parametrize("workspace", [None, "outer"])
def test_annotations_name_files_of_the_repository(
    workspace: str | None, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(good, tmp_path / "outer/sets/mine/0.1.0")
    monkeypatch.chdir(tmp_path / "outer" if workspace is None else tmp_path / "outer/sets")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    if workspace is not None:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / workspace))
    folder = Path("sets/mine" if workspace is None else "mine")
    version = folder / "0.1.0"
    (version / "no%20,a:b.txt").write_text("x")
    (version / "topics.parquet").write_bytes(b"")
    (part,) = (version / "snapshots/2022-06/documents").glob("part-*.parquet")
    part.write_bytes(b"")
    lines = [format_github(f) for f in validate(folder, select=("LB002", "LB101"))]
    files = [
        line.partition("file=")[2].partition(",title=longeval validate::")[0] for line in lines
    ]
    assert files == [
        "sets/mine/0.1.0/no%2520%2Ca%3Ab.txt",
        "sets/mine/0.1.0/topics.parquet",
        f"sets/mine/0.1.0/snapshots/2022-06/documents/{part.name}",
    ]
    assert lines[0] == (
        f"::error file={files[0]},title=longeval validate::LB002 error: {version}/no%2520,a:b.txt: "
        "the file is not listed in the manifest. Fix: remove the file, or build a new version."
    )


@pytest.mark.parametrize("run_checks", [validate, validate_all_versions])
def test_a_version_without_a_manifest_is_found(
    run_checks: Callable[..., list[Finding]], good: Path, tmp_path: Path
) -> None:
    shutil.copytree(good, tmp_path / "0.1.0")
    (tmp_path / "0.1.0/manifest.json").unlink()
    message = (
        f"LB004 error: {tmp_path}/0.1.0/manifest.json: cannot read the manifest: No such file or "
        "directory. Fix: rebuild the version from its definition, or download it again."
    )
    assert [format_text(finding) for finding in run_checks(tmp_path)] == [message]
    assert [format_text(finding) for finding in run_checks(tmp_path / "0.1.0")] == [message]
    shutil.copytree(good, tmp_path / "0.2.0")
    assert [format_text(finding) for finding in run_checks(tmp_path)] == [message]


@pytest.mark.parametrize("run_checks", [validate, validate_all_versions])
def test_a_cut_manifest_is_a_finding(
    run_checks: Callable[..., list[Finding]], good: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    (copy / "manifest.json").write_text('{\n "definition": {')
    (finding,) = run_checks(copy)
    assert format_text(finding) == (
        f"LB004 error: {copy}/manifest.json: cannot read the manifest: Expecting property name "
        "enclosed in double quotes: line 2 column 17 (char 18). Fix: rebuild the version from its "
        "definition, or download it again."
    )


def _convert_line_endings(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def test_what_git_does_to_files_is_named(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(good, copy)
    _convert_line_endings(copy / "manifest.json")
    _convert_line_endings(copy / "trec/2022-06/qrels.txt")
    (copy / "queries_map.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha")
    (copy / "topics.parquet").write_bytes((good / "topics.parquet").read_bytes()[:1000])
    size = (good / "topics.parquet").stat().st_size
    texts = [format_text(finding).replace(f"{copy}/", "") for finding in validate(copy)]
    assert [text.partition(" Fix: ")[0] for text in texts] == [
        "LB003 error: queries_map.parquet: the file is a Git LFS pointer.",
        f"LB003 error: topics.parquet: the file was truncated: 1,000 bytes instead of {size:,}.",
        "LB003 error: trec/2022-06/qrels.txt: the line endings of the file were converted to CRLF.",
        "LB004 error: manifest.json: the line endings of the file were converted to CRLF.",
        f"LB101 error: topics: cannot read topics.parquet: {NO_PARQUET}",
        f"LB101 error: queries_map: cannot read queries_map.parquet: {POINTER}",
    ]
    attributes = (
        "put a line such as `collections/** -text` into .gitattributes, so that Git does not "
        "convert line endings, and check out the file again."
    )
    rebuild = "rebuild the version from its definition, or download it again."
    assert [text.partition(" Fix: ")[2] for text in texts] == [
        "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`.",
        rebuild,
        attributes,
        attributes,
        rebuild,
        rebuild,
    ]


@pytest.mark.parametrize(
    ("content", "message", "fix"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n",
            "the file is a Git LFS pointer",
            "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`",
        ),
        (
            b'{\n<<<<<<< HEAD\n "format": 1,\n=======\n "format": 1,\n>>>>>>> new\n}\n',
            "the file contains conflict markers of Git",
            (
                "restore the file from one branch, for example with `git checkout --theirs`; files "
                "of a version cannot be merged"
            ),
        ),
    ],
)
def test_what_git_left_instead_of_a_manifest_is_named(
    content: bytes, message: str, fix: str, good: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    (copy / "manifest.json").unlink()
    (copy / "manifest.json").write_bytes(content)
    (finding,) = validate(copy)
    assert format_text(finding) == (
        f"LB004 error: {copy}/manifest.json: cannot read the manifest: {message}. Fix: {fix}."
    )
    with pytest.raises(FormatError) as raised:
        builder.open_collection(copy).manifest  # noqa: B018 - the property reads the file
    assert str(raised.value) == (
        f"{copy}/manifest.json: cannot read the manifest: {message}; {fix}"
    )


def test_a_table_that_git_did_not_fetch_is_named(good: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    path = copy / "snapshots/2022-06/qrels.parquet"
    _remove_and_write(path, b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n")
    with pytest.raises(FormatError) as raised:
        builder.open_collection(copy).snapshot("2022-06").qrels  # noqa: B018 - reads the schema
    assert str(raised.value) == (
        f"{path}: expected a Parquet table: the file is a Git LFS pointer; fetch the file with "
        "`git lfs pull`; in GitHub Actions, check out with `lfs: true`"
    )


def test_exported_documents_with_other_line_endings_are_one_finding(
    good: Path, tmp_path: Path
) -> None:
    """LB219 also said that the export has one document, because no other had been recognized."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    name = "trec/2022-06/fr/documents/part-00000.trec"
    _remove_and_write(copy / name, (good / name).read_bytes().replace(b"\n", b"\r\n"))
    found = [(f.check, f.where, f.message) for f in validate(copy)]
    assert found == [("LB003", name, "the line endings of the file were converted to CRLF")]
    seal(copy)
    assert [(f.check, f.where, f.message) for f in validate(copy)] == [
        ("LB219", name, "lines end with CRLF")
    ]


def test_the_changed_line_of_a_card_is_named(good: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    lines = (good / "README.md").read_text().splitlines()
    assert "## Citation" in lines
    _remove_and_write(copy / "README.md", "\n".join([*lines, "", "Ask Ann."]).encode())
    seal(copy)
    (finding,) = validate(copy)
    assert (finding.check, finding.where, finding.message) == (
        "LB123",
        "README.md",
        f"line {len(lines) + 2} does not match the manifest: 'Ask Ann.'",
    )
    lines.remove("## Citation")
    _remove_and_write(copy / "README.md", "\n".join(lines).encode())
    seal(copy)
    (finding,) = validate(copy)
    assert finding.message == "the line '## Citation', expected from the manifest, is missing"


def test_a_card_of_another_version_of_the_software_is_not_rendered_again(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    monkeypatch.setattr(descriptions, "__version__", "99.0.0")
    _remove_and_write(copy / "README.md", (good / "README.md").read_bytes() + b"New words.\n")
    seal(copy)
    assert validate(copy) == []


def test_a_manifest_without_its_hash_is_one_of_an_older_version(good: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    edit_manifest(copy, lambda m: m.pop("metadata_sha256"))
    seal(copy)
    assert validate(copy) == []


def test_files_that_may_not_be_read_are_findings(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ended at the first of them, and did not say what else is wrong."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    (copy / "notes.txt").touch()
    forbidden = {str(copy / "README.md"), str(copy / "SHA256SUMS")}
    open_file = io.open

    def open_unless_forbidden(path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path) in forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(io, "open", open_unless_forbidden)
    found = [(f.check, f.where, f.message) for f in validate(copy)]
    denied = "cannot read the file: Permission denied"
    assert found == [
        ("LB002", "notes.txt", "the file is not listed in the manifest"),
        ("LB003", "README.md", denied),
        ("LB004", "SHA256SUMS", denied),
        ("LB123", "README.md", denied),
    ]


def test_a_smaller_file_need_not_be_cut(good: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    sizes = {}
    for name in ("topics.parquet", "trec/2022-06/urls.tsv", "README.md", "report.html"):
        sizes[name] = (copy / name).stat().st_size
    pl.read_parquet(copy / "topics.parquet").head(1).write_parquet(copy / "topics.parquet")
    for name, data in (("README.md", b""), ("report.html", b"x" * (sizes["report.html"] + 1))):
        _remove_and_write(copy / name, data)
    text = (good / "trec/2022-06/urls.tsv").read_bytes().replace(b"https", b"http", 1)
    _remove_and_write(copy / "trec/2022-06/urls.tsv", text)
    small = (copy / "topics.parquet").stat().st_size
    found = {finding.where: finding.message for finding in validate(copy, select=("LB003",))}
    urls = sizes["trec/2022-06/urls.tsv"]
    assert found == {
        "README.md": f"the file was truncated: 0 bytes instead of {sizes['README.md']:,}",
        "report.html": f"the file was changed: {sizes['report.html'] + 1:,} bytes instead of "
        f"{sizes['report.html']:,}",
        "topics.parquet": f"the file was changed: {small:,} bytes instead of "
        f"{sizes['topics.parquet']:,}",
        "trec/2022-06/urls.tsv": f"the file was changed: {urls - 1:,} bytes instead of {urls:,}",
    }


def _remove_and_write(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("writer", ["polars", "pandas"])
def test_rows_that_another_program_wrote_are_checked(
    writer: str, good: Path, tmp_path: Path
) -> None:
    """Only the encoding of the strings differs; five judgements and a document are bogus."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    path = copy / "snapshots/2022-06/qrels.parquet"
    rows = pl.read_parquet(path)
    fewer = rows.head(5).with_columns(doc_id=pl.lit("d" + 16 * "f"))
    path.unlink()
    if writer == "polars":
        fewer.write_parquet(path)
    else:
        table = fewer.with_columns(pl.col("source").cast(pl.Categorical), __index_level_0__=1)
        pq.write_table(table.to_arrow(), path)
    found = {finding.check: finding for finding in validate(copy)}
    assert {"LB003", "LB101", "LB105", "LB111", "LB219"} <= found.keys()
    assert found["LB105"].message == (
        f"expected {rows.height} rows according to the manifest, found 5"
    )
    assert UNCHECKED not in found["LB101"].message
    assert [finding.check for finding in validate(copy, select=("LB111",))] == ["LB111"]


def test_tables_that_the_selected_checks_skip_are_named(good: Path, tmp_path: Path) -> None:
    """`validate --select LB111` found nothing, because it could not read the judgements."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    path = copy / "snapshots/2022-06/qrels.parquet"
    rows = pl.read_parquet(path).with_columns(pl.col("grade").cast(pl.Int64))
    path.unlink()
    rows.write_parquet(path)
    (finding,) = validate(copy, select=("LB111",))
    assert (finding.check, finding.severity, finding.where) == (
        "LB101",
        "error",
        "snapshots/2022-06/qrels",
    )
    assert finding.message.startswith("columns of qrels.parquet differ from schema Qrels/")
    assert finding.message.endswith(UNCHECKED)
    (finding,) = validate(copy, select=("LB111",), severities={"LB101": "warning"})
    assert finding.severity == "warning"
    assert validate(copy, select=("LB111",), ignore=("LB101",)) == []
    assert validate(copy, select=("LB001",)) == []


def test_english_texts_of_documents_are_missed(good: Path, tmp_path: Path) -> None:
    """A collection in two languages whose queries are translated and whose documents are not."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    edit_manifest(
        copy, lambda m: m["definition"]["collection"].__setitem__("languages", ["fr", "en"])
    )
    for name in ("2022-06", "2022-07"):
        edit(copy, f"snapshots/{name}/queries", every(text_en="water"))
    edit(copy, "snapshots/2022-06/documents", every(text_en="Water."))
    edit(copy, "snapshots/2022-07/documents", every(text_en=" "))
    found = [(f.where, f.message) for f in validate(copy, select=("LB225",))]
    assert found == [("snapshots/2022-07/documents", "no document has an English text")]


def test_a_file_listed_with_two_checksums(good: Path, tmp_path: Path) -> None:
    """Only the last line of a file was compared."""
    copy = Path(shutil.copytree(good, tmp_path / "copy"))
    sums = (good / "SHA256SUMS").read_text()
    (copy / "SHA256SUMS").unlink()
    (copy / "SHA256SUMS").write_text(f"{'0' * 64}  README.md\n{sums}")
    (finding,) = validate(copy)
    assert (finding.check, finding.count, finding.examples) == ("LB004", 1, ("README.md",))
