"""Runs a click model on a standalone query log (command `longeval clicks`).

Writes one row per query and URL shown (schema `PairStatistics`), sorted by query and URL, as
Parquet or TSV. sDBN is computed in DuckDB with bounded memory; the other models hold all distinct
result pages in memory.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.estimation import choose_priors, create_sdbn_estimates
from builder.clicks.log import STANDALONE, add_rejects_to_summary, open_log
from builder.clicks.log_summary import LogSummary
from builder.clicks.model_estimates import create_model_estimates
from builder.clicks.models import get_fit_function
from builder.clicks.priors import Priors
from builder.clicks.statistics import ENGINE_SHARE, SDBN_ENGINE_SHARE, create_pair_counts
from builder.errors import UsageError
from builder.io.disk import check_output_is_not_input, replace_on_success
from builder.io.tables import ROWS_PER_GROUP, TableWriter
from builder.parameters import ClickParameters, LogParameters, validate_votes_and_pages
from builder.runtime.limits import ResourceLimits, limits_or_default
from builder.runtime.progress import NoProgress, Progress
from schemas import PairStatistics

ROWS = """
SELECT query, doc AS url, impressions, examinations, clicks, last_clicks,
       attractiveness, satisfaction, relevance
FROM estimates WHERE impressions > 0
"""
"""SQL query for the output rows, which are already sorted if the model is sDBN."""

ORDERED_ROWS = f"{ROWS} ORDER BY query, url"


@dataclass(frozen=True)
class ModelReport:
    """Result of running a click model on a log.

    Args:
        log: Numbers of records read and rejected.
        pairs: Number of rows written.
        never_examined: Number of pairs without an estimate because they were never examined.
        clicks: Number of clicks on the pairs.
        priors: Priors of sDBN; None for other models.
    """

    log: LogSummary
    pairs: int
    never_examined: int
    clicks: int
    priors: Priors | None


def estimate_from_log(
    log: Path,
    model: str,
    out: Path,
    *,
    params: ClickParameters | None = None,
    limits: ResourceLimits | None = None,
    progress: Progress | None = None,
    log_params: LogParameters = STANDALONE,
) -> ModelReport:
    """Run a click model on a log, and write an estimate per query and URL.

    Args:
        log: Log in any format; see `open_log`.
        model: Name in `CLICK_MODELS` or of a plug-in.
        out: Output file, `.parquet` or `.tsv`; replaced atomically.
        params: Model options: `no_click`, `last`, `votes`, `pages`, prior, iterations.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of records read.
        log_params: Section `[log]` of the definition; see `standalone_log_parameters`.

    Raises:
        UsageError: unknown model, missing file, a log too large for the model, or `out` is the log.
        FormatError: the log cannot be read, or required columns are missing.
        DataError: the log has no valid impressions.
    """
    check_model_name(model)
    if out.suffix not in {".parquet", ".tsv"}:
        raise UsageError(f"--out: expected a file name ending in .parquet or .tsv, found {out}")
    check_output_is_not_input(out, log)
    params = _replace_model(params or ClickParameters(), model)
    share = SDBN_ENGINE_SHARE if model == "sdbn" else ENGINE_SHARE
    with limits_or_default(limits) as allowed, allowed.connect_to_duckdb(share) as connection:
        reported = progress or NoProgress()
        summary = open_log(connection, log, allowed, reported, log_params)
        used = create_pair_counts(connection, params, int(allowed.memory * share))
        add_rejects_to_summary(connection, summary, used.total)
        summary.notes.extend(_note_missing_users(connection, params))
        priors = None
        if model == "sdbn":
            priors = choose_priors(connection, params)
            create_sdbn_estimates(connection, priors)
        else:
            create_model_estimates(connection, params, allowed)
        rows = ROWS if model == "sdbn" else ORDERED_ROWS
        batches = iter(connection.sql(rows).to_arrow_reader(ROWS_PER_GROUP))
        totals: Counter[str] = Counter()
        _write_file_atomically(_accumulate_totals(batches, totals), out)
    return ModelReport(summary, totals["pairs"], totals["never_examined"], totals["clicks"], priors)


def check_model_name(name: str) -> None:
    """Raise a UsageError if no click model has this name."""
    get_fit_function(name)


def _note_missing_users(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters
) -> Iterator[str]:
    """Yield a note if `votes` or `pages` depends on user ids, but no impression has a user id."""
    if (params.votes, params.pages) == ("impression", "separate"):
        return
    ((users,),) = connection.execute('SELECT count("user") FROM used_impressions').fetchall()
    if not users:
        yield (
            'votes = "user" and pages = "joined" have no effect, because no impression has a '
            "user id; set log.fields.user to the field with the user id"
        )


def _replace_model(params: ClickParameters, model: str) -> ClickParameters:
    """Return a copy of the parameters with the given click model.

    Raises:
        UsageError: the model does not support the values of `votes` or `pages`.
    """
    try:
        validate_votes_and_pages(model, params.votes, params.pages)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return params.model_copy(update={"model": model})


def _accumulate_totals(
    batches: Iterator[pa.RecordBatch], totals: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield batches unchanged, and add their pair and click counts to `totals`."""
    for batch in batches:
        totals["pairs"] += len(batch)
        totals["never_examined"] += int(np.count_nonzero(batch["examinations"].to_numpy() == 0))
        totals["clicks"] += int(batch["clicks"].to_numpy().sum())
        yield batch


def _write_file_atomically(batches: Iterator[pa.RecordBatch], out: Path) -> None:
    """Write all batches to a temporary file next to `out`, then rename the file to `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write = _write_parquet if out.suffix == ".parquet" else _write_tsv
    with replace_on_success(out) as part:
        write(batches, part)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Write batches of pair statistics to a Parquet file."""
    with TableWriter(path, PairStatistics) as writer:
        for batch in batches:
            writer.write(batch)


def _write_tsv(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Write batches of pair statistics to a TSV file with a header."""
    with path.open("wb") as file:
        file.write("\t".join(PairStatistics.dtypes()).encode() + b"\n")
        for batch in batches:
            frame = pl.DataFrame(pa.Table.from_batches([batch]))
            frame.write_csv(file, separator="\t", include_header=False)
