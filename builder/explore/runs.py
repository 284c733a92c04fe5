"""Loads run files into in-memory tables for the explorer's pages about systems.

The name of a run file, or of its folder, must contain the name of its snapshot. Table `scores` has
one row per snapshot, query, system and measure; table `ranked` has the top-ranked documents of each
run.
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.evaluation import EvaluationParameters, evaluate_paths
from builder.evaluation.runs.assignment import RunFile, assign_runs
from builder.evaluation.runs.numbering import determine_snapshot_numbers
from builder.explore.source import CollectionSource
from builder.trec.released import read_snapshot_run, replace_ids_with_keys

MEASURES = ("nDCG@10", "nDCG", "P@10", "AP", "RR")
MAX_RANKED_DOCUMENTS = 2_000_000
"""Maximum number of rows in the table `ranked`, which contains all runs."""
MAX_DEPTH = 100
"""Maximum number of documents loaded per query and run."""
MIN_DEPTH = 10
"""Minimum number of documents loaded per query and run, even if `ranked` then exceeds its limit.

The limit is `MAX_RANKED_DOCUMENTS`.
"""


def load_runs(source: CollectionSource, path: Path) -> None:
    """Score runs, and add the tables `scores` and `ranked` to the connection.

    The function must be called before `CollectionSource.restrict_access`.

    Args:
        source: Connection to the collection.
        path: Run file, or folder of run files.

    Raises:
        UsageError: A file cannot be assigned to a snapshot, or the folder contains no runs.
        FormatError: A run or qrels file is malformed.
        MissingExtraError: The extra [evaluation] is not installed.
    """
    collection = source.collection
    folders = {name: collection.snapshot(name).folder for name in source.snapshots}
    qrels = {name: at / "qrels.parquet" for name, at in folders.items()}
    parameters = EvaluationParameters(measures=MEASURES, resamples=0)
    scores = evaluate_paths(qrels, [path], parameters).query_scores
    parts = [
        replace_ids_with_keys(rows.with_columns(doc_id=pl.lit("")), folders[str(name[0])]).drop(
            "doc_id"
        )
        for name, rows in scores.group_by("snapshot", maintain_order=True)
    ]
    columns = pl.concat(parts).select("snapshot", "system", "measure", "query_id", "score")
    source.add_table("scores", _to_arrow_table(columns.rename({"query_id": "query_key"})))
    files = assign_runs([path], source.snapshots, determine_snapshot_numbers(folders))
    queries = max((rows["query_id"].n_unique() for rows in parts), default=1)
    depth = min(MAX_DEPTH, max(MIN_DEPTH, MAX_RANKED_DOCUMENTS // max(1, queries * len(files))))
    ranked = pl.concat([_read_top_documents(file, folders[file.snapshot], depth) for file in files])
    source.add_table("ranked", _to_arrow_table(ranked))
    source.systems = tuple(sorted({file.system for file in files}))
    source.depth = depth


def _read_top_documents(file: RunFile, snapshot_folder: Path, depth: int) -> pl.DataFrame:
    ranking = replace_ids_with_keys(
        read_snapshot_run(file.path, depth, snapshot_folder).ranking, snapshot_folder
    )
    return ranking.select(
        snapshot=pl.lit(file.snapshot),
        system=pl.lit(file.system),
        query_key="query_id",
        doc_id="doc_id",
        score="score",
    )


def _to_arrow_table(rows: pl.DataFrame) -> Any:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())
