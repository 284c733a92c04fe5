"""Reads the files of a released snapshot, and writes its tables."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.collection.imports.documents import DocumentImporter
from builder.collection.imports.files import SnapshotFiles
from builder.collection.imports.ids import KeyAssigner, build_release_ids_table, fallback_query_keys
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.judged import (
    assign_query_keys,
    build_qrels_table,
    build_queries_table,
    map_ids_to_text_keys,
    match_translations,
    read_all_queries,
    read_judged_query_ids,
    read_unique_qrels,
)
from builder.collection.imports.layouts import LAYOUTS
from builder.collection.imports.origin import Release
from builder.io.tables import write_frame
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH, FRENCH
from schemas import RELEASED, ReleaseIds


@dataclass(frozen=True)
class SnapshotQueries:
    """Queries of a released snapshot and the keys that identify them.

    Args:
        table: Columns `query_id`, `text`, `split`, `text_key`; each id is unique.
        keys: Unique key of each query id.
        text_keys: Text key of each query id; see `map_ids_to_text_keys`.
        translations: English text of each query id.
        import_log: Rejects and irregularities of the query files.
    """

    table: pl.DataFrame
    keys: KeyAssigner
    text_keys: dict[str, str]
    translations: dict[str, str]
    import_log: ImportLog


def read_snapshot_queries(
    release: Release, snapshot: SnapshotFiles, shared_queries: Mapping[str, pl.DataFrame]
) -> SnapshotQueries:
    """Read the queries of a snapshot and assign a key to each.

    The English queries of a French release are translations: those without a French query are
    rejected. In an English release, query files outside any language folder are treated as French
    files, and read only if there are no English queries.

    Args:
        release: Release that contains the snapshot.
        snapshot: Files of the snapshot.
        shared_queries: Queries that the release lists once for all snapshots, by language; see
            `read_shared_queries`. If the snapshot has no query files in a language, it gets the
            shared queries whose ids occur in its qrels or its French queries.
    """
    import_log, id_scope = ImportLog(), release.id_scope(snapshot.name)
    source, translations = release.source_language, {}
    ids = pl.Series(dtype=pl.String)
    if snapshot.query_texts:
        ids = read_judged_query_ids(snapshot, release.root)
    queries = _read_queries(release, snapshot, source, shared_queries, ids, import_log)
    if source == FRENCH:
        ids = pl.concat([ids, queries["query_id"]])
        english = _read_queries(release, snapshot, ENGLISH, shared_queries, ids, import_log)
        translations = match_translations(english, queries, import_log)
    elif queries.is_empty():
        queries = _read_queries(release, snapshot, FRENCH, shared_queries, ids, import_log)
    table, keys = assign_query_keys(queries, id_scope, import_log)
    text_keys = map_ids_to_text_keys(queries, id_scope)
    return SnapshotQueries(table, keys, text_keys, translations, import_log)


def _read_queries(
    release: Release,
    snapshot: SnapshotFiles,
    language: str,
    shared_queries: Mapping[str, pl.DataFrame],
    shared_ids: pl.Series,
    import_log: ImportLog,
) -> pl.DataFrame:
    """Read the query files of a snapshot in a language; if there are none, use shared queries."""
    if any(own == language for _, own, _ in snapshot.queries):
        return read_all_queries(snapshot, release.root, language, import_log)
    listed = shared_queries.get(language, shared_queries[ENGLISH].clear()).filter(
        pl.col("query_id").is_in(shared_ids.implode())
    )
    import_log.records_read += listed.height
    return listed


def map_stable_query_ids(
    release: Release,
    snapshot_queries: Iterable[SnapshotQueries],
    shared_queries: Mapping[str, pl.DataFrame],
) -> dict[str, str] | None:
    """Return the text key of each query id that has the same text in all snapshots.

    These keys are used for queries that are judged in one snapshot but listed only in another.

    Returns:
        None if ids are not stable: the layout does not guarantee stable ids, or most ids that occur
        in several snapshots do not have the same text in all of them.
    """
    if not LAYOUTS[release.layout].has_stable_ids:
        return None
    key_counts: dict[str, Counter[str]] = defaultdict(Counter)
    listed = shared_queries.get(release.source_language, shared_queries[ENGLISH])
    if release.source_language != FRENCH and listed.is_empty():
        listed = shared_queries[FRENCH]
    shared_keys = map_ids_to_text_keys(listed, release.layout)
    for queries in snapshot_queries:
        for query_id, key in {**shared_keys, **queries.text_keys}.items():
            key_counts[query_id][key] += 1
    repeated = [counts for counts in key_counts.values() if counts.total() > 1]
    if 2 * sum(len(counts) > 1 for counts in repeated) > len(repeated):
        return None
    return {
        query_id: next(iter(counts)) for query_id, counts in key_counts.items() if len(counts) == 1
    }


def write_snapshot(
    release: Release,
    snapshot: SnapshotFiles,
    queries: SnapshotQueries,
    stable_query_keys: dict[str, str] | None,
    folder: Path,
    limits: ResourceLimits,
    progress: Progress,
) -> tuple[RowLedger, dict[str, int]]:
    """Write the tables of a released snapshot.

    Args:
        release: Release that contains the snapshot.
        snapshot: Files of the snapshot.
        queries: Queries of the snapshot.
        stable_query_keys: Result of `map_stable_query_ids`.
        folder: Output folder.
        limits: Memory and scratch space.
        progress: Progress display; advanced by the number of documents.

    Returns:
        Ledger with the counts of the records read, kept and rejected, and row counts of `queries`,
        `qrels` and `documents`.
    """
    documents = DocumentImporter(snapshot, release, queries.import_log)
    qrels = build_qrels_table(
        read_unique_qrels(snapshot, release.root, queries.import_log, release.to_qrels_doc_id)
    )
    id_scope = release.id_scope(snapshot.name, is_stable=stable_query_keys is not None)
    for query_id in qrels["query_id"].unique().sort():
        key = (stable_query_keys or {}).get(query_id)
        candidates = (*([key] if key else ()), *fallback_query_keys(query_id, id_scope))
        queries.keys.assign(query_id, *candidates)
    query_table = build_queries_table(queries.table, queries.translations, qrels)
    write_frame(qrels, folder / "qrels.parquet", RELEASED["qrels"])
    write_frame(query_table, folder / "queries.parquet", RELEASED["queries"])
    document_rows = documents.write(
        folder, qrels["doc_id"], limits.with_scratch_folder(snapshot.name), progress
    )
    text_keys = dict(queries.table.select("query_id", "text_key").rows())
    ids = pl.concat(
        [
            build_release_ids_table("query", queries.keys.keys, text_keys),
            build_release_ids_table("document", documents.keys.keys),
        ]
    )
    write_frame(ids, folder / "release_ids.parquet", ReleaseIds)
    rows = {"queries": query_table.height, "qrels": qrels.height, "documents": document_rows}
    ledger = queries.import_log.write_tables(folder)
    ledger.notes += _note_lost_queries(queries.import_log, qrels["query_id"])
    return ledger, rows


def _note_lost_queries(import_log: ImportLog, judged_ids: pl.Series) -> list[str]:
    """Return a note on queries that have no judgements left after unknown grades were rejected."""
    lost = sorted(import_log.queries_with_unknown_grades - {*judged_ids})
    if not lost:
        return []
    note = (
        f"queries without judgements, because all their grades were rejected (not 0, 1 or 2): "
        f"{len(lost):,}, for example {lost[0]!r}; means over queries do not include them"
    )
    return [note]
