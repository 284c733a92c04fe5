"""What became of judgements between two versions: why labels changed, what judges another text."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

EVIDENCE = ("impressions", "examinations", "clicks", "last_clicks")
CAUSES = ("parameters", "threshold", "inputs", "code", "unknown")


@dataclass(frozen=True)
class Changed:
    """What differs between the definitions behind two versions of a snapshot.

    Args:
        evidence: Dotted keys of parameters that decide what is counted, and how it is scored.
        thresholds: Dotted keys of parameters that decide how scores become grades.
        inputs: Whether the raw files differ.
    """

    evidence: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    inputs: bool = False


@dataclass(frozen=True)
class JudgementDifference:
    """The judgements of one snapshot.

    Args:
        snapshot: Its name.
        judged: Judgements of the old version.
        causes: Pairs whose grade changed, by cause (see `label_causes`).
        parameters: Dotted keys of the parameters that differ and decide about grades.
        compared: Judgements of the old version whose query has a text and whose document the new
            version judges as well.
        other_text: Those of them that the new version has with other query texts only.
    """

    snapshot: str
    judged: int
    causes: Mapping[str, int]
    parameters: tuple[str, ...]
    compared: int
    other_text: int


def label_causes(old: pl.LazyFrame, new: pl.LazyFrame, changed: Changed) -> dict[str, int]:
    """Why grades of pairs that both versions judge differ.

    Where the evidence or the score differs: `parameters` where one that decides about them does,
    whatever else differs, since a minimum of users changes what is counted and the prior that is
    fitted to it; else `inputs` where the raw files differ; else `code`. Where evidence and score
    are the same: `threshold` where a parameter of grading differs, else the first of the same
    three. Releases that were imported come without evidence: `unknown`.

    Args:
        old: Judgements of the old version.
        new: Judgements of the new version.
        changed: What differs between their definitions.
    """
    key = ["query_id", "doc_id"]
    both = old.join(new, on=key, suffix="_new").filter(pl.col("grade") != pl.col("grade_new"))
    other_evidence = pl.any_horizontal(pl.col(n) != pl.col(f"{n}_new") for n in EVIDENCE)
    same_score = pl.col("score").eq_missing(pl.col("score_new"))
    released = (pl.col("source") == "release") | (pl.col("source_new") == "release")
    upstream = "parameters" if changed.evidence else "inputs" if changed.inputs else "code"
    cause = (
        pl.when(released)
        .then(pl.lit("unknown"))
        .when(other_evidence | ~same_score)
        .then(pl.lit(upstream))
        .otherwise(pl.lit("threshold" if changed.thresholds else upstream))
    )
    counts = both.group_by(cause.alias("cause")).len().collect()
    found = dict(counts.iter_rows())
    return {name: found[name] for name in CAUSES if name in found}


def judged_texts(
    old: tuple[pl.LazyFrame, pl.LazyFrame], new: tuple[pl.LazyFrame, pl.LazyFrame]
) -> tuple[int, int]:
    """Judgements that can be compared by query text, and those that only other texts have.

    Args:
        old: Queries and qrels of the old version.
        new: Those of the new one. Ids of queries are made from their texts.
    """
    (queries, qrels), (_, later) = old, new
    named = qrels.join(queries.select("query_id"), on="query_id", how="semi")
    known = named.join(later.select("doc_id").unique(), on="doc_id", how="semi").collect()
    pairs = later.select("query_id", "doc_id").collect()
    return known.height, known.join(pairs, on=["query_id", "doc_id"], how="anti").height
