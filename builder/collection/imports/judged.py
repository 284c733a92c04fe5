"""Converts the queries and qrels of a released snapshot to tables of a collection.

Ids whose texts differ only in case, accents and punctuation remain separate queries, as in official
scores, but have the same `text_key` (see `schemas.ReleaseIds`).
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.ids import (
    KeyAssigner,
    fallback_query_keys,
    query_text_keys,
)
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.lines import QUERY_COLUMNS, read_qrels, read_queries
from schemas import Qrels, Queries

UNKNOWN_COUNTS = ("impressions", "users", "clicks")


def read_all_queries(
    snapshot: SnapshotFiles, root: Path, language: str, import_log: ImportLog
) -> pl.DataFrame:
    """Read all query files of a snapshot in one language into one frame."""
    frames = [
        read_queries(path, relative_path(path, root), split, import_log)
        for path, file_language, split in snapshot.queries
        if file_language == language
    ]
    return pl.concat([pl.DataFrame(schema=QUERY_COLUMNS), *frames])


def read_judged_query_ids(snapshot: SnapshotFiles, root: Path) -> pl.Series:
    """Return the distinct query ids in the qrels of a snapshot."""
    return _read_all_qrels(snapshot, root, ImportLog())["query_id"].unique()


def _read_all_qrels(snapshot: SnapshotFiles, root: Path, import_log: ImportLog) -> pl.DataFrame:
    """Read all qrels files of a snapshot into one frame."""
    frames = [read_qrels(p, relative_path(p, root), import_log) for p in snapshot.qrels]
    return pl.concat([empty_qrels_frame(), *frames])


def assign_query_keys(
    queries: pl.DataFrame, id_scope: str, import_log: ImportLog
) -> tuple[pl.DataFrame, KeyAssigner]:
    """Reject queries with a repeated id, and assign a key to each remaining query.

    If several ids have the same text, the smallest id (by length, then alphabetically) gets a key
    derived from the text, so that the choice does not depend on the snapshot. The keys of the
    others are derived from their ids.

    Returns:
        Queries with columns `query_id`, `text`, `split` and `text_key`, and the key of each id.
    """
    unique = reject_repeated_queries(queries, import_log)
    with_keys = unique.with_columns(
        text_key=pl.Series(query_text_keys(unique["text"].to_list()), dtype=pl.String)
    )
    keys = KeyAssigner()
    ordered = with_keys.sort(pl.col("query_id").str.len_bytes(), "query_id")
    for query_id, text_key in ordered.select("query_id", "text_key").iter_rows():
        keys.assign(
            query_id, *([text_key] if text_key else ()), *fallback_query_keys(query_id, id_scope)
        )
    return with_keys.select("text", "split", "text_key", "query_id"), keys


def match_translations(
    queries: pl.DataFrame, source_queries: pl.DataFrame, import_log: ImportLog
) -> dict[str, str]:
    """Return the English text of each query id; reject repeated ids and ids without a French text.

    Args:
        queries: English queries.
        source_queries: French queries.
        import_log: Log to which rejects are added.
    """
    unique = reject_repeated_queries(queries, import_log)
    orphans = unique.join(source_queries, on="query_id", how="anti")
    reject_queries(orphans, "english_without_french", import_log)
    return dict(unique.select("query_id", "text").rows())


def reject_repeated_queries(queries: pl.DataFrame, import_log: ImportLog) -> pl.DataFrame:
    """Return the first query of each id, and reject the others."""
    is_first = pl.col("query_id").is_first_distinct()
    reject_queries(queries.filter(~is_first), "repeated_query_id", import_log)
    return queries.filter(is_first)


def reject_queries(queries: pl.DataFrame, reason: str, import_log: ImportLog) -> None:
    """Record queries as rejected, with the given reason."""
    for query_id, file, line in queries.select("query_id", "file", "line").iter_rows():
        import_log.add_reject(reason, file, line, query_id)


def map_ids_to_text_keys(queries: pl.DataFrame, id_scope: str) -> dict[str, str]:
    """Return the text key of each query id; if an id has several texts, the first is used."""
    first = queries.unique("query_id", keep="first", maintain_order=True)
    keys = query_text_keys(first["text"].to_list())
    return {
        query_id: key or fallback_query_keys(query_id, id_scope)[-1]
        for query_id, key in zip(first["query_id"], keys, strict=True)
    }


def read_unique_qrels(
    snapshot: SnapshotFiles,
    root: Path,
    import_log: ImportLog,
    normalize_doc_id: Callable[[str], str],
) -> pl.DataFrame:
    """Read the qrels of a snapshot, with one judgement per query-document pair.

    If a pair has several judgements, all except the last are rejected. In pytrec_eval, ir_measures
    and ranx, the last one counts, too, because they load qrels into a dictionary.

    Args:
        snapshot: Files of the snapshot.
        root: Folder of the release.
        import_log: Log to which rejected judgements are added.
        normalize_doc_id: Function that converts a document id to the form in which it is stored.

    Returns:
        Columns `query_id`, `doc_id`, `grade`.
    """
    rows = _read_all_qrels(snapshot, root, import_log)
    rows = rows.with_columns(doc_id=_map_distinct_values(rows["doc_id"], normalize_doc_id))
    pair = ["query_id", "doc_id"]
    numbered = rows.with_columns(
        later=pl.len().over(pair) - pl.int_range(pl.len()).over(pair) - 1,
        last=pl.col("grade").last().over(pair),
    )
    columns = ("grade", "last", "file", "line", *pair)
    for grade, last, file, line, *ids in (
        numbered.filter(pl.col("later") > 0).select(columns).rows()
    ):
        if grade == last:
            import_log.add_reject("repeated_judgement", file, line, " ".join(ids))
        else:
            import_log.add_reject("contradicting_judgement", file, line, f"{' '.join(ids)} {grade}")
    unique = numbered.filter(later=0)
    return unique.select("grade", "query_id", "doc_id")


def _map_distinct_values(values: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Apply a function to each value of a string series; call it only once per distinct value."""
    mapped = {value: function(value) for value in values.unique().to_list()}
    return pl.Series([mapped[value] for value in values], dtype=pl.String)


def empty_qrels_frame() -> pl.DataFrame:
    """Return an empty frame with the columns that `read_qrels` returns."""
    dtypes = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.UInt8}
    return pl.DataFrame(schema={**dtypes, "file": pl.String, "line": pl.UInt64})


def build_queries_table(
    queries: pl.DataFrame, english_texts: dict[str, str], qrels: pl.DataFrame
) -> pl.DataFrame:
    """Return the table `queries` of an imported snapshot; unknown impression counts are 0.

    Args:
        queries: Queries with columns `query_id`, `text`, `split`.
        english_texts: English text of each query id.
        qrels: Rows of `schemas.Qrels`.
    """
    judged = qrels.group_by("query_id").agg(judged=pl.len(), relevant=(pl.col("grade") > 0).sum())
    rows = queries.join(judged, on="query_id", how="left").with_columns(
        pl.col("judged", "relevant").fill_null(0),
        *(pl.lit(0).alias(name) for name in UNKNOWN_COUNTS),
        text_en=pl.col("query_id").replace_strict(
            english_texts, default=None, return_dtype=pl.String
        ),
        topics=pl.lit([], dtype=pl.List(pl.String)),
        variant_set=pl.lit(None, dtype=pl.String),
    )
    return rows.select(list(Queries.dtypes()))


def build_qrels_table(qrels: pl.DataFrame) -> pl.DataFrame:
    """Return the table `qrels` of an imported snapshot; its unknown click counts are 0."""
    counts = ("impressions", "examinations", "clicks", "last_clicks")
    with_counts = qrels.with_columns(
        *(pl.lit(0).alias(name) for name in counts), source=pl.lit("release")
    )
    missing = [pl.lit(None).alias(n) for n in Qrels.dtypes() if n not in with_counts.columns]
    return with_counts.with_columns(missing).select(list(Qrels.dtypes())).cast(Qrels.dtypes())  # type: ignore[arg-type]
