"""Which files of a release of scientific papers are read, by their names."""

from pathlib import Path
from typing import Any

import pytest

from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.variants import OTHER_VARIANT
from tests.collection.release_files import found


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
