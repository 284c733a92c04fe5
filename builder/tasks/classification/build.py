"""Builds a classification collection from timestamped posts, as in task 2 of LongEval 2023.

A published version contains

```
<out>/<version>/manifest.json SHA256SUMS README.md drift.json rejects.parquet
<out>/<version>/posts/{train,dev,within,short,long,unlabelled}.parquet
<out>/<version>/labels/{train,dev,within,short,long}.parquet
```

Labels are distant labels (derived from emoji and emoticons in the text); human labels, if
available, replace them in the development and test sets. Splits share no author and no text. Every
input record is either in a split or in the rejects.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl

from builder.collection.files import is_intact
from builder.errors import DataError, DefinitionError
from builder.io import parquet
from builder.io.tables import write_query_result
from builder.runtime.fingerprint import Identity, step_identity_changes
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.publisher import (
    PARTIAL,
    WORK,
    check_publishable,
    lock_collection,
    publish_folder,
    read_manifest_or_none,
    temporary_folder,
)
from builder.tasks.classification.agreement import AgreementReport, measure_agreement
from builder.tasks.classification.annotations import majority_labels, require_labels_match_posts
from builder.tasks.classification.definition import (
    LABELED_SPLITS,
    SPLITS,
    ClassificationDefinition,
    load_definition,
)
from builder.tasks.classification.drift import measure_drift
from builder.tasks.classification.inputs import InputFiles
from builder.tasks.classification.labeling import PostLabeler
from builder.tasks.classification.manifest import (
    DRIFT_FILE,
    REJECTS_FILE,
    read_provenance,
    write_classification_manifest,
    write_dataset_card,
)
from builder.tasks.classification.markers import read_markers
from builder.tasks.classification.posts import MALFORMED
from builder.tasks.classification.selection import select_posts
from builder.tasks.classification.table_schemas import Labels, Posts
from schemas import Rejects

STAGE = "classification"
STAGE_VERSION = "2"
"""Incremented when the output for the same definition and posts changes."""
NUMBER_AUTHORS = """
CREATE TEMP TABLE author_number AS
    SELECT author, row_number() OVER (ORDER BY author) - 1 AS number
    FROM (SELECT DISTINCT author FROM candidate WHERE reason IS NULL);
"""
SELECT_POSTS = """
SELECT id, time, number::UINTEGER AS author, text
FROM candidate JOIN author_number USING (author)
WHERE reason IS NULL AND split = '{split}' ORDER BY id
"""
SELECT_LABELS = """
SELECT id, label, source, marked AS distant
FROM candidate WHERE reason IS NULL AND split = '{split}' ORDER BY id
"""
SELECT_REJECTS = """
WITH rejected AS (
    SELECT reason, file, line, id FROM work WHERE reason IS NOT NULL
    UNION ALL SELECT reason, file, line, id FROM candidate WHERE reason IS NOT NULL
)
SELECT 'classification' AS stage, reason, file, line, id AS key, 1::UBIGINT AS rows
FROM rejected ORDER BY reason, file, line, id
"""
SUMMARY_SCHEMA = {
    "split": pl.String,
    "posts": pl.Int64,
    "positive": pl.Int64,
    "negative": pl.Int64,
    "human": pl.Int64,
    "authors": pl.Int64,
    "first_time": pl.Int64,
    "last_time": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class ClassificationBuild:
    """Result of building a classification collection.

    Args:
        folder: Version folder.
        rebuilt: Whether this call built the version; False if it was already up to date.
        ledger: Number of records read, of posts kept, and of records rejected for each reason.
        splits: One row per split (`SUMMARY_SCHEMA`).
        drift: Content of `drift.json`.
        agreement: Agreement between annotators; None if there are no human labels.
        unused_labels: Number of posts whose human labels are not used, by reason. `train`,
            `unlabelled`: the post is in this split, which has no human labels; `rejected`: the post
            was rejected; `unknown`: the input contains no such post.
    """

    folder: Path
    rebuilt: bool
    ledger: RowLedger
    splits: pl.DataFrame
    drift: dict[str, Any]
    agreement: AgreementReport | None
    unused_labels: dict[str, int]


def build_classification(
    definition_file: Path, out: Path, limits: ResourceLimits | None = None
) -> ClassificationBuild:
    """Build and publish a classification collection.

    Args:
        definition_file: Definition (TOML); paths in it are relative to its folder.
        out: Collection folder; the version is published in it.
        limits: Threads, memory and scratch space; default: a scratch folder in `out`.

    Raises:
        DefinitionError: the definition is invalid, an input file is missing, or the version
            was already released with a different definition or different inputs.
        FormatError: an input file has an invalid format.
        DataError: a split with a positive share of authors has no posts, no human label belongs to
            a post, or files of a released version were changed or deleted.
    """
    definition = load_definition(definition_file)
    inputs = InputFiles.from_definition(definition, definition_file)
    folder = out / definition.collection.version
    provenance = _create_provenance(definition, inputs)
    with lock_collection(out):
        check_publishable(folder, is_draft=definition.collection.is_draft)
        published = read_provenance(folder)
        if published == provenance and _is_intact(definition, folder):
            return _load_build(folder, inputs, rebuilt=False)
        if published is not None and not definition.collection.is_draft:
            raise DefinitionError(
                f"version {folder.name} was already released with a different definition or "
                "different input files; set a new version in the definition",
                definition_file,
                "collection.version",
            )
        with temporary_folder(out / WORK / f"{folder.name}{PARTIAL}") as partial:
            scratch = partial / ".scratch"
            scratch.mkdir()
            _write_tables(
                definition, inputs, partial, limits or ResourceLimits(scratch=scratch), scratch
            )
            shutil.rmtree(scratch)
            write_classification_manifest(partial, definition, provenance)
            publish_folder(partial, folder)
    return _load_build(folder, inputs, rebuilt=True)


def classification_rebuild_reasons(definition_file: Path, out: Path) -> tuple[str, ...]:
    """Return the reasons why a build would rebuild the collection; empty if it is up to date.

    Compares the definition and its input files with those of the published version. Nothing is
    built.

    Raises:
        DefinitionError: the definition is invalid, or an input file is missing.
        DataError: files of a released version were changed or deleted.
    """
    definition = load_definition(definition_file)
    inputs = InputFiles.from_definition(definition, definition_file)
    folder = out / definition.collection.version
    published = read_provenance(folder)
    reasons = step_identity_changes(
        _to_build_identity(published) if published else None,
        _to_build_identity(_create_provenance(definition, inputs)),
    )
    if not reasons and not _is_intact(definition, folder):
        return ("published files were changed or deleted",)
    return reasons


def _is_intact(definition: ClassificationDefinition, folder: Path) -> bool:
    """Return whether the published files of a version are unchanged; see `is_intact`."""
    files = (read_manifest_or_none(folder) or {}).get("files", {})
    return is_intact(folder, files, is_draft=definition.collection.is_draft)


def _create_provenance(definition: ClassificationDefinition, inputs: InputFiles) -> dict[str, Any]:
    """Return the stage version, definition and input hashes of a collection as JSON values."""
    return {
        "stage": f"{STAGE}/{STAGE_VERSION}",
        "definition": definition.model_dump(mode="json"),
        "inputs": inputs.sha256_by_name(),
    }


def _to_build_identity(provenance: dict[str, Any]) -> Identity:
    """Convert the provenance of a version to the form that `step_identity_changes` compares."""
    return {
        "version": str(provenance["stage"]).partition("/")[2],
        "contracts": {},
        "parameters": provenance["definition"],
        "context": {},
        "inputs": {"file": provenance["inputs"]},
    }


def _write_tables(
    definition: ClassificationDefinition,
    inputs: InputFiles,
    folder: Path,
    limits: ResourceLimits,
    scratch: Path,
) -> None:
    """Write the tables, drift file and dataset card of a version to a folder."""
    human_labels = majority_labels(inputs.read_human_labels())
    markers = read_markers(inputs.markers[0].path if inputs.markers else None)
    work = scratch / "work.parquet"
    ledger = RowLedger(
        "posts", rows_in=PostLabeler(definition, markers).write_labeled_posts(inputs.posts, work)
    )
    with limits.connect_to_duckdb() as connection:
        parquet.read_parquet_relation(connection, work).create_view("work")
        connection.register("verdict", human_labels.to_arrow())
        require_labels_match_posts(connection, inputs.annotations)
        select_posts(connection, definition)
        connection.execute(NUMBER_AUTHORS)
        ledger.rows_out = _write_splits(connection, folder)
        write_query_result(connection, SELECT_REJECTS, folder / REJECTS_FILE, Rejects)
        drift = measure_drift(connection)
    ledger.rejected.update(_count_rejects(folder / REJECTS_FILE))
    ledger.check(STAGE)
    _check_splits_not_empty(definition, drift, folder / REJECTS_FILE)
    (folder / DRIFT_FILE).write_bytes(orjson.dumps(drift, option=orjson.OPT_INDENT_2))
    write_dataset_card(folder, definition, drift)


def _write_splits(connection: duckdb.DuckDBPyConnection, folder: Path) -> int:
    """Write the posts and labels of every split, and return the number of posts."""
    rows = 0
    for split in SPLITS:
        posts = folder / "posts" / f"{split}.parquet"
        rows += write_query_result(connection, SELECT_POSTS.format(split=split), posts, Posts)
        if split in LABELED_SPLITS:
            labels = folder / "labels" / f"{split}.parquet"
            write_query_result(connection, SELECT_LABELS.format(split=split), labels, Labels)
    return rows


def _check_splits_not_empty(
    definition: ClassificationDefinition, drift: dict[str, Any], rejects: Path
) -> None:
    rejected = _count_rejects(rejects)
    reasons = ", ".join(f"{reason} {rows}" for reason, rows in rejected.items()) or "nothing"
    if rejected.keys() <= set(MALFORMED) and not any(s["posts"] for s in drift["splits"].values()):
        raise DataError(
            "expected posts with the fields id, time (Unix seconds or ISO 8601), author and text "
            f"(not HTML), as JSON lines or Parquet, found none; rejected: {reasons}; convert the "
            "files, or correct `posts`"
        )
    wanted = [split for split in SPLITS if getattr(definition.authors, split) > 0]
    empty = [split for split in wanted if not drift["splits"][split]["posts"]]
    if empty:
        raise DataError(
            f"expected posts in every split, found none in {', '.join(empty)}; rejected: "
            f"{reasons}; check [intervals], or set the share of the split in "
            "[authors] to 0"
        )


def _count_rejects(path: Path) -> dict[str, int]:
    """Return the number of rejected records by reason."""
    grouped = parquet.scan(path).group_by("reason").agg(pl.col("rows").sum())
    return dict(grouped.sort("reason").collect().iter_rows())


def _load_build(folder: Path, inputs: InputFiles, *, rebuilt: bool) -> ClassificationBuild:
    drift = orjson.loads((folder / DRIFT_FILE).read_bytes())
    rows = [{"split": split, **drift["splits"][split]} for split in SPLITS]
    splits = pl.DataFrame([{k: row[k] for k in SUMMARY_SCHEMA} for row in rows], SUMMARY_SCHEMA)
    kept, rejected = int(splits["posts"].sum()), _count_rejects(folder / REJECTS_FILE)
    ledger = RowLedger("posts", kept + sum(rejected.values()), kept)
    ledger.rejected.update(rejected)
    annotations = inputs.read_human_labels()
    agreement = measure_agreement(annotations) if annotations.height else None
    unused = _count_unused_labels(folder, annotations)
    return ClassificationBuild(folder, rebuilt, ledger, splits, drift, agreement, unused)


def _count_unused_labels(folder: Path, annotations: pl.DataFrame) -> dict[str, int]:
    """Return the number of posts whose human labels are not used, by reason."""
    if not annotations.height:
        return {}
    ids = annotations.lazy().select(pl.col("id").unique())
    outcomes = [
        parquet.scan(folder / "posts" / f"{split}.parquet").select("id", outcome=pl.lit(split))
        for split in SPLITS
    ]
    rejects = parquet.scan(folder / REJECTS_FILE)
    outcomes.append(rejects.select(id="key", outcome=pl.lit("rejected")))
    known = pl.concat(outcomes).unique("id", keep="first", maintain_order=True)
    counts = ids.join(known, on="id", how="left").group_by("outcome").len().collect()
    counts_by_outcome = dict(
        counts.with_columns(pl.col("outcome").fill_null("unknown")).iter_rows()
    )
    reasons = ("train", "unlabelled", "rejected", "unknown")
    return {reason: counts_by_outcome[reason] for reason in reasons if reason in counts_by_outcome}
