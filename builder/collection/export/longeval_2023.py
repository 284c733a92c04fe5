"""The layout of LongEval 2023, which `ir-datasets-longeval` loads.

```
publish/<Language>/Documents/{Trec,Json}/collector_kodicare_<n>.txt[.json]
publish/<Language>/Queries/{train,heldout}.{tsv,trec}, queries.tsv       all of them together
publish/French/Qrels/{train,qrels}.txt, urls.txt
test-collection/<letter>-<snapshot>/<Language>/...                       each later snapshot
longeval-relevance-judgements/{heldout-test,<letter>-<snapshot>}.txt
```
Ids are the stable ones of the collection, the same in every snapshot. `etc/metadata.json` in each
language's folder tells the loader what it is; it can resolve prior snapshots of no local copy of
this layout, so none are named.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase

import polars as pl

from builder.collection.export.files import (
    Parts,
    json_texts,
    trec_texts,
    write_addresses,
    write_documents,
    write_qrels,
    write_queries,
    write_topics,
)
from builder.collection.export.longeval_web import ARRAY, FOLDERS, check_languages
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.runtime.progress import Progress
from builder.text.names import SOURCE_SUFFIX

LOST = (
    "titles as such (first line of the text), blank lines and spaces at line ends",
    "fetch times, topics, click evidence, variants and flags",
    "whether a later snapshot's query is new (test) or was in train (seen)",
)
JUDGEMENTS = "longeval-relevance-judgements"


def export_longeval_2023(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Write a collection into a folder: the first snapshot to train on, later ones to test.

    Raises:
        DataError: it is not French.
    """
    check_languages(collection)
    for place, name in enumerate(collection.snapshots):
        snapshot = SnapshotTables(collection, name)
        label = label_of(place, name)
        home = out / "publish" if place == 0 else out / "test-collection" / label
        for language, suffix in languages.items():
            _write(snapshot, home / FOLDERS[language], suffix, place == 0, max_bytes, progress)
        _write_judgements(snapshot, home / "French", out / JUDGEMENTS, label)


def label_of(place: int, snapshot: str) -> str:
    """The name of a snapshot's folder: `A-2022-07` for the first after that to train on."""
    letters = ""
    while place > 0:
        place, rest = divmod(place - 1, len(ascii_uppercase))
        letters = ascii_uppercase[rest] + letters
    return f"{letters}-{snapshot}" if letters else snapshot


def _write(
    snapshot: SnapshotTables,
    home: Path,
    suffix: str,
    first: bool,
    max_bytes: int,
    progress: Progress,
) -> None:
    texts = trec_texts(snapshot.documents, suffix, progress)
    write_documents(Parts(home / "Documents" / "Trec", _trec_name, max_bytes), texts)
    objects = json_texts(snapshot.documents, suffix, progress)
    write_documents(Parts(home / "Documents" / "Json", _json_name, max_bytes, ARRAY), objects)
    if suffix == SOURCE_SUFFIX:
        write_addresses(home / ("urls.txt" if first else "Documents/urls.txt"), snapshot.documents)
    queries = snapshot.query_texts(suffix)
    parts = {"queries": queries}
    if first:
        is_train = pl.col("split") == "train"
        parts |= {"train": queries.filter(is_train), "heldout": queries.filter(~is_train)}
    for name, part in parts.items():
        write_queries(home / "Queries" / f"{name}.tsv", part)
        write_topics(home / "Queries" / f"{name}.trec", part)
    described = {"base": "longeval-2023", "snapshot": snapshot.name}
    described |= {"timestamp": snapshot.name[:7], "prior-datasets": []}  # type: ignore[dict-item]
    (home / "etc").mkdir()
    (home / "etc" / "metadata.json").write_text(json.dumps(described) + "\n", "utf-8")


def _write_judgements(snapshot: SnapshotTables, home: Path, tests: Path, label: str) -> None:
    qrels = snapshot.judgements()
    write_qrels(home / "Qrels" / "qrels.txt", qrels)
    if label != snapshot.name:
        write_qrels(tests / f"{label.lower()}.txt", qrels)
        return
    train = snapshot.query_texts("").filter(split="train").select("query_id")
    write_qrels(home / "Qrels" / "train.txt", qrels.join(train, on="query_id", how="semi"))
    heldout = qrels.join(train, on="query_id", how="anti")
    write_qrels(tests / "heldout-test.txt", heldout)


def _trec_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt"


def _json_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.json"
