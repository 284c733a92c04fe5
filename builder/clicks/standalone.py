"""A click model on a log alone: the command `longeval clicks LOG --model NAME --out FILE`.

In: a log of queries, results and clicks as text. Out: one row for every query and URL shown
(contract `PairStatistics`), sorted by both, as Parquet or tab-separated text. `sdbn` is counted by
the database engine and needs little memory; the other models keep the distinct pages in arrays.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.estimation import choose_priors, create_estimates
from builder.clicks.log import AS_THEY_STAND, LogAccount, account_for_rejects, open_log
from builder.clicks.modelled import create_model_estimates
from builder.clicks.models import model_of
from builder.clicks.priors import Priors
from builder.clicks.statistics import ENGINE_SHARE, SHARE_ALONE, count_pairs
from builder.errors import UsageError
from builder.io.disk import keep_apart
from builder.io.tables import ROWS_PER_GROUP, TableWriter
from builder.parameters import ClickParameters, LogParameters, check_counting
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress, Silent
from schemas import PairStatistics

ROWS = """
SELECT query, doc AS url, impressions, examinations, clicks, last_clicks,
       attractiveness, satisfaction, relevance
FROM estimates WHERE impressions > 0
"""
"""In the order of the table under the view, which sDBN's counts have: the engine preserves it."""

ORDERED_ROWS = f"{ROWS} ORDER BY query, url"


@dataclass(frozen=True)
class ModelReport:
    """Summary of running a click model on a log.

    Args:
        log: Impressions read, used and rejected.
        pairs: Rows written.
        never_examined: Pairs without an estimate, because they were shown but never examined.
        clicks: Clicks on them.
        priors: Priors of sDBN; None for other models.
    """

    log: LogAccount
    pairs: int
    never_examined: int
    clicks: int
    priors: Priors | None


def model_log(
    log: Path,
    model: str,
    out: Path,
    *,
    params: ClickParameters | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    reading: LogParameters = AS_THEY_STAND,
) -> ModelReport:
    """Run a click model on a log and write what it says of every query and URL.

    Args:
        log: A file of any format of logs; see `open_log`.
        model: A name of `CLICK_MODELS`, or of a plug-in.
        out: `.parquet` or `.tsv`; replaced whole when the model is done.
        params: No-click rule, last click, votes, pages, prior, steps of expectation-maximisation.
        limits: Threads, memory and scratch space.
        progress: Reports how many lines were read.
        reading: How the log is read; see `read_as`.

    Raises:
        UsageError: unknown model, no such file, a log too large for the model, or `out` is the log.
        FormatError: the log lacks what one must have, or cannot be read.
    """
    check_model(model)
    if out.suffix not in {".parquet", ".tsv"}:
        raise UsageError(f"--out: expected a name that ends in .parquet or .tsv, found {out}")
    keep_apart(out, log)
    params = _with_model(params or ClickParameters(), model)
    share = SHARE_ALONE if model == "sdbn" else ENGINE_SHARE
    with working(limits) as allowed, allowed.connect(share) as connection:
        reported = progress or Silent()
        account = open_log(connection, log, allowed, reported, reading)
        used = count_pairs(connection, params, int(allowed.memory * share))
        account_for_rejects(connection, account, used.total)
        priors = None
        if model == "sdbn":
            priors = choose_priors(connection, params)
            create_estimates(connection, priors)
        else:
            create_model_estimates(connection, params, allowed)
        rows = ROWS if model == "sdbn" else ORDERED_ROWS
        batches = iter(connection.sql(rows).to_arrow_reader(ROWS_PER_GROUP))
        totals: Counter[str] = Counter()
        _write(_counted(batches, totals), out)
    return ModelReport(account, totals["pairs"], totals["never_examined"], totals["clicks"], priors)


def check_model(name: str) -> None:
    """Raise a UsageError when there is no model of that name."""
    model_of(name)


@contextmanager
def working(limits: Limits | None) -> Iterator[Limits]:
    """The limits, or the usual ones with a scratch folder that is removed afterwards."""
    if limits is not None:
        yield limits
        return
    with tempfile.TemporaryDirectory(prefix="longeval-clicks-") as scratch:
        yield Limits(Path(scratch))


def _with_model(params: ClickParameters, model: str) -> ClickParameters:
    """The parameters with another model.

    Raises:
        UsageError: the model cannot count as the parameters say.
    """
    try:
        check_counting(model, params.votes, params.pages)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return params.model_copy(update={"model": model})


def _counted(batches: Iterator[pa.RecordBatch], totals: Counter[str]) -> Iterator[pa.RecordBatch]:
    """The batches; their rows and clicks are added to the totals."""
    for batch in batches:
        totals["pairs"] += len(batch)
        totals["never_examined"] += int(np.count_nonzero(batch["examinations"].to_numpy() == 0))
        totals["clicks"] += int(batch["clicks"].to_numpy().sum())
        yield batch


def _write(batches: Iterator[pa.RecordBatch], out: Path) -> None:
    """Write all rows to a temporary sibling, then rename it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    write = _write_parquet if out.suffix == ".parquet" else _write_tsv
    try:
        write(batches, part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    with TableWriter(path, PairStatistics) as writer:
        for batch in batches:
            writer.write(batch)


def _write_tsv(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    with path.open("wb") as file:
        file.write("\t".join(PairStatistics.dtypes()).encode() + b"\n")
        for batch in batches:
            frame = pl.DataFrame(pa.Table.from_batches([batch]))
            frame.write_csv(file, separator="\t", include_header=False)
