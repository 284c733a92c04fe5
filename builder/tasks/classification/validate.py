"""Validates a published classification collection.

Checks the files against the manifest, the rows against the table schemas and the times of posts
against the periods of the splits. Also checks that no two splits share a post, author, text or
near-duplicate text.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl

from builder.collection.checks.finding import Finding
from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.runtime.publisher import MANIFEST, SUMS, sha256
from builder.tasks.classification.definition import (
    LABELED_SPLITS,
    SPLIT_INTERVALS,
    SPLITS,
    ClassificationDefinition,
)
from builder.tasks.classification.labeling import deduplication_key_expr
from builder.tasks.classification.markers import MarkerList, read_markers
from builder.tasks.classification.selection import CREATE_FEATURES, CREATE_NEAR_DUPLICATES
from builder.tasks.classification.table_schemas import Labels, Posts

REBUILD = "rebuild the version from its definition, or download it again"
SHARED_VALUES = """
SELECT {column}::VARCHAR AS value, string_agg(DISTINCT split, ', ' ORDER BY split) AS splits
FROM candidate GROUP BY {column} HAVING count(DISTINCT split) > 1 ORDER BY value
"""
SELECT_NEAR_DUPLICATES = """
SELECT c.id, c.split FROM candidate AS c JOIN near_duplicate USING (rank)
WHERE identity NOT IN (SELECT identity FROM candidate GROUP BY identity HAVING count(*) > 1)
ORDER BY c.id
"""


def validate_classification(folder: Path, markers: Path | None = None) -> list[Finding]:
    """Validate a version of a classification collection, and return the errors found.

    Args:
        folder: Version folder, with `manifest.json`.
        markers: Marker list (TSV) named in the definition; None for the built-in list. Ignored if
            markers were removed from the texts.

    Raises:
        UsageError: the folder is not a published classification collection.
        FormatError: the manifest is not valid JSON.
    """
    manifest = _read_manifest(folder)
    findings = list(_check_files(folder, manifest))
    if any(finding.where.endswith(".parquet") for finding in findings):
        return findings
    definition = ClassificationDefinition.model_validate(manifest["made_from"]["definition"])
    findings += _check_tables(folder)
    labels = definition.labels
    posts = _read_posts(folder, None if labels.strip_markers else read_markers(markers))
    findings += _check_post_times(posts, definition)
    with duckdb.connect() as connection:
        connection.register("published", posts.to_arrow())
        connection.execute("CREATE TEMP TABLE candidate AS SELECT * FROM published")
        for check, column, noun in (
            ("LC201", "id", "post"),
            ("LC202", "author", "author"),
            ("LC203", "identity", "text"),
        ):
            findings += _check_shared_values(connection, check, column, noun)
        findings += _check_near_duplicates(connection, definition.text.near_duplicate)
    return findings


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(
            f"{folder}: expected the folder of a published version, found no {MANIFEST}"
        )
    try:
        manifest = orjson.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FormatError(f"expected JSON: {error}", path) from error
    if not isinstance(manifest, dict):
        raise FormatError(f"expected a JSON object, found {type(manifest).__name__}", path)
    if manifest.get("kind") != "classification" or "made_from" not in manifest:
        raise UsageError(
            f"{folder}: expected a classification collection, found another kind of collection"
        )
    return manifest


def _create_finding(check: str, where: str, message: str, examples: list[str], fix: str) -> Finding:
    count = max(len(examples), 1)
    return Finding(check, "error", where, message, count, tuple(examples[:3]), fix)


def _check_files(folder: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    hashes = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    existing = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    for name in sorted(hashes.keys() - existing):
        yield _create_finding(
            "LC001", name, "file is listed in the manifest but does not exist", [], REBUILD
        )
    for name in sorted(existing - hashes.keys() - {MANIFEST, SUMS}):
        yield _create_finding(
            "LC002", name, "file is not listed in the manifest", [], "remove the file"
        )
    for name in sorted(hashes.keys() & existing):
        if sha256(folder / name) != hashes[name]:
            yield _create_finding("LC003", name, "SHA-256 differs from the manifest", [], REBUILD)
    sums = {**hashes, MANIFEST: sha256(folder / MANIFEST)}
    expected = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    path = folder / SUMS
    if not path.is_file() or path.read_text("utf-8", errors="replace") != expected:
        yield _create_finding("LC004", SUMS, f"{SUMS} and {MANIFEST} disagree", [], REBUILD)


def _check_tables(folder: Path) -> Iterator[Finding]:
    """Check that rows match the schemas (LC101), and that posts and labels correspond (LC102)."""
    for split in SPLITS:
        tables = {"posts": Posts, "labels": Labels} if split in LABELED_SPLITS else {"posts": Posts}
        ids = {}
        for kind, schema in tables.items():
            name = f"{kind}/{split}.parquet"
            rows = parquet.read(folder / name)
            ids[kind] = set(rows["id"])
            _, failures = schema.filter(rows)
            if len(failures):
                violations = [f"{rule}: {count}" for rule, count in failures.counts().items()]
                yield _create_finding(
                    "LC101", name, f"{len(failures)} rows violate the schema", violations, REBUILD
                )
        unpaired = sorted(ids["posts"] ^ ids.get("labels", ids["posts"]))
        if unpaired:
            message = "posts without a label, or labels without a post"
            yield _create_finding("LC102", f"labels/{split}.parquet", message, unpaired, REBUILD)


def _read_posts(folder: Path, markers: MarkerList | None) -> pl.DataFrame:
    """Read the posts of all splits, with the columns required for finding duplicates.

    Args:
        folder: Version folder.
        markers: Markers that are ignored when texts are compared; None if the texts contain none.
    """
    frames = [
        parquet.read(folder / "posts" / f"{split}.parquet").with_columns(split=pl.lit(split))
        for split in SPLITS
    ]
    posts = pl.concat(frames)
    stripped = [markers.remove_all(text) if markers else text for text in posts["text"]]
    return (
        posts.with_columns(stripped=pl.Series(stripped, dtype=pl.String))
        .with_columns(identity=deduplication_key_expr(pl.col("stripped")))
        .with_columns(reason=pl.lit(None, dtype=pl.String))
        .sort("split", "id")
        .with_row_index("rank")
        .drop("text", "stripped")
    )


def _check_post_times(
    posts: pl.DataFrame, definition: ClassificationDefinition
) -> Iterator[Finding]:
    intervals = definition.intervals.intervals_by_name()
    for split in SPLITS:
        allowed = (
            [intervals[SPLIT_INTERVALS[split]]]
            if split in LABELED_SPLITS
            else list(intervals.values())
        )
        inside = pl.any_horizontal(
            pl.col("time").is_between(interval.start, interval.stop, closed="left")
            for interval in allowed
        )
        outside = posts.filter(pl.col("split") == split, ~inside)["id"].to_list()
        if outside:
            where, message = (
                f"posts/{split}.parquet",
                "posts with a time outside the period of the split",
            )
            yield _create_finding("LC204", where, message, outside, REBUILD)


def _check_shared_values(
    connection: duckdb.DuckDBPyConnection, check: str, column: str, noun: str
) -> Iterator[Finding]:
    rows = connection.execute(SHARED_VALUES.format(column=column)).fetchall()
    if rows:
        message = f"{noun} in more than one split"
        examples = [f"{value} ({splits})" for value, splits in rows]
        yield _create_finding(check, "posts", message, examples, REBUILD)


def _check_near_duplicates(
    connection: duckdb.DuckDBPyConnection, min_jaccard: float
) -> Iterator[Finding]:
    """Find posts that are near-duplicates of a post in another split (LC205)."""
    connection.execute(CREATE_FEATURES)
    connection.execute(CREATE_NEAR_DUPLICATES, {"theta": min_jaccard})
    rows = connection.execute(SELECT_NEAR_DUPLICATES).fetchall()
    if rows:
        examples = [f"{name} ({split})" for name, split in rows]
        message = "posts that are near-duplicates of a post in another split"
        yield _create_finding("LC205", "posts", message, examples, REBUILD)
