"""Files of a release that an import lists, plans to read, leaves unread, or finds empty."""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from builder.collection.imports.files import TREC_IS_READ, SnapshotFiles
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.origin import Release
from builder.collection.imports.own_exports import (
    exported_language,
    has_escaped_markup,
    is_own_export,
)
from builder.collection.imports.plan import ImportPlan
from builder.collection.imports.publish import _snapshot_interval
from builder.collection.imports.release import _check_tables_not_empty
from builder.collection.imports.unread import (
    NOT_NAMED,
    UnreadFiles,
    find_unread_documents,
    find_unread_files,
    find_unread_judgements,
)
from builder.collection.imports.walk import ReleaseFiles, list_release_files
from builder.errors import DataError
from builder.runtime.ledger import RowLedger
from tests.collection.release_files import ROOT, WEB
from tests.collection.releases import write


@pytest.mark.parametrize(
    ("name", "months", "start", "end"),
    [
        ("2022-06", 1, date(2022, 6, 1), date(2022, 7, 1)),
        ("2022-12", 1, date(2022, 12, 1), date(2023, 1, 1)),
        ("2025-09", 3, date(2025, 9, 1), date(2025, 12, 1)),
        ("2025-11", 3, date(2025, 11, 1), date(2026, 2, 1)),
        ("2022-06-30", 1, date(2022, 6, 30), date(2022, 7, 1)),
    ],
)
def test_the_days_of_a_snapshot(name: str, months: int, start: date, end: date) -> None:
    assert _snapshot_interval(SnapshotFiles(name, months=months)) == (start, end)


FILE = Path("French/a.txt")
FRENCH_FILE, ENGLISH_FILE = (ROOT / "f.txt", "fr", "train"), (ROOT / "e.txt", "en", "train")
NO_DATA = "nothing was published; use --allow-empty if the release has no such data"


@pytest.mark.parametrize(
    ("files", "rows", "message"),
    [
        (SnapshotFiles("2022-06"), (1, 0, 0), None),
        (SnapshotFiles("2022-06", queries=[FRENCH_FILE]), (1, 0, 0), None),
        (
            SnapshotFiles("2022-06"),
            (0, 1, 1),
            (
                "found no query file; expected queries/<YYYY-MM>_queries.txt and "
                f"qrels/<YYYY-MM>_fr/*.txt; {NO_DATA}"
            ),
        ),
        (
            SnapshotFiles("2022-06", queries=[ENGLISH_FILE]),
            (0, 1, 1),
            (
                "expected queries in French, the language of the release, found only English "
                "queries in e.txt; nothing was published; add the French queries, or use "
                "--allow-empty to import the snapshot without queries"
            ),
        ),
        (
            SnapshotFiles("2022-06", queries=[FRENCH_FILE, ENGLISH_FILE]),
            (0, 1, 1),
            f"no queries could be read from 2 files (1,200 no_tab, 3 not_utf8); {NO_DATA}",
        ),
        (
            SnapshotFiles("2022-06", queries=[FRENCH_FILE], qrels=[FILE]),
            (1, 0, 1),
            f"no qrels could be read from 1 file (1,200 no_tab, 3 not_utf8); {NO_DATA}",
        ),
        (
            SnapshotFiles("2022-07", queries=[FRENCH_FILE], documents={"fr": [FILE], "en": [FILE]}),
            (1, 1, 0),
            f"no documents could be read from 2 files (the files are empty); {NO_DATA}",
        ),
    ],
)
def test_files_without_a_row_are_an_error(
    files: SnapshotFiles, rows: tuple[int, int, int], message: str | None
) -> None:
    ledgers = {
        "2022-06": RowLedger("records", rejected=Counter({"not_utf8": 3, "no_tab": 1200})),
        "2022-07": RowLedger("records"),
    }
    counts = {files.name: dict(zip(("queries", "qrels", "documents"), rows, strict=True))}
    if message is None:
        _check_tables_not_empty(WEB, [files], counts, ledgers)
        return
    with pytest.raises(DataError) as error:
        _check_tables_not_empty(WEB, [files], counts, ledgers)
    assert str(error.value) == f"{files.name}: {message}"


def test_an_english_release_may_have_only_english_queries() -> None:
    files = SnapshotFiles("2022-06", queries=[ENGLISH_FILE])
    counts = {"2022-06": {"queries": 0, "qrels": 0, "documents": 0}}
    ledgers = {"2022-06": RowLedger("records")}
    with pytest.raises(DataError, match=r"no queries could be read from 1 file \(the files are"):
        _check_tables_not_empty(Release(ROOT, "longeval-web", "en"), [files], counts, ledgers)


def _unread(names: list[str], snapshot: SnapshotFiles) -> dict[str, UnreadFiles]:
    return find_unread_files(ReleaseFiles(ROOT, [ROOT / name for name in names]), [snapshot])


def test_unread_files_of_a_folder_with_one_reason_are_counted_together() -> None:
    snapshot = SnapshotFiles("2022-06", qrels=[ROOT / "qrels/read.txt"])
    snapshot.skip([ROOT / "b/2.txt"], "why")
    backup = "backup copies or incomplete downloads, judging by the file names"
    names = ["1.txt", "2.txt", "a/1.txt", "a/2.txt", "a/3.txt", "b/1.txt", "b/2.txt", "c/1.txt"]
    names += ["qrels/read.txt", "d/a.txt.bak", "d/b.txt.bak", "qrels-raw.txt", "../old/a.txt"]
    names += [".git/a", "a/metadata.json", "SHA256SUMS", "longeval-export.json", "docstore/x"]
    assert _unread(names, snapshot) == {
        "1.txt": UnreadFiles(NOT_NAMED, 1),
        "2.txt": UnreadFiles(NOT_NAMED, 1),
        "a": UnreadFiles(NOT_NAMED, 3),
        "b/1.txt": UnreadFiles(NOT_NAMED, 1),
        "b/2.txt": UnreadFiles("why", 1),
        "c/1.txt": UnreadFiles(NOT_NAMED, 1),
        "d/a.txt.bak": UnreadFiles(backup, 1),
        "d/b.txt.bak": UnreadFiles(backup, 1),
        "qrels-raw.txt": UnreadFiles("judgements of a variant that is not imported", 1),
        "../old/a.txt": UnreadFiles(NOT_NAMED, 1),
    }


UNREAD = {
    "Trec/2023-07_fr": UnreadFiles("2023-07 has no queries and no judgements", 2),
    "Json/2022-06_fr": UnreadFiles(TREC_IS_READ, 2),
    "a/Documents/b.txt": UnreadFiles(NOT_NAMED, 1),
    "a/documents/c.jsonl": UnreadFiles(FULL_TEXT_IS_READ, 1),
    "Qrels/a.txt": UnreadFiles(NOT_NAMED, 1),
    "longeval-relevance-judgements": UnreadFiles(NOT_NAMED, 3),
    "qrels/b.txt": UnreadFiles("why", 1),
    "qrels.txt": UnreadFiles(NOT_NAMED, 1),
}


def test_unread_files_that_may_be_documents_or_judgements() -> None:
    assert find_unread_documents(UNREAD) == ["Trec/2023-07_fr", "a/Documents/b.txt"]
    assert find_unread_judgements(UNREAD) == ["Qrels/a.txt", "longeval-relevance-judgements"]


def test_what_a_plan_counts_and_warns_of() -> None:
    with_documents = SnapshotFiles(
        "2022-06", queries=[FRENCH_FILE], documents={"fr": [FILE, FILE], "en": [FILE]}
    )
    without = [SnapshotFiles(name, qrels=[FILE, FILE]) for name in ("2022-07", "2022-08")]
    plan = ImportPlan(ROOT, ROOT / "1.0.0", [with_documents, *without], UNREAD, (), ())
    assert plan.file_counts() == {
        "2022-06": {"queries": 1, "qrels": 0, "documents": 3},
        "2022-07": {"queries": 0, "qrels": 2, "documents": 0},
        "2022-08": {"queries": 0, "qrels": 2, "documents": 0},
    }
    documents = (
        "no document files are read for 2022-07, 2022-08, but files in document folders are "
        "skipped, such as Trec/2023-07_fr; if these are documents, rename them to match the layout"
    )
    judgements = (
        "skipped 4 files in qrels folders, such as Qrels/a.txt; if these are judgements, rename "
        "the files, or the folders of the snapshots, to match the layout"
    )
    assert plan.warnings() == [documents, judgements]
    complete = ImportPlan(ROOT, ROOT / "1.0.0", [with_documents], UNREAD, (), ())
    assert complete.warnings() == [judgements]
    assert ImportPlan(ROOT, ROOT / "1.0.0", without, {}, (), ()).warnings() == []


def test_variants_of_judgements_that_differ_or_are_missing_are_named() -> None:
    names = {"2025-03": "qrels-raw.txt", "2025-06": "qrels-llm.txt", "2025-09": "qrels.txt"}
    snapshots = [SnapshotFiles(name, qrels=[ROOT / path]) for name, path in names.items()]
    skipped = SnapshotFiles("2025-12")
    skipped.skip([ROOT / "qrels-raw.txt", ROOT / "qrels-dctr.txt"], "why")
    plan = ImportPlan(ROOT, ROOT, [*snapshots, skipped, SnapshotFiles("2026-03")], {}, (), ())
    assert plan.warnings() == [
        (
            "the snapshots have judgements of different variants, so their scores are not "
            "comparable: 2025-03 (raw), 2025-06 (llm), 2025-09 (not named); use --qrels to import "
            "only one variant"
        ),
        (
            "snapshots that do not have the selected qrels variant are imported without "
            "judgements; available variants: 2025-12 (dctr, raw)"
        ),
    ]
    assert ImportPlan(ROOT, ROOT, snapshots[:1], {}, (), ()).warnings() == []


def test_links_that_lead_nowhere_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "r/a/file.txt", "x")
    for name, target in (
        ("r/broken", "none"),
        ("r/itself", "itself"),
        ("r/up", "."),
        ("r/copy", "a"),
        ("r/away", "../other"),
    ):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "other").mkdir()
    found = list_release_files(tmp_path / "r")
    names = [path.relative_to(tmp_path / "r").as_posix() for path in found.paths]
    assert names == ["a/file.txt", "copy/file.txt"]
    assert [path.name for path in found.external_links] == ["away", "broken", "itself"]


def test_prior_datasets_are_folders_with_metadata(tmp_path: Path) -> None:
    for name in ("second", "first", "plain"):
        write(tmp_path / name / "queries.txt", "1\twater\n")
    write(tmp_path / "first/metadata.json", '{"prior-datasets": "../plain/"}')
    named = '{"prior-datasets": ["../first/", "first", 3, "../plain/", "../none\\u0000/"]}'
    write(tmp_path / "second/metadata.json", named)
    found = list_release_files(tmp_path / "second")
    assert [path.relative_to(tmp_path).as_posix() for path in found.paths] == [
        "first/metadata.json",
        "first/queries.txt",
        "second/metadata.json",
        "second/queries.txt",
    ]
    assert found.missing_datasets == ["../plain/", "../none\0/"]
    assert found.external_links == []


@pytest.mark.parametrize(
    ("described", "own", "is_escaped", "language"),
    [
        ('{"markup": "none", "languages": ["en"]}', True, False, "en"),
        ('{"markup": "TREC tags are escaped", "languages": ["fr", "en"]}', True, True, None),
        ('{"markup": "TREC tags are escaped", "languages": "fr"}', True, True, None),
        ('{"languages": ["fr"]}', False, False, "fr"),
        ("[]", False, False, None),
        (None, False, False, None),
    ],
)
def test_the_nearest_description_of_an_export_counts(
    described: str | None, own: bool, is_escaped: bool, language: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "a/deep/b.txt", "x")
    if described is not None:
        outer = '{"markup": "other", "languages": ["de"]}'
        write(tmp_path / "longeval-export.json", outer)
        write(tmp_path / "a/longeval-export.json", described)
    path = tmp_path / "a/deep/b.txt"
    found = (is_own_export(path), has_escaped_markup(path), exported_language(path))
    assert found == (own, is_escaped, language)
