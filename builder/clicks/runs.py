"""Runs in TREC format in, ranked documents out: what pools are drawn from.

`query Q0 document rank score tag`, one result a line. As trec_eval does, the score decides the
rank and the greater document id comes first among equal scores; the rank column is not trusted.
"""

import math
from pathlib import Path

import polars as pl

from builder.errors import FormatError, UsageError

FIELDS = 6
COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def read_run(path: Path, depth: int) -> pl.DataFrame:
    """The first `depth` documents of every query: (query_id, doc_id, rank).

    Raises:
        UsageError: no such file.
        FormatError: a line has not six fields or no finite score, or a document is there twice.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such run")
    rows: dict[tuple[str, str], float] = {}
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    _add(rows, line, path, number)
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text: {error}", path) from None
    frame = pl.DataFrame(
        [(query, doc, score) for (query, doc), score in rows.items()], schema=COLUMNS, orient="row"
    )
    ranked = frame.sort("query_id", "score", "doc_id", descending=[False, True, True])
    rank = pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.UInt32).alias("rank")
    return ranked.select("query_id", "doc_id", rank).filter(pl.col("rank") <= depth)


def _add(rows: dict[tuple[str, str], float], line: str, path: Path, number: int) -> None:
    fields = line.split()
    if len(fields) != FIELDS:
        raise FormatError(
            f"expected six fields (query Q0 document rank score tag), found {len(fields)}: "
            f"{line[:80]!r}",
            path,
            number,
        )
    query, _, doc, _, text, _ = fields
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise FormatError(f"expected a finite score, found {text[:40]!r}", path, number)
    if (query, doc) in rows:
        raise FormatError(f"document {doc} is there twice for query {query}", path, number)
    rows[query, doc] = score
