"""Exports a collection in the layout of LongEval 2023, which `ir-datasets-longeval` can load.

```
publish/<Language>/Documents/{Trec,Json}/collector_kodicare_<n>.txt[.json]
publish/<Language>/Queries/{train,heldout,queries}.{tsv,trec}            queries: all queries
publish/French/Qrels/{train,qrels}.txt                                   qrels: all judgements
publish/French/urls.txt
test-collection/<letter>-<snapshot>/<Language>/...                       each later snapshot
longeval-relevance-judgements/{heldout-test,<letter>-<snapshot>}.txt
```
Ids are the stable ids of the collection, the same in every snapshot. `etc/metadata.json` in each
language folder identifies the snapshot for the loader. It lists no prior snapshots, because the
loader cannot resolve them in a local copy of this layout.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase

import polars as pl

from builder.collection.export.files import (
    LANGUAGE_FOLDERS,
    DocumentFileWriter,
    render_json_documents,
    render_trec_documents,
    write_document_files,
    write_longeval_topics,
    write_qrels,
    write_queries,
    write_urls,
)
from builder.collection.export.longeval_web import JSON_ARRAY, require_french
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.runtime.progress import Progress
from builder.text.names import SOURCE_SUFFIX

OMITTED = (
    "titles (exported as the first line of the text)",
    "fetch times, topics, click evidence, query variants and flags",
    "the splits of queries in later snapshots, such as test (new) or seen (also used in training)",
)
JUDGEMENTS = "longeval-relevance-judgements"


def export_longeval_2023(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Export a collection in the layout of LongEval 2023.

    The first snapshot becomes the training data, and later snapshots become test data.

    Raises:
        DataError: The source language of the collection is not French.
    """
    require_french(collection)
    for index, name in enumerate(collection.snapshots):
        snapshot = SnapshotTables(collection, name)
        label = snapshot_folder_name(index, name)
        folder = out / "publish" if index == 0 else out / "test-collection" / label
        for language, suffix in languages.items():
            _write_snapshot(
                snapshot,
                folder / LANGUAGE_FOLDERS[language],
                suffix,
                index == 0,
                max_bytes,
                progress,
            )
        _write_qrel_files(snapshot, folder / "French", out / JUDGEMENTS, label)


def snapshot_folder_name(index: int, snapshot: str) -> str:
    """Return the label used as the folder name of a snapshot, such as `A-2022-07`.

    The letter numbers the test snapshots, from `A`; the training snapshot (index 0) has no letter.
    """
    letters = ""
    while index > 0:
        index, rest = divmod(index - 1, len(ascii_uppercase))
        letters = ascii_uppercase[rest] + letters
    return f"{letters}-{snapshot}" if letters else snapshot


def _write_snapshot(
    snapshot: SnapshotTables,
    folder: Path,
    suffix: str,
    is_first_snapshot: bool,
    max_bytes: int,
    progress: Progress,
) -> None:
    texts = render_trec_documents(snapshot.documents, suffix, progress, keep_blank_lines=True)
    write_document_files(
        DocumentFileWriter(folder / "Documents" / "Trec", _trec_file_name, max_bytes), texts
    )
    objects = render_json_documents(snapshot.documents, suffix, progress, keep_blank_lines=True)
    write_document_files(
        DocumentFileWriter(folder / "Documents" / "Json", _json_file_name, max_bytes, JSON_ARRAY),
        objects,
    )
    if suffix == SOURCE_SUFFIX:
        write_urls(
            folder / ("urls.txt" if is_first_snapshot else "Documents/urls.txt"), snapshot.documents
        )
    queries = snapshot.query_texts(suffix)
    parts = {"queries": queries}
    if is_first_snapshot:
        is_train = pl.col("split") == "train"
        parts |= {"train": queries.filter(is_train), "heldout": queries.filter(~is_train)}
    for name, part in parts.items():
        write_queries(folder / "Queries" / f"{name}.tsv", part)
        write_longeval_topics(folder / "Queries" / f"{name}.trec", part)
    metadata = {"base": "longeval-2023", "snapshot": snapshot.name}
    metadata |= {"timestamp": snapshot.name[:7], "prior-datasets": []}  # type: ignore[dict-item]
    (folder / "etc").mkdir()
    (folder / "etc" / "metadata.json").write_text(json.dumps(metadata) + "\n", "utf-8")


def _write_qrel_files(
    snapshot: SnapshotTables, folder: Path, test_folder: Path, label: str
) -> None:
    qrels = snapshot.qrel_rows()
    if not qrels.height:
        return
    write_qrels(folder / "Qrels" / "qrels.txt", qrels)
    if label != snapshot.name:
        write_qrels(test_folder / f"{label.lower()}.txt", qrels)
        return
    train = snapshot.query_texts("").filter(split="train").select("query_id")
    write_qrels(folder / "Qrels" / "train.txt", qrels.join(train, on="query_id", how="semi"))
    heldout = qrels.join(train, on="query_id", how="anti")
    write_qrels(test_folder / "heldout-test.txt", heldout)


def _trec_file_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt"


def _json_file_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.json"
