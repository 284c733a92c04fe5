"""Relevance feedback from earlier snapshots: texts of documents that were judged relevant.

The text of a document is the one that was judged, even if the document was changed or removed
later. Ids are converted to those of the snapshot that will be searched, because an imported release
may use different ids in each snapshot.
"""

from collections.abc import Sequence

import polars as pl

from builder.collection.read import Snapshot
from builder.evaluation.baselines.texts import read_document_texts
from builder.evaluation.runs.qrels import read_qrels
from builder.trec.released import replace_ids_with_keys, replace_keys_with_ids

FEEDBACK = {
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "grade": pl.Int32(),
    "text": pl.String(),
}


def read_earlier_feedback(
    earlier_snapshots: Sequence[Snapshot], snapshot: Snapshot, suffix: str
) -> pl.DataFrame:
    """Read the relevant documents of earlier snapshots with their texts.

    Args:
        earlier_snapshots: Earlier snapshots in chronological order.
        snapshot: Later snapshot, which will be searched.
        suffix: Suffix of the text columns; see `Collection.languages`.

    Returns:
        Table with schema `FEEDBACK` and one row per query and document, sorted by query and
        descending grade. A query-document pair that was relevant in several snapshots has the
        grade and text of the latest. Documents without a text are omitted.

    Raises:
        UsageError: A file is unreadable.
        FormatError: A file is not a Parquet table.
        DataError: Judgements contain nulls or duplicates.
    """
    frames = [pl.DataFrame(schema=FEEDBACK)]
    frames += [_read_relevant_documents(source, suffix) for source in earlier_snapshots]
    latest = pl.concat(frames).unique(["query_id", "doc_id"], keep="last", maintain_order=True)
    rows = replace_keys_with_ids(latest, snapshot.folder)
    return rows.sort("query_id", "grade", "doc_id", descending=[False, True, False])


def _read_relevant_documents(snapshot: Snapshot, suffix: str) -> pl.DataFrame:
    qrels = read_qrels(snapshot.folder / "qrels.parquet").filter(pl.col("grade") > 0)
    files = snapshot.document_files()
    if qrels.is_empty() or not files:
        return pl.DataFrame(schema=FEEDBACK)
    texts = read_document_texts(files, qrels["doc_id"].unique(), suffix)
    found = qrels.join(texts.drop_nulls(), on="doc_id", maintain_order="left")
    return replace_ids_with_keys(found.select(list(FEEDBACK)), snapshot.folder)
