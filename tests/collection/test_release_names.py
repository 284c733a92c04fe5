"""What the names of files and folders of a release say: month, language, split, kind, variant."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builder.collection.imports.files import (
    SnapshotFiles,
    infer_split_from_path,
    parse_date_in_name,
    read_metadata_month,
    read_metadata_value,
    relative_path,
    unknown_month_error,
    words_in_name,
)
from builder.collection.imports.files_2023 import COMBINED
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.files_web import (
    FRENCH_QRELS_ARE_READ,
    PREFERRED_QRELS_ARE_READ,
)
from builder.collection.imports.layouts import detect_source_language, find_snapshots
from builder.collection.imports.variants import OTHER_VARIANT, detect_qrels_variant
from builder.collection.imports.walk import ReleaseFiles
from builder.errors import UsageError
from tests.collection.releases import write

ROOT = Path("/no/such/release")
TREC_IS_READ = "the TREC files of the snapshot are read instead"


def described(snapshot: SnapshotFiles, root: Path = ROOT) -> dict[str, Any]:
    """The files of a snapshot by kind, relative to the release; empty kinds are left out."""
    of = {
        "queries": [(relative_path(p, root), *rest) for p, *rest in snapshot.queries],
        "qrels": [relative_path(p, root) for p in snapshot.qrels],
        "documents": {
            language: [relative_path(p, root) for p in paths]
            for language, paths in snapshot.documents.items()
        },
        "urls": snapshot.url_list and relative_path(snapshot.url_list, root),
        "databases": [relative_path(p, root) for p in snapshot.url_databases],
        "texts": [(relative_path(p, root), language) for p, language in snapshot.query_texts],
        "skipped": {relative_path(p, root): reason for p, reason in snapshot.skipped.items()},
        "months": None if snapshot.months == 1 else f"{snapshot.months} months",
        "number": snapshot.number,
    }
    return {kind: found for kind, found in of.items() if found}


def found(
    layout: str, names: Sequence[str], variant: str | None = None, root: Path = ROOT
) -> dict[str, Any]:
    """The snapshots that files with these names have in a layout; none of the files exists."""
    files = ReleaseFiles(root, sorted(root / name for name in names))
    return {s.name: described(s, root) for s in find_snapshots(files, layout, variant)}


@pytest.mark.parametrize(
    ("names", "snapshots"),
    [
        (
            (
                "2022-06_queries.txt",
                "English/2022-06_queries.txt.gz",
                "2022-06-15_qrels.txt",
                "2022-06_en_qrels.txt",
                "2022-06_fr_qrels_processed.txt",
            ),
            {
                "2022-06": {
                    "queries": [
                        ("2022-06_queries.txt", "fr", "train"),
                        ("English/2022-06_queries.txt.gz", "en", "train"),
                    ],
                    "qrels": ["2022-06_fr_qrels_processed.txt"],
                    "skipped": {"2022-06_en_qrels.txt": FRENCH_QRELS_ARE_READ},
                },
                "2022-06-15": {"qrels": ["2022-06-15_qrels.txt"]},
            },
        ),
        (
            ("2022-13_queries.txt", "2022-06_queries.txt", "2022-06_en_qrels.txt"),
            {
                "2022-06": {
                    "queries": [("2022-06_queries.txt", "fr", "train")],
                    "qrels": ["2022-06_en_qrels.txt"],
                }
            },
        ),
        (
            (
                "qrels/2022-06_fr/a.txt",
                "qrels/2022-06_fr/b.txt",
                "qrels/2022-06_fr/.c.txt",
                "other/2022-06_fr/d.txt",
                "queries/2022-06_queries.txt",
            ),
            {
                "2022-06": {
                    "queries": [("queries/2022-06_queries.txt", "fr", "train")],
                    "qrels": ["qrels/2022-06_fr/a.txt", "qrels/2022-06_fr/b.txt"],
                }
            },
        ),
        (
            (
                "2022-06_qrels.txt",
                "2022-06_qrels_processed.txt",
                "2022-06_fr_qrels_processed.txt",
            ),
            {
                "2022-06": {
                    "qrels": ["2022-06_qrels_processed.txt"],
                    "skipped": {
                        "2022-06_qrels.txt": PREFERRED_QRELS_ARE_READ,
                        "2022-06_fr_qrels_processed.txt": PREFERRED_QRELS_ARE_READ,
                    },
                }
            },
        ),
        (
            (
                "English/Trec/2022-06_en/a.trec",
                "Json/2022-06_fr/a.json",
                "Json/2022-06_en/a.json",
                "Trec/2022-06_fr/deep/a.trec",
                "Trec/2022-06_fr/docstore.pklz4/a",
                "Trec/2022-06_de/a.trec",
                "2022-06_fr/a.trec",
                "2022-06_qrels.txt",
                "p1/French/collection_db.db",
                "p2/collection_db.db",
                "queries_db.db",
                "p1/queries.txt",
                "English/queries.txt",
            ),
            {
                "2022-06": {
                    "qrels": ["2022-06_qrels.txt"],
                    "documents": {
                        "en": ["English/Trec/2022-06_en/a.trec"],
                        "fr": ["Trec/2022-06_fr/deep/a.trec"],
                    },
                    "databases": ["p1/French/collection_db.db", "p2/collection_db.db"],
                    "texts": [
                        ("queries_db.db", "fr"),
                        ("English/queries.txt", "en"),
                        ("p1/queries.txt", "fr"),
                    ],
                    "skipped": {
                        "Json/2022-06_en/a.json": TREC_IS_READ,
                        "Json/2022-06_fr/a.json": TREC_IS_READ,
                    },
                }
            },
        ),
        (
            (
                "2022-06_qrels.txt",
                "Json/2022-06_fr/a.json",
                "Trec/2022-08_fr/a.trec",
                "Trec/2022-07_fr/a.trec",
                "2022-09_qrels.txt",
            ),
            {
                "2022-06": {
                    "qrels": ["2022-06_qrels.txt"],
                    "documents": {"fr": ["Json/2022-06_fr/a.json"]},
                    "skipped": {
                        "Trec/2022-07_fr/a.trec": "2022-07 has no queries and no judgements",
                        "Trec/2022-08_fr/a.trec": "2022-08 has no queries and no judgements",
                    },
                },
                "2022-09": {"qrels": ["2022-09_qrels.txt"]},
            },
        ),
    ],
)
def test_files_of_a_web_release(names: tuple[str, ...], snapshots: dict[str, Any]) -> None:
    assert found("longeval-web", names) == snapshots


@pytest.mark.parametrize(
    ("names", "snapshots"),
    [
        (
            (
                "publish/French/Queries/test.tsv",
                "publish/French/Queries/.hidden.tsv",
                "publish/French/Queries/deep/more.tsv",
                "publish/French/Queries/test.txt",
                "publish/French/Qrels/a.txt",
                "publish/French/Qrels/metadata.json",
                "publish/French/urls.txt.gz",
                "publish/French/Documents/a.jsonl",
                "publish/French/Documents/Trec/a.txt",
                "publish/French/Documents/Json/b.json",
                "publish/French/Documents/docstore.1",
                "publish/English/Documents/Json/c.json",
                "publish/French/notes/a.txt",
                "publish/readme.txt",
            ),
            {
                "2022-06": {
                    "queries": [
                        ("publish/French/Queries/deep/more.tsv", "fr", "test"),
                        ("publish/French/Queries/test.tsv", "fr", "test"),
                    ],
                    "qrels": ["publish/French/Qrels/a.txt"],
                    "documents": {
                        "fr": [
                            "publish/French/Documents/Trec/a.txt",
                            "publish/French/Documents/a.jsonl",
                        ],
                        "en": ["publish/English/Documents/Json/c.json"],
                    },
                    "urls": "publish/French/urls.txt.gz",
                    "skipped": {"publish/French/Documents/Json/b.json": TREC_IS_READ},
                }
            },
        ),
        (
            (
                "A-Short-July/French/Queries/q.tsv",
                "B-Long-September/French/Queries/q.tsv",
                "longeval-relevance-judgements/A-SHORT-JULY.txt.gz",
                "longeval-relevance-judgements/2022_09.txt",
                "longeval-relevance-judgements/heldout-test.txt",
                "longeval-relevance-judgements/deep/b-long-september.txt",
                "other/b-long-september.txt",
            ),
            {
                "2022-07": {
                    "queries": [("A-Short-July/French/Queries/q.tsv", "fr", "test")],
                    "qrels": ["longeval-relevance-judgements/A-SHORT-JULY.txt.gz"],
                },
                "2022-09": {
                    "queries": [("B-Long-September/French/Queries/q.tsv", "fr", "test")],
                    "qrels": ["longeval-relevance-judgements/2022_09.txt"],
                },
            },
        ),
        (
            (
                "snapshot-2_2023-01/fr/Queries/q.tsv",
                "snapshot-2_2023-01/fr/Documents/json/a.txt",
                "snapshot-2_2023-01/fr/Documents/urls.txt",
            ),
            {
                "2023-01": {
                    "queries": [("snapshot-2_2023-01/fr/Queries/q.tsv", "fr", "test")],
                    "documents": {"fr": ["snapshot-2_2023-01/fr/Documents/json/a.txt"]},
                    "urls": "snapshot-2_2023-01/fr/Documents/urls.txt",
                    "number": 2,
                }
            },
        ),
        (
            (
                "2023-01/French/Queries/train.tsv",
                "2023-01/French/Queries/heldout.tsv",
                "2023-01/French/Queries/queries.tsv=train.tsv+heldout.tsv",
                "2023-01/English/Queries/train.tsv",
                "2023-01/English/Queries/queries.tsv=train.tsv",
                "2023-01/English/Queries/more.tsv",
                "2023-01/French/Qrels/qrels.txt=train.txt+heldout.txt",
                "2023-01/French/Qrels/train.txt",
                "2023-01/French/Qrels/heldout.txt",
                "2023-02/French/Queries/a.tsv",
                "2023-02/French/Queries/b.tsv=a.tsv",
                "2023-02/French/Qrels/qrels.txt",
                "2023-02/French/Qrels/qrels.old.txt=qrels.txt",
                "2023-03/French/Queries/train.tsv",
                "2023-03/French/Queries/a.tsv=train.tsv+b.tsv",
                "2023-03/French/Queries/b.tsv",
            ),
            {
                "2023-01": {
                    "queries": [
                        ("2023-01/English/Queries/train.tsv", "en", "train"),
                        ("2023-01/French/Queries/heldout.tsv", "fr", "heldout"),
                        ("2023-01/French/Queries/train.tsv", "fr", "train"),
                        ("2023-01/English/Queries/more.tsv", "en", "test"),
                    ],
                    "qrels": [
                        "2023-01/French/Qrels/heldout.txt",
                        "2023-01/French/Qrels/train.txt",
                    ],
                    "skipped": {
                        "2023-01/English/Queries/queries.tsv": COMBINED,
                        "2023-01/French/Queries/queries.tsv": COMBINED,
                        "2023-01/French/Qrels/qrels.txt": COMBINED,
                    },
                },
                "2023-02": {
                    "queries": [
                        ("2023-02/French/Queries/a.tsv", "fr", "test"),
                        ("2023-02/French/Queries/b.tsv", "fr", "test"),
                    ],
                    "qrels": [
                        "2023-02/French/Qrels/qrels.old.txt",
                        "2023-02/French/Qrels/qrels.txt",
                    ],
                },
                "2023-03": {
                    "queries": [
                        ("2023-03/French/Queries/train.tsv", "fr", "train"),
                        ("2023-03/French/Queries/b.tsv", "fr", "test"),
                    ],
                    "skipped": {"2023-03/French/Queries/a.tsv": COMBINED},
                },
            },
        ),
    ],
)
def test_files_of_a_release_of_2023(
    names: tuple[str, ...], snapshots: dict[str, Any], tmp_path: Path
) -> None:
    """A file has its path as its line, or the lines of the files after `=`."""
    for name, _, parts in (each.partition("=") for each in names):
        folder = Path(name).parent
        lines = [f"{folder / part}\n" for part in parts.split("+")] if parts else [f"{name}\n"]
        write(tmp_path / name, "".join(lines))
    files = ReleaseFiles(tmp_path, sorted(tmp_path / name.partition("=")[0] for name in names))
    snapshots_found = find_snapshots(files, "longeval-2023")
    assert {s.name: described(s, tmp_path) for s in snapshots_found} == snapshots


@pytest.mark.parametrize(
    ("names", "snapshots"),
    [
        (
            (
                "longeval_sci_training_2025_fulltext/documents/a.jsonl",
                "longeval_sci_training_2025_fulltext/queries.txt",
                "longeval_sci_training_2025_abstract/documents/a.jsonl",
                "longeval_sci_testing_2025_x/documents/deep/documents/a.jsonl",
                "longeval_sci_testing_2025_x/documents/.cache/a.jsonl",
                "longeval_sci_testing_2025_x/documents/docstore.pklz4/a",
                "longeval_sci_testing_2025_x/queries_2024-11_test.txt",
                "longeval_sci_testing_2025_x/Queries-2025_01.TSV",
                "qrels/qrels-longeval-sci-2025-01",
                "qrelsold.txt",
                "readme.txt",
            ),
            {
                "2024-11": {
                    "queries": [
                        ("longeval_sci_testing_2025_x/queries_2024-11_test.txt", "en", "heldout"),
                        ("longeval_sci_training_2025_fulltext/queries.txt", "en", "train"),
                    ],
                    "documents": {"en": ["longeval_sci_training_2025_fulltext/documents/a.jsonl"]},
                    "skipped": {
                        "longeval_sci_training_2025_abstract/documents/a.jsonl": FULL_TEXT_IS_READ
                    },
                },
                "2025-01": {
                    "queries": [("longeval_sci_testing_2025_x/Queries-2025_01.TSV", "en", "test")],
                    "qrels": ["qrels/qrels-longeval-sci-2025-01"],
                    "documents": {
                        "en": ["longeval_sci_testing_2025_x/documents/deep/documents/a.jsonl"]
                    },
                },
            },
        ),
        (
            (
                "longeval_sci_2026/snapshot-1/documents/a.jsonl",
                "longeval_sci_2026/snapshot_3/documents/a.jsonl",
                "task1_longeval_adhoc-queries-snapshot-train.tsv",
                "longeval_adhoc-queries-snapshot-test.tsv",
                "qrels-snapshot-2.txt",
                "longeval_adhoc-qrels-snapshot-1-dctr.txt",
                "longeval_adhoc-qrels-snapshot-1-raw.txt",
            ),
            {
                "2025-03": {
                    "queries": [
                        ("task1_longeval_adhoc-queries-snapshot-train.tsv", "en", "train"),
                        ("longeval_adhoc-queries-snapshot-test.tsv", "en", "heldout"),
                    ],
                    "qrels": ["longeval_adhoc-qrels-snapshot-1-dctr.txt"],
                    "documents": {"en": ["longeval_sci_2026/snapshot-1/documents/a.jsonl"]},
                    "skipped": {"longeval_adhoc-qrels-snapshot-1-raw.txt": OTHER_VARIANT},
                    "months": "3 months",
                    "number": 1,
                },
                "2025-06": {
                    "queries": [("longeval_adhoc-queries-snapshot-test.tsv", "en", "test")],
                    "qrels": ["qrels-snapshot-2.txt"],
                    "months": "3 months",
                    "number": 2,
                },
                "2025-09": {
                    "queries": [("longeval_adhoc-queries-snapshot-test.tsv", "en", "test")],
                    "documents": {"en": ["longeval_sci_2026/snapshot_3/documents/a.jsonl"]},
                    "months": "3 months",
                    "number": 3,
                },
            },
        ),
        (
            (
                "longeval_adhoc-queries-snapshot-3.tsv",
                "longeval_sci_06_08_2026/documents/a.jsonl",
                "longeval_sci_test-09-11_2026/snapshot-1/documents/a.jsonl",
                "longeval_sci_2025/2025-03-02/deep/documents/a.jsonl",
                "longeval_sci_2025/2025-03-02/deep/queries.txt",
            ),
            {
                "2025-03-02": {
                    "queries": [("longeval_sci_2025/2025-03-02/deep/queries.txt", "en", "train")],
                    "documents": {"en": ["longeval_sci_2025/2025-03-02/deep/documents/a.jsonl"]},
                    "skipped": {
                        "longeval_sci_06_08_2026/documents/a.jsonl": (
                            "2025-06 has no queries and no judgements"
                        ),
                        "longeval_sci_test-09-11_2026/snapshot-1/documents/a.jsonl": (
                            "2025-03 has no queries and no judgements"
                        ),
                    },
                },
                "2025-09": {
                    "queries": [("longeval_adhoc-queries-snapshot-3.tsv", "en", "train")],
                    "months": "3 months",
                    "number": 3,
                },
            },
        ),
    ],
)
def test_files_of_a_release_of_papers(names: tuple[str, ...], snapshots: dict[str, Any]) -> None:
    assert found("longeval-sci", names) == snapshots


def test_papers_of_the_folder_that_is_imported() -> None:
    names = ["documents/x/a.jsonl", "queries.txt", "qrels.txt"]
    assert found("longeval-sci", names, root=Path("/no/such/test-2024-11")) == {
        "2024-11": {
            "queries": [("queries.txt", "en", "test")],
            "qrels": ["qrels.txt"],
            "documents": {"en": ["documents/x/a.jsonl"]},
        }
    }


@pytest.mark.parametrize(
    ("variants", "chosen", "read", "skipped"),
    [
        (("raw", "dctr", "llm", ""), None, ("dctr", ""), ("llm", "raw")),
        (("raw", "dctr", "llm", ""), "llm", ("llm", ""), ("dctr", "raw")),
        (("raw", "llm"), None, ("raw",), ("llm",)),
        (("llm",), None, ("llm",), ()),
    ],
)
def test_one_variant_of_the_judgements_is_read(
    variants: tuple[str, ...],
    chosen: str | None,
    read: tuple[str, ...],
    skipped: tuple[str, ...],
) -> None:
    names = {v: f"2024-11/qrels-{v}.txt" if v else "2024-11/qrels.txt" for v in variants}
    snapshot = found("longeval-sci", ["2024-11/queries.txt", *names.values()], chosen)["2024-11"]
    assert snapshot["qrels"] == [names[v] for v in read]
    assert snapshot.get("skipped", {}) == {names[v]: OTHER_VARIANT for v in skipped}


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("qrels-snapshot-2-raw.txt", "raw"),
        ("Task1_QRELS-LLM", "llm"),
        ("qrels-dctr", "dctr"),
        ("qrels-rawest.txt", None),
        ("queries-raw.txt", None),
        ("notes-raw.txt", None),
        ("qrels.txt", None),
    ],
)
def test_the_variant_in_a_file_name(name: str, variant: str | None) -> None:
    assert detect_qrels_variant(Path(name)) == variant


@pytest.mark.parametrize(
    ("metadata", "month"),
    [
        ('{"snapshot": "2022-06", "timestamp": "2022-07"}', "2022-06"),
        ('{"snapshot": "s1", "timestamp": "2022-07-15"}', "2022-07-15"),
        ('{"snapshot": "s1", "timestamp": "2022-13"}', ""),
        ('{"snapshot": "2022-06-1"}', ""),
        ('{"snapshot": ""}', None),
        ('{"name": "2022-06"}', None),
        ('["2022-06"]', None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_the_month_in_metadata(metadata: str | None, month: str | None, tmp_path: Path) -> None:
    if metadata is not None:
        write(tmp_path / "metadata.json", metadata)
    assert read_metadata_month(tmp_path / "metadata.json") == month


def test_a_value_in_metadata_keeps_its_type(tmp_path: Path) -> None:
    write(tmp_path / "metadata.json", '{"prior-datasets": ["a/"], "number": 0}')
    values = [
        read_metadata_value(tmp_path / "metadata.json", key)
        for key in ("prior-datasets", "number", "none")
    ]
    assert values == [["a/"], 0, None]


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2022-06", "2022-06"),
        ("collection_2023_01_15.txt", "2023-01-15"),
        ("2022-06_and_2022_06", "2022-06"),
        ("12022-06", None),
        ("2022-061", None),
        ("2022-13", None),
        ("2022-00", None),
        ("2022-12-31", "2022-12-31"),
        ("publish", None),
    ],
)
def test_the_date_in_a_name(name: str, date: str | None) -> None:
    assert parse_date_in_name(Path(name)) == date


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TestCollection_07", {"test", "collection"}),
        ("longeval-TEST-data", {"longeval", "test", "data"}),
        ("queries2024test", {"queries", "test"}),
        ("2022-06", set()),
    ],
)
def test_the_words_in_a_name(name: str, words: set[str]) -> None:
    assert words_in_name(name) == words


@pytest.mark.parametrize(
    ("parts", "split"),
    [
        (("Testing", "2022-06_queries.txt"), "test"),
        (("tests", "train", "a.txt"), "train"),
        (("training", "tests", "a.txt"), "test"),
        (("test_and_train", "a.txt"), "test"),
        (("release",), "train"),
        ((), "train"),
    ],
)
def test_the_innermost_name_decides_the_split(parts: tuple[str, ...], split: str) -> None:
    assert infer_split_from_path(parts) == split


def test_paths_beside_a_release_begin_with_two_dots() -> None:
    assert relative_path(Path("/a/b/c/d.txt"), Path("/a/b")) == "c/d.txt"
    assert relative_path(Path("/a/e/d.txt"), Path("/a/b")) == "../e/d.txt"


def test_what_to_do_about_an_unknown_month() -> None:
    error = unknown_month_error(Path("/r/lag"), "lag", "2024-11", "its metadata.json")
    assert str(error) == (
        "/r/lag: cannot determine the month; rename 'lag' to include a month such as 2024-11, or "
        "set 'snapshot' in its metadata.json"
    )


def test_the_files_of_a_snapshot_are_listed_once_and_in_order() -> None:
    snapshot = SnapshotFiles("2022-06")
    assert snapshot.paths == []
    snapshot.queries = [(Path("f"), "fr", "train"), (Path("a"), "en", "train")]
    snapshot.qrels = [Path("e"), Path("f")]
    snapshot.documents = {"fr": [Path("d")], "en": [Path("b")]}
    snapshot.url_databases = [Path("g")]
    snapshot.query_texts = [(Path("c"), "fr")]
    assert [path.name for path in snapshot.paths] == ["a", "b", "c", "d", "e", "f", "g"]
    snapshot.url_list = Path("aa")
    assert [path.name for path in snapshot.paths] == ["a", "aa", "b", "c", "d", "e", "f", "g"]


def _snapshot(
    documents: Sequence[str] = (), queries: Sequence[str] = (), texts: Sequence[str] = ()
) -> SnapshotFiles:
    return SnapshotFiles(
        "2022-06",
        documents={language: [Path(language)] for language in documents},
        queries=[(Path(language), language, "train") for language in queries],
        query_texts=[(Path(language), language) for language in texts],
    )


@pytest.mark.parametrize(
    ("snapshots", "language"),
    [
        ([_snapshot()], "fr"),
        ([_snapshot(documents=["en"], queries=["fr"], texts=["fr"])], "en"),
        ([_snapshot(documents=["en"]), _snapshot(documents=["fr"])], "fr"),
        ([_snapshot(queries=["en"])], "en"),
        ([_snapshot(queries=["en"]), _snapshot(texts=["fr"])], "fr"),
        ([_snapshot(texts=["en"])], "en"),
        ([_snapshot(documents=["de", "nl"])], "de"),
    ],
)
def test_the_source_language_is_that_of_the_documents(
    snapshots: list[SnapshotFiles], language: str
) -> None:
    assert detect_source_language(snapshots) == language


@pytest.mark.parametrize(
    ("queries", "kept"), [(("fr", "en"), ["en"]), (("fr",), ["fr"]), (("en",), ["en"])]
)
def test_french_queries_of_english_documents_are_read_if_there_are_no_others(
    queries: tuple[str, ...], kept: list[str]
) -> None:
    folders = {"fr": "French", "en": "English"}
    names = [f"{folders[language]}/2022-06_queries.txt" for language in queries]
    snapshot = found("longeval-web", ["Trec/2022-06_en/a.trec", *names])["2022-06"]
    assert [language for _, language, _ in snapshot["queries"]] == kept
    skipped = {"French/2022-06_queries.txt": "the collection is English"}
    assert snapshot.get("skipped", {}) == (skipped if len(queries) > 1 else {})


@pytest.mark.parametrize(
    ("layout", "names", "hint"),
    [
        ("longeval-web", ("readme.txt",), ""),
        ("longeval-2023", ("2022-06_queries.txt", "a.zip"), "the release has layout longeval-web"),
        ("longeval-web", ("publish/French/Queries/a.tsv",), "the release has layout longeval-2023"),
        ("longeval-web", ("lag/queries.txt", "2024-11/queries.txt"), None),
        (
            "longeval-sci",
            ("d.zip", "b/c.tar.gz", "a.tgz", "e.zip"),
            "unpack a.tgz, b/c.tar.gz, d.zip first",
        ),
    ],
)
def test_what_is_said_where_no_snapshot_is_found(
    layout: str, names: tuple[str, ...], hint: str | None
) -> None:
    expected = {
        "longeval-2023": "French/Queries/*.tsv and French/Qrels/*.txt",
        "longeval-sci": "documents/*.jsonl, queries.txt and qrels.txt",
        "longeval-web": "queries/<YYYY-MM>_queries.txt and qrels/<YYYY-MM>_fr/*.txt",
    }[layout]
    with pytest.raises(UsageError) as error:
        found(layout, names)
    message = f"{ROOT}: no snapshot found in layout {layout}; expected {expected}"
    if hint and "layout" in hint:
        hint = f"{hint}: use --layout {hint.rpartition(' ')[2]}"
    assert str(error.value) == (f"{message}; {hint}" if hint else message)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        found("longeval-2024", ["2022-06_queries.txt"])
    assert str(error.value) == "unknown layout 'longeval-2024'; did you mean 'longeval-2023'?"


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["2024-11/qrels.txt"], "this release has no qrels variants"),
        (["2024-11/qrels-llm.txt", "2024-11/qrels-raw.txt"], "expected one of llm, raw"),
        (["2024-11/qrels-dctr.txt"], "did you mean 'dctr'?"),
    ],
)
def test_a_variant_that_no_file_has_is_refused(names: list[str], hint: str) -> None:
    with pytest.raises(UsageError) as error:
        found("longeval-sci", ["2024-11/queries.txt", *names], "dtcr")
    assert str(error.value) == f"--qrels: no qrels variant 'dtcr' in this release; {hint}"
