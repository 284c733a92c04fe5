"""Which files of a release of web pages are read, by their names: those of 2023 and later ones."""

from pathlib import Path
from typing import Any

import pytest

from builder.collection.imports.files_2023 import COMBINED
from builder.collection.imports.files_web import FRENCH_QRELS_ARE_READ, PREFERRED_QRELS_ARE_READ
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.walk import ReleaseFiles
from tests.collection.release_files import described, found
from tests.collection.releases import write

TREC_IS_READ = "the TREC files of the snapshot are read instead"


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
