"""Conversion of an evaluation to summary rows for printing, and to JSON.

`summary_rows` follows Keller et al. 2024, table 1. Each row contains the mean score of a system in
a snapshot, and compares this snapshot with the first one, or with an earlier one that `pairs`
selects.
`to_json` returns all tables in this structure:

    {"signature": str, "parameters": {...}, "snapshots": [str], "systems": [str],
     "effectiveness": [{...}], "significance": [{...}], "persistence": [{...}],
     "agreement": [{...}]}

with the columns of `tables.results` as keys, and optionally with `query_scores` and `query_drops`
(columns of `tables.perquery`). Undefined values are null and have a `reason`.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from builder.errors import UsageError
from builder.evaluation.evaluator import Evaluation

Row = dict[str, Any]
Key = tuple[str, str, str]
"""Key of a summary row: measure, system and snapshot."""

MAX_LISTED_RUNS = 4
"""Maximum number of runs that a note names; if there are more, it states only their number."""
_MEANS = ("mean", "ci_low", "ci_high")
_COMPARED = (
    *("re_delta_drop", "rnd_absolute_drop", "delta_ri", "effect_ratio"),
    *("p_unpaired", "p_welch"),
)


def summary_rows(evaluation: Evaluation, topic_set: str = "full") -> list[Row]:
    """Return the main results of an evaluation as rows for printing.

    Args:
        evaluation: Evaluation to summarize.
        topic_set: `full` or `core`.

    Returns:
        One row per measure, system and snapshot. If a snapshot is compared with several earlier
        ones, it has one row per comparison. The columns are `measure`, `system`, `snapshot`,
        `queries`, `missing`, `unjudged`, `mean`, `ci_low` and `ci_high`, then `re_delta_drop`,
        `rnd_absolute_drop`, `delta_ri`, `effect_ratio`, `p_unpaired` and `p_welch` of the
        comparison (null for the first snapshot), and `p_pivot`, the corrected p-value of the
        difference from the pivot. If the parameter `pairs` is not `first`, `snapshot` is followed
        by `compared_with`, the name of the earlier snapshot.
    """
    means = _filter_topic_set(evaluation.effectiveness, topic_set).rename({"value": "mean"})
    comparisons: dict[Key, dict[str | None, Row]] = {}
    for row in _filter_topic_set(evaluation.persistence, topic_set).iter_rows(named=True):
        key = (row["measure"], row["system"], row["to_snapshot"])
        values = comparisons.setdefault(key, {}).setdefault(row["from_snapshot"], {})
        values[row["quantity"]] = row["value"]
    p_pivot = {
        (row["measure"], row["system"], row["snapshot"]): row["p_holm"]
        for row in _filter_topic_set(evaluation.significance, topic_set).iter_rows(named=True)
    }
    order = {name: index for index, name in enumerate(evaluation.parameters.measures)}
    rows = []
    for row in means.iter_rows(named=True):
        key = (row["measure"], row["system"], row["snapshot"])
        for earlier, values in comparisons.get(key, {None: {}}).items():
            compared = {} if evaluation.parameters.pairs == "first" else {"compared_with": earlier}
            rows.append(_summary_row(row, compared, values, p_pivot.get(key)))
    return sorted(rows, key=lambda r: (order[r["measure"]], r["system"]))


def _filter_topic_set(table: pl.DataFrame, topic_set: str) -> pl.DataFrame:
    return table.filter(pl.col("topic_set") == topic_set)


def _summary_row(row: Row, compared_with: Row, comparison: Row, p_pivot: float | None) -> Row:
    return {
        **{name: row[name] for name in ("measure", "system", "snapshot")},
        **compared_with,
        **{name: row[name] for name in ("queries", "missing", "unjudged", *_MEANS)},
        **{name: comparison.get(name) for name in _COMPARED},
        "p_pivot": p_pivot,
    }


def missing_interval_notes(evaluation: Evaluation, topic_set: str = "full") -> list[str]:
    """Return one note per reason why means have no confidence interval, with the affected runs."""
    return (
        _filter_topic_set(evaluation.effectiveness, topic_set)
        .filter(pl.col("ci_low").is_null())
        .select(
            why=pl.coalesce("reason", "ci_reason"), run=pl.format("{} {}", "system", "snapshot")
        )
        .unique(maintain_order=True)
        .group_by("why", maintain_order=True)
        .agg("run", runs=pl.len())
        .select(
            pl.format(
                "no confidence interval for {}: {}",
                pl.when(pl.col("runs") > MAX_LISTED_RUNS)
                .then(pl.format("{} runs", "runs"))
                .otherwise(pl.col("run").list.join(", ")),
                "why",
            )
        )
        .to_series()
        .to_list()
    )


def zero_score_warnings(evaluation: Evaluation) -> list[str]:
    """Return a warning for each run whose scores are 0 for all judged queries and measures."""
    reason = (
        pl.when(pl.col("irrelevant") == pl.col("queries"))
        .then(pl.lit("no judged document is relevant"))
        .otherwise(
            pl.lit(
                "no relevant document was retrieved; check that the run and the judgements use "
                "the same document ids"
            )
        )
    )
    return (
        _filter_topic_set(evaluation.effectiveness, "full")
        .filter(pl.col("queries") > 0)
        .with_columns(reason=reason)
        .group_by("system", "snapshot", "reason", maintain_order=True)
        .agg(is_zero=(pl.col("value") == 0).all())
        .filter("is_zero")
        .select(pl.format("{}, {}: all scores are 0, because {}", "system", "snapshot", "reason"))
        .to_series()
        .to_list()
    )


def to_json(evaluation: Evaluation, *, include_queries: bool = False) -> dict[str, Any]:
    """Convert an evaluation to JSON values with the structure shown in this module's docstring.

    Args:
        evaluation: Evaluation to convert.
        include_queries: Whether to include the tables of per-query scores and drops.
    """
    tables = ["effectiveness", "significance", "persistence", "agreement"]
    tables += ["query_scores", "query_drops"] if include_queries else []
    return {
        "signature": evaluation.signature(),
        "parameters": asdict(evaluation.parameters),
        "snapshots": list(evaluation.snapshots),
        "systems": list(evaluation.systems),
        **{name: getattr(evaluation, name).to_dicts() for name in tables},
    }


def write_query_scores(evaluation: Evaluation, path: Path) -> None:
    """Write the per-query scores as CSV, TSV, Parquet or JSON, depending on the file suffix.

    CSV, TSV and Parquet have the columns of `query_scores`; JSON also contains `query_drops`.

    Raises:
        UsageError: The suffix is not supported.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scores = evaluation.query_scores
    if path.suffix == ".csv":
        scores.write_csv(path)
    elif path.suffix == ".tsv":
        scores.write_csv(path, separator="\t")
    elif path.suffix == ".parquet":
        scores.write_parquet(path, compression="zstd", compression_level=3)
    elif path.suffix == ".json":
        tables = {"query_scores": scores, "query_drops": evaluation.query_drops}
        rows = {name: table.to_dicts() for name, table in tables.items()}
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")
    else:
        raise UsageError(
            f"--per-query: expected .csv, .tsv, .parquet or .json, found {path.name!r}"
        )
