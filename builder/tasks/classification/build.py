"""A classification collection from timestamped posts.

In: a definition (see `definition`) and the posts it names. Out: a published version,

```
<out>/<version>/manifest.json SHA256SUMS README.md drift.json rejects.parquet
<out>/<version>/posts/{train,dev,within,short,long,unlabelled}.parquet
<out>/<version>/labels/{train,dev,within,short,long}.parquet
```

after LongEval 2023, task 2: distant labels, human labels for the development and test sets where
they are given, no overlap of splits in time, author or text. Rows in = rows out + rejects.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl

from builder.errors import DataError, DefinitionError
from builder.io import parquet
from builder.io.tables import write_query
from builder.runtime.ledger import Ledger
from builder.runtime.limits import Limits
from builder.runtime.publisher import PARTIAL, WORK, lock_collection, private_folder, publish
from builder.tasks.classification.agreement import AgreementReport, agreement
from builder.tasks.classification.annotations import verdicts
from builder.tasks.classification.contracts import Labels, Posts
from builder.tasks.classification.definition import (
    LABELLED,
    SPLITS,
    ClassificationDefinition,
    load_definition,
)
from builder.tasks.classification.drift import measure_drift
from builder.tasks.classification.inputs import Inputs
from builder.tasks.classification.labelling import Labeller
from builder.tasks.classification.manifest import (
    DRIFT,
    REJECTS,
    published_origin,
    write_card,
    write_classification_manifest,
)
from builder.tasks.classification.markers import read_markers
from builder.tasks.classification.selection import choose
from schemas import Rejects

STAGE = "classification"
STAGE_VERSION = "1"
"""Raised when the same definition and posts would give another version."""
VERDICTS = """
ALTER TABLE candidate ADD COLUMN label VARCHAR;
ALTER TABLE candidate ADD COLUMN source VARCHAR;
UPDATE candidate SET label = marked, source = 'distant' WHERE split <> 'unlabelled';
UPDATE candidate SET label = v.verdict, source = 'human',
    reason = CASE WHEN v.verdict IS NULL THEN 'annotators_disagree'
                  WHEN v.verdict = 'neutral' THEN 'human_neutral' END
FROM verdict AS v
WHERE v.id = candidate.id AND reason IS NULL AND split IN ('dev', 'within', 'short', 'long');
CREATE TEMP TABLE author_number AS
    SELECT author, row_number() OVER (ORDER BY author) - 1 AS number
    FROM (SELECT DISTINCT author FROM candidate WHERE reason IS NULL);
"""
POSTS = """
SELECT id, time, number::UINTEGER AS author, text
FROM candidate JOIN author_number USING (author)
WHERE reason IS NULL AND split = '{split}' ORDER BY id
"""
LABELS = """
SELECT id, label, source, marked AS distant
FROM candidate WHERE reason IS NULL AND split = '{split}' ORDER BY id
"""
REJECTED = """
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
    """What a build made.

    Args:
        folder: The published version.
        rebuilt: False where the version was there already, from the same definition and posts.
        ledger: Records read, posts kept, records rejected by reason.
        splits: One row per split (`SUMMARY_SCHEMA`).
        drift: What `drift.json` holds.
        agreement: Agreement of the annotators; null without human labels.
    """

    folder: Path
    rebuilt: bool
    ledger: Ledger
    splits: pl.DataFrame
    drift: dict[str, Any]
    agreement: AgreementReport | None


def build_classification(
    definition_file: Path, out: Path, limits: Limits | None = None
) -> ClassificationBuild:
    """Build and publish a classification collection.

    Args:
        definition_file: The TOML definition; paths in it are relative to its folder.
        out: Folder of the collection; the version is published below it.
        limits: Threads, memory and scratch space; default: a scratch folder beside the version.

    Raises:
        DefinitionError: the definition is wrong, names no posts, or its version is released and
            was made from something else.
        FormatError: a file of posts, markers or human labels is not what it should be.
        DataError: a split that should have posts has none.
    """
    definition = load_definition(definition_file)
    inputs = Inputs.of(definition, definition_file)
    folder = out / definition.collection.version
    origin = {
        "stage": f"{STAGE}/{STAGE_VERSION}",
        "definition": definition.model_dump(mode="json"),
        "inputs": inputs.hashes(),
    }
    with lock_collection(out):
        published = published_origin(folder)
        if published == origin:
            return _report(folder, inputs, rebuilt=False)
        if published is not None and not definition.collection.is_draft:
            raise DefinitionError(
                f"version {folder.name} is published and was made from another definition or other "
                "posts; give the definition a new version",
                definition_file,
                "collection.version",
            )
        with private_folder(out / WORK / f"{folder.name}{PARTIAL}") as partial:
            scratch = partial / ".scratch"
            scratch.mkdir()
            _make(definition, inputs, partial, limits or Limits(scratch=scratch), scratch)
            shutil.rmtree(scratch)
            write_classification_manifest(partial, definition, origin)
            publish(partial, folder)
    return _report(folder, inputs, rebuilt=True)


def _make(
    definition: ClassificationDefinition,
    inputs: Inputs,
    folder: Path,
    limits: Limits,
    scratch: Path,
) -> None:
    """Write all tables of a version."""
    human = verdicts(inputs.human_labels())
    markers = read_markers(inputs.markers[0].path if inputs.markers else None)
    work = scratch / "work.parquet"
    ledger = Ledger("posts", rows_in=Labeller(definition, markers).write(inputs.posts, work))
    with limits.connect() as connection:
        parquet.relation(connection, work).create_view("work")
        connection.register("verdict", human.to_arrow())
        choose(connection, definition)
        connection.execute(VERDICTS)
        ledger.rows_out = _write_splits(connection, folder)
        write_query(connection, REJECTED, folder / REJECTS, Rejects)
        drift = measure_drift(connection)
    ledger.rejected.update(_rejected(folder / REJECTS))
    ledger.check(STAGE)
    _check_sizes(definition, drift, folder / REJECTS)
    (folder / DRIFT).write_bytes(orjson.dumps(drift, option=orjson.OPT_INDENT_2))
    write_card(folder, definition, drift)


def _write_splits(connection: duckdb.DuckDBPyConnection, folder: Path) -> int:
    rows = 0
    for split in SPLITS:
        posts = folder / "posts" / f"{split}.parquet"
        rows += write_query(connection, POSTS.format(split=split), posts, Posts)
        if split in LABELLED:
            labels = folder / "labels" / f"{split}.parquet"
            write_query(connection, LABELS.format(split=split), labels, Labels)
    return rows


def _check_sizes(
    definition: ClassificationDefinition, drift: dict[str, Any], rejects: Path
) -> None:
    wanted = [split for split in SPLITS if getattr(definition.authors, split) > 0]
    empty = [split for split in wanted if not drift["splits"][split]["posts"]]
    if empty:
        reasons = ", ".join(f"{reason} {rows}" for reason, rows in _rejected(rejects).items())
        raise DataError(
            f"expected posts in every split, found none in {', '.join(empty)}; rejected: "
            f"{reasons or 'nothing'}; check the intervals, or set the share of its authors to 0"
        )


def _rejected(path: Path) -> dict[str, int]:
    grouped = parquet.scan(path).group_by("reason").agg(pl.col("rows").sum())
    return dict(grouped.sort("reason").collect().iter_rows())


def _report(folder: Path, inputs: Inputs, *, rebuilt: bool) -> ClassificationBuild:
    drift = orjson.loads((folder / DRIFT).read_bytes())
    rows = [{"split": split, **drift["splits"][split]} for split in SPLITS]
    splits = pl.DataFrame([{k: row[k] for k in SUMMARY_SCHEMA} for row in rows], SUMMARY_SCHEMA)
    kept, rejected = int(splits["posts"].sum()), _rejected(folder / REJECTS)
    ledger = Ledger("posts", kept + sum(rejected.values()), kept)
    ledger.rejected.update(rejected)
    human = inputs.human_labels()
    return ClassificationBuild(
        folder, rebuilt, ledger, splits, drift, agreement(human) if human.height else None
    )
