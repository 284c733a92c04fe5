"""Check a published classification collection.

In: the folder of a version. Out: findings: files that are not what the manifest says, rows that
break a contract, and anything that crosses a split: a post, an author, a text or nearly a text, or
a time outside the period of its split.
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
from builder.tasks.classification.contracts import Labels, Posts
from builder.tasks.classification.definition import (
    INTERVAL_OF,
    LABELLED,
    SPLITS,
    ClassificationDefinition,
)
from builder.tasks.classification.labelling import identity
from builder.tasks.classification.markers import read_markers
from builder.tasks.classification.selection import FEATURES, NEAR_DUPLICATES

REBUILD = "rebuild the version from its definition, or fetch it again"
CROSSING = """
SELECT {column}::VARCHAR AS what, string_agg(DISTINCT split, ', ' ORDER BY split) AS splits
FROM candidate GROUP BY {column} HAVING count(DISTINCT split) > 1 ORDER BY what
"""
NEAR = """
SELECT c.id, c.split FROM candidate AS c JOIN near_duplicate USING (rank)
WHERE identity NOT IN (SELECT identity FROM candidate GROUP BY identity HAVING count(*) > 1)
ORDER BY c.id
"""


def validate_classification(folder: Path, markers: Path | None = None) -> list[Finding]:
    """All defects of a version.

    Args:
        folder: The folder that holds `manifest.json`.
        markers: The list of markers, where the definition names one and texts keep theirs.

    Raises:
        UsageError: there is no published classification collection.
        FormatError: its manifest cannot be read.
    """
    manifest = _manifest(folder)
    findings = list(_files(folder, manifest))
    if any(finding.where.endswith(".parquet") for finding in findings):
        return findings
    definition = ClassificationDefinition.model_validate(manifest["made_from"]["definition"])
    findings += _tables(folder)
    posts = _all_posts(folder, markers)
    findings += _intervals(posts, definition)
    with duckdb.connect() as connection:
        connection.register("published", posts.to_arrow())
        connection.execute("CREATE TEMP TABLE candidate AS SELECT * FROM published")
        for check, column, what in (
            ("LC201", "id", "post"),
            ("LC202", "author", "author"),
            ("LC203", "identity", "text"),
        ):
            findings += _crossing(connection, check, column, what)
        findings += _nearly_crossing(connection, definition.text.near_duplicate)
    return findings


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(f"{folder}: expected a published version, found no {MANIFEST}")
    try:
        manifest = dict(orjson.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise FormatError(f"expected JSON: {error}", path) from error
    if manifest.get("kind") != "classification" or "made_from" not in manifest:
        raise UsageError(f"{folder}: expected a classification collection, found another one")
    return manifest


def _finding(check: str, where: str, message: str, examples: list[str], fix: str) -> Finding:
    count = max(len(examples), 1)
    return Finding(check, "error", where, message, count, tuple(examples[:3]), fix)


def _files(folder: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    listed = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    for name in sorted(listed.keys() - there):
        yield _finding(
            "LC001", name, "the manifest lists this file, but it is not there", [], REBUILD
        )
    for name in sorted(there - listed.keys() - {MANIFEST, SUMS}):
        yield _finding("LC002", name, "this file is not in the manifest", [], "remove it")
    for name in sorted(listed.keys() & there):
        if sha256(folder / name) != listed[name]:
            yield _finding("LC003", name, "the sha256 is not the one in the manifest", [], REBUILD)
    sums = {**listed, MANIFEST: sha256(folder / MANIFEST)}
    expected = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    path = folder / SUMS
    if not path.is_file() or path.read_text("utf-8", errors="replace") != expected:
        yield _finding("LC004", SUMS, f"{SUMS} and {MANIFEST} disagree", [], REBUILD)


def _tables(folder: Path) -> Iterator[Finding]:
    """Rows that break a contract; labels without a post and posts without a label."""
    for split in SPLITS:
        tables = {"posts": Posts, "labels": Labels} if split in LABELLED else {"posts": Posts}
        ids = {}
        for kind, contract in tables.items():
            name = f"{kind}/{split}.parquet"
            rows = parquet.read(folder / name)
            ids[kind] = set(rows["id"])
            _, failures = contract.filter(rows)
            if len(failures):
                broken = [f"{rule}: {count}" for rule, count in failures.counts().items()]
                yield _finding("LC101", name, f"{len(failures)} rows break rules", broken, REBUILD)
        unpaired = sorted(ids["posts"] ^ ids.get("labels", ids["posts"]))
        if unpaired:
            message = "posts without a label, or labels without a post"
            yield _finding("LC102", f"labels/{split}.parquet", message, unpaired, REBUILD)


def _all_posts(folder: Path, markers: Path | None) -> pl.DataFrame:
    """rank, split, id, time, author, identity, reason of all posts."""
    frames = [
        parquet.read(folder / "posts" / f"{split}.parquet").with_columns(split=pl.lit(split))
        for split in SPLITS
    ]
    posts, known = pl.concat(frames), read_markers(markers)
    plain = pl.Series("plain", [known.strip(text) for text in posts["text"]], dtype=pl.String)
    return (
        posts.with_columns(plain)
        .with_columns(identity=identity(pl.col("plain")))
        .with_columns(reason=pl.lit(None, dtype=pl.String))
        .sort("split", "id")
        .with_row_index("rank")
        .drop("text", "plain")
    )


def _intervals(posts: pl.DataFrame, definition: ClassificationDefinition) -> Iterator[Finding]:
    intervals = definition.intervals.named()
    for split in SPLITS:
        own = [intervals[INTERVAL_OF[split]]] if split in LABELLED else list(intervals.values())
        inside = pl.any_horizontal(
            pl.col("time").is_between(part.start, part.stop, closed="left") for part in own
        )
        outside = posts.filter(pl.col("split") == split, ~inside)["id"].to_list()
        if outside:
            where, message = f"posts/{split}.parquet", "posts outside the period of their split"
            yield _finding("LC204", where, message, outside, REBUILD)


def _crossing(
    connection: duckdb.DuckDBPyConnection, check: str, column: str, what: str
) -> Iterator[Finding]:
    rows = connection.execute(CROSSING.format(column=column)).fetchall()
    if rows:
        message = f"{len(rows)} times one {what} is in more than one split"
        examples = [f"{value} ({splits})" for value, splits in rows]
        yield _finding(check, "posts", message, examples, REBUILD)


def _nearly_crossing(connection: duckdb.DuckDBPyConnection, theta: float) -> Iterator[Finding]:
    connection.execute(FEATURES)
    connection.execute(NEAR_DUPLICATES, {"theta": theta})
    rows = connection.execute(NEAR).fetchall()
    if rows:
        examples = [f"{name} ({split})" for name, split in rows]
        message = "posts with nearly the text of a post of another split"
        yield _finding("LC205", "posts", message, examples, REBUILD)
