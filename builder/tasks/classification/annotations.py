"""Human labels of posts.

In: tab-separated files `id  annotator  label`, with or without that header, label one of positive,
negative and neutral. Out: one row for each label, and the verdict of each post: the label that most
annotators gave it, none where two lead.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import FormatError
from builder.evaluation.textlines import numbered_lines

HUMAN_LABELS = ("positive", "negative", "neutral")
HEADER = ["id", "annotator", "label"]
ANNOTATION_SCHEMA = {"id": pl.String, "annotator": pl.String, "label": pl.String}


def read_annotations(paths: Sequence[Path]) -> pl.DataFrame:
    """Read human labels: id, annotator, label; sorted.

    Raises:
        FormatError: a line is no label, or an annotator labels a post twice.
    """
    seen: set[tuple[str, str]] = set()
    rows: list[tuple[str, str, str]] = []
    for path in paths:
        for line, text in numbered_lines(path):
            fields = text.split("\t")
            if not text.strip() or (line == 1 and fields == HEADER):
                continue
            if len(fields) != len(HEADER) or not all(fields) or fields[2] not in HUMAN_LABELS:
                expected = f"id, annotator and {', '.join(HUMAN_LABELS)}, separated by tabs"
                raise FormatError(f"expected {expected}; found {text[:120]!r}", path, line)
            if (fields[0], fields[1]) in seen:
                raise FormatError(f"expected one label of {fields[1]} for {fields[0]}", path, line)
            seen.add((fields[0], fields[1]))
            rows.append((fields[0], fields[1], fields[2]))
    return pl.DataFrame(rows, schema=ANNOTATION_SCHEMA, orient="row").sort("id", "annotator")


def verdicts(annotations: pl.DataFrame) -> pl.DataFrame:
    """The label of each post: id, verdict (null where two labels lead), annotators."""
    votes = annotations.group_by("id", "label").agg(votes=pl.len())
    leading = votes.filter(pl.col("votes") == pl.col("votes").max().over("id"))
    verdict = pl.when(pl.len() == 1).then(pl.col("label").first())
    decided = leading.group_by("id").agg(verdict=verdict)
    counts = annotations.group_by("id").agg(annotators=pl.len())
    return decided.join(counts, on="id").sort("id")
