"""Which files of judgements an import reads: variants, names of folders, backup copies."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.imports.files import BACKUP_COPY_IS_NOT_READ
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.unread import NOT_NAMED, UnreadFiles, find_unread_files
from builder.collection.imports.variants import OTHER_VARIANT
from builder.collection.imports.walk import list_release_files
from builder.io.file_types import BACKUP_COPY
from tests.collection.releases import imported, opened, write

MONTHS = {1: "2025-03", 2: "2025-06", 3: "2025-09"}
PAGE = "<DOC>\n<DOCNO>doc7</DOCNO>\n<TEXT>\nUne page.\n</TEXT>\n</DOC>\n"
MIXED = (
    "the snapshots have judgements of different variants, so their scores are not "
    "comparable: 2025-03 (dctr), 2025-06 (raw), 2025-09 (not named); use --qrels to import "
    "only one variant"
)
MISSING = (
    "snapshots that do not have the selected qrels variant are imported without judgements; "
    "available variants: 2025-06 (llm, raw), 2025-09 (raw)"
)


def _papers_of_2026(root: Path, variants: Mapping[int, tuple[str, ...]]) -> Path:
    """A release of three snapshots, with the variants of the judgements that each has."""
    for number in MONTHS:
        home = root / f"longeval_sci_training_2026/snapshot-{number}"
        write(home / "queries.txt", "a\twater\n")
        for variant in variants.get(number, ()):
            write(home / f"qrels-snapshot-{number}{variant}.txt", "a 0 11 1\n")
    return root


@pytest.mark.parametrize(
    ("variants", "selected", "read", "warnings"),
    [
        ({1: ("-raw", "-dctr", "-llm"), 2: ("-raw",), 3: ("-llm", "-raw")}, None, "raw", []),
        ({1: ("-raw", "-dctr"), 2: ("-dctr", "-raw")}, None, "dctr", []),
        (
            {1: ("-dctr",), 2: ("-raw", "-llm"), 3: ("",)},
            None,
            "dctr raw ",
            [MIXED],
        ),
        (
            {1: ("-dctr",), 2: ("-raw", "-llm"), 3: ("-raw",)},
            "dctr",
            "dctr",
            [MISSING],
        ),
    ],
)
def test_all_snapshots_have_the_same_variant(
    variants: dict[int, tuple[str, ...]],
    selected: str | None,
    read: str,
    warnings: list[str],
    tmp_path: Path,
) -> None:
    """Without a word, each snapshot got the variant that it preferred."""
    release = _papers_of_2026(tmp_path / "r", variants)
    arguments = ["import", str(release), "--layout", "longeval-sci", "--out", str(tmp_path / "o")]
    option = ["--qrels", selected] if selected else []
    said = CliRunner().invoke(app, [*arguments, *option, "--explain"])
    assert said.exit_code == 0
    assert said.stderr.splitlines() == [f"warning: {warning}" for warning in warnings]
    files = list_release_files(release)
    snapshots = find_snapshots(files, "longeval-sci", selected)
    names = {path.stem.rpartition("-")[2] for s in snapshots for path in s.qrels}
    assert {name if name.isalpha() else "" for name in names} == {*read.split(" ")}
    reasons = {files.reason for files in find_unread_files(files, snapshots).values()}
    assert reasons <= {OTHER_VARIANT}


def test_a_snapshot_of_2026_has_three_months(tmp_path: Path) -> None:
    release = _papers_of_2026(tmp_path / "r", {1: ("-raw",), 2: ("-raw",), 3: ("-raw",)})
    report = imported(release, "longeval-sci")
    described = opened(report).manifest["definition"]["snapshots"]
    assert [(s["start"], s["end"]) for s in described] == [
        ("2025-03-01", "2025-06-01"),
        ("2025-06-01", "2025-09-01"),
        ("2025-09-01", "2025-12-01"),
    ]


@pytest.mark.parametrize(
    ("name", "is_copy"),
    [
        ("qrels_processed.txt.bak", True),
        ("qrels_processed.txt.BAK.gz", True),
        ("qrels_processed.txt~", True),
        ("qrels_processed (1).txt", True),
        ("qrels_processed - Copy.txt.gz", True),
        ("qrels_processed - Copie (2).txt", True),
        ("qrels_processed.txt.crdownload", True),
        ("a.trec.part", True),
        ("part (a).txt", False),
        ("collector_kodicare_1.txt.trec", False),
        ("qrels.old.txt", False),
    ],
)
def test_the_name_of_a_backup_copy(name: str, is_copy: bool) -> None:
    assert bool(BACKUP_COPY.search(name)) == is_copy


def test_backup_copies_are_not_read(tmp_path: Path) -> None:
    """The grades of the copies replaced those of the published file."""
    write(tmp_path / "r/Trec/2022-06_fr/a.txt", PAGE)
    write(tmp_path / "r/queries/2022-06_queries.txt", "1\teau\n")
    write(tmp_path / "r/qrels/2022-06_fr/qrels_processed.txt", "1 0 7 2\n")
    copies = [
        "Trec/2022-06_fr/a.txt.part",
        "qrels/2022-06_fr/qrels_processed (1).txt",
        "qrels/2022-06_fr/qrels_processed.txt.bak",
        "qrels/2022-06_fr/qrels_processed.txt~",
        "queries/2022-06_queries (1).txt",
    ]
    for path in copies:
        write(tmp_path / "r" / path, "1 0 7 0\n")
    report = imported(tmp_path / "r", "longeval-web")
    assert opened(report).snapshot("2022-06").qrels.collect()["grade"].to_list() == [2]
    assert report.ledgers["2022-06"].rejected == {}
    assert report.plan.unread_files == {
        path: UnreadFiles(BACKUP_COPY_IS_NOT_READ, 1) for path in copies
    }


def test_judgements_of_renamed_folders_are_found(tmp_path: Path) -> None:
    """Their snapshots had no judgements, because the folders had other names than the files."""
    for folder, split in (("LongEval-2022-06-train", "train"), ("July-2022-07", "test07")):
        write(tmp_path / f"r/{folder}/French/Queries/{split}.tsv", "q1\teau\n")
    judgements = tmp_path / "r/longeval-relevance-judgements"
    for name in ("heldout-test", "a-short-july", "2022_07-more", "b-long-september", "other"):
        write(judgements / f"{name}.txt", "q1 0 7 1\n")
    files = list_release_files(tmp_path / "r")
    snapshots = find_snapshots(files, "longeval-2023")
    assert {s.name: [path.stem for path in s.qrels] for s in snapshots} == {
        "2022-06": ["heldout-test"],
        "2022-07": ["2022_07-more", "a-short-july"],
    }
    assert find_unread_files(files, snapshots) == {
        "longeval-relevance-judgements": UnreadFiles(NOT_NAMED, 2)
    }
    arguments = ["--layout", "longeval-2023", "--out", str(tmp_path / "o"), "--explain"]
    said = CliRunner().invoke(app, ["import", str(tmp_path / "r"), *arguments])
    assert said.stderr == (
        "warning: skipped 2 files in qrels folders, such as longeval-relevance-judgements; if "
        "these are judgements, rename the files, or the folders of the snapshots, to match the "
        "layout\n"
    )


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("longeval_sci_testing_2025_fulltext/queries.txt", "test"),
        ("longeval_sci_training_2025_fulltext/queries.txt", "train"),
        ("longeval_sci_testing_2025_fulltext/queries_2025-01_train.txt", "train"),
    ],
)
def test_the_folder_of_papers_names_the_split(path: str, split: str, tmp_path: Path) -> None:
    """Only the name of the file counted."""
    write(tmp_path / "r" / path, "1\twater\n")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    assert [found for _, _, found in snapshot.queries] == [split]
