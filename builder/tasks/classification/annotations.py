"""Reads human labels of posts, and determines the majority label of each post.

Input files are tab-separated with columns id, annotator and label (positive, negative or neutral);
the header is optional.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from builder.errors import DataError, FormatError
from builder.evaluation.textlines import numbered_lines
from builder.io.sources import Source

HUMAN_LABELS = ("positive", "negative", "neutral")
HEADER = ["id", "annotator", "label"]
ANNOTATION_SCHEMA = {"id": pl.String, "annotator": pl.String, "label": pl.String}


def read_annotations(paths: Sequence[Path]) -> pl.DataFrame:
    """Read files of human labels into one table with the columns id, annotator and label.

    The rows are sorted by id (of the post) and annotator.

    Raises:
        FormatError: a line is invalid, or an annotator labels a post twice.
    """
    seen: set[tuple[str, str]] = set()
    rows: list[tuple[str, str, str]] = []
    for path in paths:
        for line, text in numbered_lines(path):
            fields = text.split("\t")
            if not text.strip() or (line == 1 and fields == HEADER):
                continue
            if len(fields) != len(HEADER) or not all(fields) or fields[2] not in HUMAN_LABELS:
                labels = ", ".join(HUMAN_LABELS)
                raise FormatError(
                    f"expected id, annotator and label ({labels}), separated by tabs; "
                    f"found {text[:120]!r}",
                    path,
                    line,
                )
            if (fields[0], fields[1]) in seen:
                raise FormatError(
                    f"expected one label per annotator and post, found a second label of annotator "
                    f"{fields[1]!r} for post {fields[0]!r}",
                    path,
                    line,
                )
            seen.add((fields[0], fields[1]))
            rows.append((fields[0], fields[1], fields[2]))
    return pl.DataFrame(rows, schema=ANNOTATION_SCHEMA, orient="row").sort("id", "annotator")


def require_labels_match_posts(
    connection: duckdb.DuckDBPyConnection, label_files: Sequence[Source]
) -> None:
    """Raise an error if none of the human labels belongs to a post of the collection.

    Args:
        connection: DuckDB connection with the views `work` (posts) and `verdict` (majority labels).
        label_files: Files of human labels; may be empty.

    Raises:
        DataError: there are files, but none of their labels belongs to a post.
    """
    labeled = connection.sql("SELECT id FROM verdict SEMI JOIN work USING (id) LIMIT 1")
    if label_files and not labeled.fetchall():
        first = connection.sql("SELECT min(id) FROM verdict").fetchall()[0][0]
        found = f"only labels of unknown posts, such as {first!r}" if first else "no labels"
        raise DataError(
            f"{', '.join(source.name for source in label_files)}: expected labels of posts in the "
            f"collection, found {found}; correct the ids, or remove labels.annotations"
        )


def majority_labels(annotations: pl.DataFrame) -> pl.DataFrame:
    """Return the majority label of each post.

    Returns:
        One row per post: id, verdict (the most frequent label; null if there is a tie) and
        annotators (number of annotators).
    """
    votes = annotations.group_by("id", "label").agg(votes=pl.len())
    leading = votes.filter(pl.col("votes") == pl.col("votes").max().over("id"))
    verdict = pl.when(pl.len() == 1).then(pl.col("label").first())
    majority = leading.group_by("id").agg(verdict=verdict)
    counts = annotations.group_by("id").agg(annotators=pl.len())
    return majority.join(counts, on="id").sort("id")
