"""Reads the query texts and URLs that a release stores once for all snapshots.

Input: databases and text files, possibly several, such as one in each folder. Output: one text per
query id and language. If files contradict each other, the value in the first file is used, and the
others are rejected.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.collection.imports.files import relative_path
from builder.collection.imports.ids import read_query_texts, read_url_database
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.judged import reject_queries, reject_repeated_queries
from builder.collection.imports.lines import QUERY_COLUMNS, read_queries
from builder.text.names import ENGLISH, FRENCH


def read_shared_queries(
    files: Sequence[tuple[Path, str]], root: Path, import_log: ImportLog
) -> dict[str, pl.DataFrame]:
    """Read the queries that a release lists once for all snapshots; return one per id.

    A query may be listed in several files. If its texts differ, the text in the first file is used,
    and the queries with other texts are rejected.

    Args:
        files: Path and language of each SQLite database or text file (see `SnapshotFiles`).
        root: Folder of the release.
        import_log: Log to which rejects and irregularities are added.

    Returns:
        Frame with the columns `QUERY_COLUMNS` for each language.

    Raises:
        FormatError: A database cannot be read.
    """
    queries = {
        language: [
            _read_query_file(path, root, import_log) for path, own in files if own == language
        ]
        for language in (FRENCH, ENGLISH)
    }
    return {language: _combine_queries(frames, import_log) for language, frames in queries.items()}


def _read_query_file(path: Path, root: Path, import_log: ImportLog) -> pl.DataFrame:
    name = relative_path(path, root)
    if path.suffix != ".db":
        return reject_repeated_queries(read_queries(path, name, "train", import_log), import_log)
    pairs = enumerate(read_query_texts(path), 1)
    rows = [(query_id, text.strip(), "train", name, number) for number, (query_id, text) in pairs]
    queries = pl.DataFrame(rows, schema=QUERY_COLUMNS, orient="row")
    reject_queries(queries.filter(text=""), "empty_query", import_log)
    return queries.filter(pl.col("text") != "")


def _combine_queries(frames: Sequence[pl.DataFrame], import_log: ImportLog) -> pl.DataFrame:
    """Combine frames; keep the first query of each id, and reject queries with other texts."""
    queries = pl.concat([pl.DataFrame(schema=QUERY_COLUMNS), *frames])
    text = pl.col("text").str.replace_all(r"\s+", " ")
    contradicting = queries.filter(text != text.first().over("query_id"))
    reject_queries(contradicting, "repeated_query_id", import_log)
    return queries.filter(pl.col("query_id").is_first_distinct())


def log_contradicting_urls(databases: Sequence[Path], root: Path, import_log: ImportLog) -> None:
    """Log URLs as rejected if an earlier database has a different URL for the same document.

    Args:
        databases: SQLite databases of the release, in order of precedence.
        root: Folder of the release.
        import_log: Log to which rejects are added.

    Raises:
        FormatError: A database cannot be read.
    """
    if len(databases) < 2:
        return
    urls: dict[str, str] = {}
    for path in databases:
        for number, (doc_id, url, _) in enumerate(read_url_database(path, ""), 1):
            if urls.setdefault(doc_id, url) != url:
                import_log.add_reject(
                    "contradicting_address", relative_path(path, root), number, doc_id
                )
