"""Runs of systems, for the pages about them.

In: run files, named as for `longeval evaluate`. Out: two tables in the memory of a source:
`scores`, a score per query, system and measure; `ranked`, the best documents of each run.
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.evaluation import EvaluationParameters, evaluate_paths
from builder.evaluation.runs.assignment import RunFile, assign_runs
from builder.explore.source import Source
from builder.trec.released import read_snapshot_run, replace_ids_with_keys

MEASURES = ("nDCG@10", "nDCG", "P@10", "AP", "RR")
MOST_RANKED = 2_000_000
"""Documents of runs that are kept in memory for attributions, over all runs."""
DEEPEST = 100
"""Documents per query and run that are kept, unless `MOST_RANKED` allows fewer."""
LEAST_DEPTH = 10


def load_runs(source: Source, folder: Path) -> None:
    """Score runs and keep what pages need of them, before the source is sealed.

    Raises:
        UsageError: a path cannot be assigned, or no run is there.
        FormatError: a malformed run or qrels file; names file and line.
        MissingExtraError: the extra [evaluation] is not installed.
    """
    collection = source.collection
    folders = {name: collection.snapshot(name).folder for name in source.snapshots}
    qrels = {name: at / "qrels.parquet" for name, at in folders.items()}
    parameters = EvaluationParameters(measures=MEASURES, resamples=0)
    scores = evaluate_paths(qrels, [folder], parameters).query_scores
    parts = [
        replace_ids_with_keys(rows.with_columns(doc_id=pl.lit("")), folders[str(name[0])]).drop(
            "doc_id"
        )
        for name, rows in scores.group_by("snapshot", maintain_order=True)
    ]
    kept = pl.concat(parts).select("snapshot", "system", "measure", "query_id", "score")
    source.add("scores", _arrow(kept.rename({"query_id": "query_key"})))
    files = assign_runs([folder], source.snapshots)
    queries = max((rows["query_id"].n_unique() for rows in parts), default=1)
    depth = min(DEEPEST, max(LEAST_DEPTH, MOST_RANKED // max(1, queries * len(files))))
    ranked = pl.concat([_ranked(file, folders[file.snapshot], depth) for file in files])
    source.add("ranked", _arrow(ranked))
    source.systems = tuple(sorted({file.system for file in files}))
    source.depth = depth


def _ranked(file: RunFile, snapshot: Path, depth: int) -> pl.DataFrame:
    ranking = replace_ids_with_keys(read_snapshot_run(file.path, depth, snapshot).ranking, snapshot)
    return ranking.select(
        snapshot=pl.lit(file.snapshot),
        system=pl.lit(file.system),
        query_key="query_id",
        doc_id="doc_id",
        score="score",
    )


def _arrow(rows: pl.DataFrame) -> Any:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())
