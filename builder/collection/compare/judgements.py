"""Finds out why grades differ between two versions, and whether their query texts match."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from builder.collection.read import Snapshot
from builder.trec.released import read_release_ids

EVIDENCE = ("impressions", "examinations", "clicks", "last_clicks")
CAUSES = ("parameters", "threshold", "inputs", "code", "unknown")


@dataclass(frozen=True)
class JudgementAffectingChanges:
    """Changes between two versions that can affect the judgements of a snapshot.

    Args:
        evidence: Changed parameters that affect click counts and scores, as dotted keys.
        thresholds: Changed parameters that affect how scores are converted to grades, as dotted
            keys.
        inputs: Whether the input files differ.
        code: Whether the versions of stages or libraries differ.
    """

    evidence: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    inputs: bool = False
    code: bool = False

    @property
    def cause_of_click_count_changes(self) -> str:
        """Why click counts and scores changed: `parameters`, `inputs`, `code` or `unknown`."""
        return "parameters" if self.evidence else self.non_parameter_cause

    @property
    def cause_of_judged_pair_changes(self) -> str:
        """Why the judged query-document pairs changed: `parameters`, `inputs`, `code` or `unknown`.

        The cause is `parameters` even if only grading parameters changed.
        """
        return "parameters" if self.thresholds else self.cause_of_click_count_changes

    @property
    def non_parameter_cause(self) -> str:
        """Why judgements changed if no parameter changed: `inputs`, `code` or `unknown`."""
        if self.inputs:
            return "inputs"
        return "code" if self.code else "unknown"


@dataclass(frozen=True)
class JudgementDifference:
    """Differences between the judgements of a snapshot in two versions.

    Args:
        snapshot: Name of the snapshot.
        judged: Number of judgements in the old version.
        causes: Number of query-document pairs whose grade changed, by cause; see
            `count_grade_changes`.
        parameters: Changed parameters that affect grades, as dotted keys.
        compared: Number of judgements in the old version whose query has a text and whose document
            is also judged in the new version.
        other_text: Number of `compared` judgements whose document is judged only for other query
            texts in the new version.
        other_text_cause: Cause of `other_text`, one of `CAUSES`; `unknown` if either version is
            an imported release, None if `other_text` is 0.
        released: Whether either version is an imported release, whose judgements may be attached to
            the wrong queries.
    """

    snapshot: str
    judged: int
    causes: Mapping[str, int]
    parameters: tuple[str, ...]
    compared: int
    other_text: int
    other_text_cause: str | None
    released: bool = False


def count_grade_changes(
    old: pl.LazyFrame,
    new: pl.LazyFrame,
    changes: JudgementAffectingChanges,
    grading_changes: JudgementAffectingChanges | None = None,
) -> dict[str, int]:
    """Count the query-document pairs whose grade changed between two versions, by cause.

    If click counts or score differ, the cause is `parameters` if any parameter that affects them
    changed, else `inputs` if the input files differ, else `code` if the versions of stages or
    libraries differ, else `unknown`. Parameters take precedence because they can change both the
    counts and the fitted prior. If click counts and score are equal, the cause is `threshold` if a
    grading parameter changed; otherwise, the same rules apply to `grading_changes`. Imported
    releases contain no click evidence, so the cause is `unknown`.

    Args:
        old: Judgements of the old version.
        new: Judgements of the new version.
        changes: Changes that can affect click counts and scores.
        grading_changes: Changes that can affect grades even if counts and scores are equal;
            default: `changes`.
    """
    grading_changes = grading_changes or changes
    key = ["query_id", "doc_id"]
    both = old.join(new, on=key, suffix="_new").filter(pl.col("grade") != pl.col("grade_new"))
    other_evidence = pl.any_horizontal(pl.col(n) != pl.col(f"{n}_new") for n in EVIDENCE)
    same_score = pl.col("score").eq_missing(pl.col("score_new"))
    released = (pl.col("source") == "release") | (pl.col("source_new") == "release")
    of_equal_score = (
        "threshold" if grading_changes.thresholds else grading_changes.cause_of_click_count_changes
    )
    cause = (
        pl.when(released)
        .then(pl.lit("unknown"))
        .when(other_evidence | ~same_score)
        .then(pl.lit(changes.cause_of_click_count_changes))
        .otherwise(pl.lit(of_equal_score))
    )
    counts = both.group_by(cause.alias("cause")).len().collect()
    by_cause = dict(counts.iter_rows())
    return {name: by_cause[name] for name in CAUSES if name in by_cause}


def count_text_mismatches(
    old: tuple[pl.LazyFrame, pl.LazyFrame], new: tuple[pl.LazyFrame, pl.LazyFrame]
) -> tuple[int, int]:
    """Count the old judgements whose document the new version judges only for other queries.

    Query ids must be derived from the query texts, so that equal ids mean identical text.

    Args:
        old: Queries and qrels of the old version.
        new: Queries and qrels of the new version.

    Returns:
        Number of comparable judgements, and how many of them are missing from the new version. An
        old judgement is comparable if its query has a text and both versions judge its document.
    """
    (queries, qrels), (_, new_qrels) = old, new
    with_text = qrels.join(queries.select("query_id"), on="query_id", how="semi")
    judged_documents = new_qrels.select("doc_id").unique()
    comparable = with_text.join(judged_documents, on="doc_id", how="semi").collect()
    pairs = new_qrels.select("query_id", "doc_id").collect()
    missing = comparable.join(pairs, on=["query_id", "doc_id"], how="anti")
    return comparable.height, missing.height


def scan_queries_and_qrels(snapshot: Snapshot) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Scan the queries and qrels of a snapshot, with query ids that depend only on the query text.

    The ids of an imported release are replaced by keys; those of a built collection are kept.
    """
    ids = read_release_ids(snapshot.folder)
    if ids is None:
        return snapshot.queries, snapshot.qrels
    keys = ids.filter(kind="query").select(query_id="id", by_text=pl.coalesce("text_key", "key"))
    queries, qrels = (
        rows.join(keys.lazy(), on="query_id").with_columns(query_id="by_text")
        for rows in (snapshot.queries, snapshot.qrels)
    )
    return queries, qrels
