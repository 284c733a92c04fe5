"""Reads per-query scores computed by other tools: output of `trec_eval -q`, or CSV.

Accepts lines `measure query value` of trec_eval, or CSV with the columns `query_id`, `measure` and
`score`, plain or compressed with gzip or zstd. Measure names of trec_eval are converted
(`ndcg_cut_10` to `nDCG@10`). The optional CSV columns `system` and `snapshot` must have the same
value in all rows.
"""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from builder.errors import FormatError, UsageError
from builder.evaluation.measures.effectiveness import RunScorer, RunScores
from builder.evaluation.measures.registry import FAMILIES, from_trec_eval_name, parse_measure
from builder.evaluation.runs.delimited import read_delimited_table
from builder.trec.bounded import (
    BYTE_ORDER_MARK,
    MAX_BYTES,
    detect_compression,
    read_decompressed_bytes,
)
from builder.trec.lines import first_nonblank_line

COLUMNS = {"query_id": pl.String(), "measure": pl.String(), "score": pl.Float64()}
SOURCE_COLUMNS = {"system": pl.String(), "snapshot": pl.String()}
"""Optional columns of a CSV score table, as in the output of `longeval evaluate --per-query`."""
ROUNDING = 1e-6
"""Rounding tolerance: how far a score computed by another tool may lie outside [0, 1]."""
SNIFF_BYTES = 2**16
"""Number of bytes read to detect the format from the first line."""
SUMMARY_ID = "all"
"""Query id that trec_eval prints for means over all queries."""
EXPECTED = (
    "`measure query value` as printed by trec_eval -q, or CSV with the columns query_id, measure "
    "and score"
)
_MEASURE = re.compile(rb"[A-Za-z][\w.]*")


def is_score_table(path: Path) -> bool:
    """Return whether a file contains per-query scores, according to its first line.

    Returns False if the file cannot be read, so that the reader of runs reports the error.

    Raises:
        FormatError: The file has an unsupported compression or a binary format.
    """
    if not path.is_file():  # opening a FIFO would block
        return False
    try:
        with (
            path.open("rb") as file,
            pa.input_stream(file, compression=detect_compression(path)) as stream,
        ):
            line = first_nonblank_line(stream.read(SNIFF_BYTES).removeprefix(BYTE_ORDER_MARK))
    except OSError:
        return False
    return _is_score_table_header(line) or (
        len(line.split()) == 3 and _MEASURE.match(line) is not None
    )


def _is_score_table_header(line: bytes) -> bool:
    """Return whether a line is the header of a score table, whatever separates its columns."""
    names = {name.strip('" ') for name in re.split(r"[,;\s]", line.decode(errors="replace"))}
    return "measure" in names and not names.isdisjoint(("score", "value"))


def _is_csv_header(line: bytes) -> bool:
    names = {name.strip().strip('"') for name in line.decode(errors="replace").split(",")}
    return names >= COLUMNS.keys()


def read_score_table(path: Path, snapshot: str | None = None) -> pl.DataFrame:
    """Read per-query scores from a file.

    Args:
        path: Output of `trec_eval -q`, or CSV.
        snapshot: Required value of the column `snapshot`, if the file has it; None allows any.

    Returns:
        Columns `query_id`, `measure`, `score`, sorted by the first two. Summary rows of trec_eval
        (query `all`) and unknown measures of trec_eval are skipped.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: A row is malformed, a score is missing or out of range, a query has several
            scores for a measure, or the table contains several systems or a snapshot other than
            `snapshot`.
    """
    data = read_decompressed_bytes(path, MAX_BYTES)
    line = first_nonblank_line(data)
    if _is_score_table_header(line) and not _is_csv_header(line):
        found = line[:80].decode(errors="replace").strip()
        raise FormatError(f"expected {EXPECTED}, found the header {found!r}", path)
    frame = _parse_csv(path, snapshot) if _is_csv_header(line) else _parse_trec_eval(data, path)
    table = frame.sort("query_id", "measure")
    repeated = table.filter(pl.struct("query_id", "measure").is_duplicated())
    if repeated.height:
        query, measure, _ = repeated.row(0)
        raise FormatError(
            f"expected one score per query and measure, found several values of {measure} for "
            f"query {query!r}",
            path,
        )
    _check_score_range(table, path)
    return table


def _check_score_range(table: pl.DataFrame, path: Path) -> None:
    """Raise an error if a score of a built-in measure is not between 0 and 1.

    Raises:
        FormatError: A score is below 0 or above 1.
    """
    bounded = [name for name in table["measure"].unique() if parse_measure(name).family in FAMILIES]
    inside = pl.col("score").is_between(-ROUNDING, 1 + ROUNDING)
    wrong = table.filter(pl.col("measure").is_in(bounded) & ~inside)
    if wrong.height:
        query, measure, score = wrong.row(0)
        raise FormatError(
            f"expected scores of {measure} from 0 to 1, found {score} for query {query!r}; divide "
            "percentages by 100",
            path,
        )


def _parse_csv(path: Path, snapshot: str | None) -> pl.DataFrame:
    source = read_delimited_table(path, SOURCE_COLUMNS | COLUMNS)
    _check_system_and_snapshot(source, path, snapshot)
    frame = source.select(list(COLUMNS))
    if sum(frame.null_count().row(0)):
        raise FormatError("every row must have a query, a measure and a score", path)
    names = {name: str(parse_measure(name)) for name in frame["measure"].unique()}
    return frame.with_columns(pl.col("measure").replace_strict(names, return_dtype=pl.String))


def _check_system_and_snapshot(table: pl.DataFrame, path: Path, snapshot: str | None) -> None:
    """Raise an error if a score table has several systems or snapshots, or the wrong snapshot.

    Raises:
        FormatError: The column `system` or `snapshot` has several values, or the snapshot is not
            the required one.
    """
    for column, only in (("system", None), ("snapshot", snapshot)):
        if column not in table.columns:
            continue
        found = table[column].drop_nulls().unique().sort().to_list()
        if len(found) > 1 or (only is not None and found not in ([], [only])):
            raise FormatError(
                f"expected scores of one {column}{f' ({only})' if only else ''}, found "
                f"{', '.join(found)}; write one file per system and snapshot, named after both",
                path,
            )


def _parse_trec_eval(data: bytes, path: Path) -> pl.DataFrame:
    rows = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        fields = [field.decode(errors="replace") for field in line.split()]
        if not fields or (len(fields) > 1 and fields[1] == SUMMARY_ID):
            continue
        if len(fields) != 3:
            found = line.decode(errors="replace").rstrip("\r")[:80]
            raise FormatError(f"expected `measure query value`, found {found!r}", path, number)
        measure = from_trec_eval_name(fields[0])
        if measure is not None:
            rows.append((fields[1], measure, _parse_score(fields[2], path, number)))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _parse_score(field: str, path: Path, line_number: int) -> float:
    try:
        value = float(field)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise FormatError(
            f"expected a finite value in column 3, found {field[:40]!r}", path, line_number
        )
    return value


def read_run_scores(path: Path, scorer: RunScorer, snapshot: str | None = None) -> RunScores:
    """Read the scores of all judged queries from a score table; missing queries score 0.

    Args:
        path: Table of scores.
        scorer: Scorer with the measures, and the relevance judgements of the snapshot.
        snapshot: Required value of the column `snapshot`, if the file has it; None allows any.

    Raises:
        UsageError: A measure is missing from the table.
        FormatError: A judged query in the table has no score for one of the measures.
    """
    table = read_score_table(path, snapshot)
    queries = pl.DataFrame({"query_id": scorer.query_ids}, schema={"query_id": pl.String})
    known = set(table["measure"])
    for measure in scorer.measures:
        if str(measure) not in known:
            found = ", ".join(sorted(known)) or f"no measures; the expected format is {EXPECTED}"
            raise UsageError(f"{path}: expected scores for {measure}, found {found}")
    wide = queries.join(
        table.pivot("measure", index="query_id", values="score"),
        on="query_id",
        how="left",
        maintain_order="left",
    )
    values = wide.select([str(measure) for measure in scorer.measures])
    is_missing = ~wide["query_id"].is_in(table["query_id"].unique().implode())
    for measure, column in zip(scorer.measures, values.iter_columns(), strict=True):
        incomplete = wide["query_id"].filter(column.is_null() & ~is_missing)
        if len(incomplete):
            message = f"expected a score of {measure} for query {incomplete[0]!r}, found none"
            raise FormatError(message, path)
    unjudged = len(set(table["query_id"]) - set(scorer.query_ids))
    return RunScores(
        values.fill_null(0.0).to_numpy().astype(np.float64),
        is_missing.to_numpy().astype(np.bool_),
        unjudged,
    )
