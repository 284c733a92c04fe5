"""Every reader of the field on what we export, and what it finds there.

In: a built collection and its exports in every layout (`Exports`). Each loader opens files with one
client, as its users do, and returns numbers that must be those of the collection; a client that is
not installed raises `ImportError`.
"""

import csv
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import builder
from builder.collection.export import LAYOUTS, export
from builder.collection.read import Collection

JAVA_INTEGER = 2**31


@dataclass(frozen=True)
class Exports:
    """A collection and its exports by layout."""

    collection: Collection
    folders: dict[str, Path]

    @property
    def snapshot(self) -> str:
        """The first snapshot."""
        return self.collection.snapshots[0]

    @property
    def trec(self) -> Path:
        """That snapshot in TREC formats."""
        return self.folders["trec"] / self.snapshot

    @property
    def sizes(self) -> dict[str, int]:
        """Its documents, queries and judgements."""
        found = {name: sizes for name, *sizes in self.collection.row_counts()}
        return dict(zip(("documents", "queries", "qrels"), found[self.snapshot], strict=True))

    def parquet(self, table: str) -> list[str]:
        """The files of one of its tables in the layout of Hugging Face."""
        folder = self.folders["huggingface"] / table / self.snapshot
        return sorted(map(str, folder.glob("*.parquet")))


def export_all(root: Path, out: Path) -> Exports:
    """Export a collection in every layout that holds it."""
    folders = {layout: export(root, layout, out / layout) for layout in LAYOUTS}
    return Exports(builder.open_collection(root), folders)


def ir_datasets_topics(exports: Exports) -> dict[str, int]:
    """ir_datasets: TREC topics, qrels and documents."""
    from ir_datasets.formats import TrecDocs, TrecQrels, TrecQueries
    from ir_datasets.util import LocalDownload

    def local(path: Path) -> Any:
        return LocalDownload(path)

    topics = list(TrecQueries(local(exports.trec / "fr/topics.trec")).queries_iter())
    judged = list(TrecQrels(local(exports.trec / "qrels.numbers.txt"), {}).qrels_iter())
    assert {judgement.query_id for judgement in judged} <= {topic.query_id for topic in topics}
    texts = exports.collection.snapshot(exports.snapshot).queries.collect()["text"]
    assert sorted(topic.title for topic in topics) == sorted(texts.str.replace_all(r"\s+", " "))
    files = sorted((exports.trec / "fr/documents").iterdir())
    documents = [d for path in files for d in TrecDocs(local(path)).docs_iter()]
    return {"documents": len(documents), "queries": len(topics), "qrels": len(judged)}


def longeval_web(exports: Exports) -> dict[str, int]:
    """ir-datasets-longeval: the layout of 2025."""
    home = "French/LongEval Train Collection/Trec"
    return _longeval(exports.folders["longeval-web"] / home / f"{exports.snapshot}_fr")


def longeval_2023(exports: Exports) -> dict[str, int]:
    """ir-datasets-longeval: the layout of 2023."""
    return _longeval(exports.folders["longeval-2023"] / "publish/French")


def longeval_sci(exports: Exports) -> dict[str, int]:
    """ir-datasets-longeval: the layout of LongEval-Sci."""
    return _longeval(exports.folders["longeval-sci"] / exports.snapshot)


def _longeval(folder: Path) -> dict[str, int]:
    import ir_datasets_longeval

    dataset = ir_datasets_longeval.load(str(folder))
    return {
        "documents": sum(1 for _ in dataset.docs_iter()),
        "queries": sum(1 for _ in dataset.queries_iter()),
        "qrels": sum(1 for _ in dataset.qrels_iter()),
    }


def anserini_topics(exports: Exports) -> dict[str, int]:
    """Anserini's TrecTopicReader, by its rules: ids after a colon are Java integers, titles too."""
    topics: dict[int, str] = {}
    number = 0
    for line in (exports.trec / "fr/topics.trec").read_text("utf-8").splitlines():
        if line.startswith("<num>"):
            number = int(line.partition(":")[2])
            assert 0 <= number < JAVA_INTEGER
        elif line.startswith("<title>"):
            topics[number] = line.partition(":")[2].strip()
    assert all(topics.values())
    return {"queries": len(topics)}


def int_topics(exports: Exports) -> dict[str, int]:
    """Readers of tab-separated topics with 32-bit ids, on the layout of 2025."""
    home = exports.folders["longeval-web"] / "French/LongEval Train Collection/queries"
    with (home / f"{exports.snapshot}_queries.txt").open(encoding="utf-8", newline="") as file:
        ids = {int(row[0]) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    assert all(0 <= number < JAVA_INTEGER for number in ids)
    return {"queries": len(ids)}


def pytrec_eval(exports: Exports) -> dict[str, int]:
    """pytrec_eval on qrels.txt."""
    import pytrec_eval as client

    with (exports.trec / "qrels.txt").open() as file:
        qrels = client.parse_qrel(file)
    run = {query: {doc: float(grade) for doc, grade in of.items()} for query, of in qrels.items()}
    scores = client.RelevanceEvaluator(qrels, {"ndcg"}).evaluate(run)
    assert max(found["ndcg"] for found in scores.values()) == 1
    return {"qrels": sum(map(len, qrels.values()))}


def ir_measures(exports: Exports) -> dict[str, int]:
    """ir_measures on qrels.txt."""
    import ir_measures as client

    qrels = list(client.read_trec_qrels(str(exports.trec / "qrels.txt")))
    run = [client.ScoredDoc(q.query_id, q.doc_id, q.relevance) for q in qrels]
    assert client.calc_aggregate([client.nDCG @ 10], qrels, run)
    return {"qrels": len(qrels)}


def ranx(exports: Exports) -> dict[str, int]:
    """ranx on the qrels of the Hugging Face layout.

    Its `from_parquet` does not know the strings of pandas 3; ids as objects it takes from any.
    """
    from pandas import read_parquet
    from ranx import Qrels

    frame = read_parquet(exports.parquet("qrels")[0])
    columns = {"q_id_col": "query_id", "doc_id_col": "doc_id", "score_col": "grade"}
    found = Qrels.from_df(frame.astype({"query_id": object, "doc_id": object}), **columns)
    return {"qrels": sum(map(len, found.to_dict().values()))}


def pyterrier(exports: Exports) -> dict[str, int]:
    """PyTerrier on topics and judgements in TREC formats."""
    import pyterrier as client

    topics = client.io.read_topics(str(exports.trec / "fr/topics.trec"), format="trec")
    qrels = client.io.read_qrels(str(exports.trec / "qrels.numbers.txt"))
    assert set(qrels["qid"]) <= set(topics["qid"])
    return {"queries": len(topics), "qrels": len(qrels)}


def datasets(exports: Exports) -> dict[str, int]:
    """Hugging Face datasets: every configuration of the card."""
    from datasets import get_dataset_config_names, load_dataset

    folder = str(exports.folders["huggingface"])
    split = f"snapshot_{exports.snapshot.replace('-', '_')}"
    names = set(get_dataset_config_names(folder))
    assert names == {"documents", "queries", "qrels", "topics", "queries_map"}
    for whole in ("topics", "queries_map"):
        assert len(load_dataset(folder, whole)["train"])
    tables = ("documents", "queries", "qrels")
    return {table: len(load_dataset(folder, table, split=split)) for table in tables}


def mlcroissant(exports: Exports) -> dict[str, int]:
    """mlcroissant on croissant.json."""
    import mlcroissant as client

    path = exports.folders["huggingface"] / "croissant.json"
    dataset = client.Dataset(jsonld=str(path))
    assert not dataset.metadata.issues.errors
    name = f"qrels_{exports.snapshot.replace('-', '_')}"
    return {"qrels": sum(1 for _ in dataset.records(record_set=name))}


def duckdb(exports: Exports) -> dict[str, int]:
    """DuckDB on the Parquet files."""
    import duckdb as client

    def rows(table: str) -> int:
        return int(
            client.read_parquet(exports.parquet(table)).aggregate("count(*)").fetchall()[0][0]
        )

    return {table: rows(table) for table in ("documents", "queries", "qrels")}


def pandas(exports: Exports) -> dict[str, int]:
    """pandas on the Parquet files; grades are signed."""
    import pandas as client

    frames = {
        table: client.concat([client.read_parquet(path) for path in exports.parquet(table)])
        for table in ("documents", "queries", "qrels")
    }
    assert frames["qrels"]["grade"].dtype == "int64"
    return {table: len(frame) for table, frame in frames.items()}


def polars(exports: Exports) -> dict[str, int]:
    """Polars on the Parquet files."""
    tables = ("documents", "queries", "qrels")
    return {table: pl.read_parquet(exports.parquet(table)).height for table in tables}


def sha256sum(exports: Exports) -> dict[str, int]:
    """sha256sum on every export."""
    for folder in exports.folders.values():
        command = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
        subprocess.run(command, cwd=folder, check=True)
    return {}


LOADERS: tuple[Callable[[Exports], dict[str, int]], ...] = (
    ir_datasets_topics,
    longeval_web,
    longeval_2023,
    longeval_sci,
    anserini_topics,
    int_topics,
    pytrec_eval,
    ir_measures,
    ranx,
    pyterrier,
    datasets,
    mlcroissant,
    duckdb,
    pandas,
    polars,
    sha256sum,
)
