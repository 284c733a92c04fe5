"""Implementation of `longeval pool`: writes a pool and the judging sheets for its assessors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.io.tables import write_frame
from builder.judging.assessments import check_assessor_name
from builder.judging.pooling import LONGEVAL_STRATA, Pool, Stratum, draw_pool
from builder.judging.sheets import write_sheet
from schemas import PooledPairs


@dataclass(frozen=True)
class PoolReport:
    """Result of `longeval pool`: the drawn pool and the files written.

    Args:
        pool: Pooled query-document pairs, with the number of excluded pairs for each reason.
        files: Paths of the files written; the pool is first.
    """

    pool: Pool
    files: tuple[Path, ...]


def pool_runs(
    runs: Sequence[Path],
    out: Path,
    *,
    queries: pl.LazyFrame,
    documents: pl.LazyFrame,
    strata: Sequence[Stratum] = LONGEVAL_STRATA,
    seed: str = "longeval-builder",
    assessors: Sequence[str] = (),
    judgements: pl.LazyFrame | None = None,
    snapshot: Path | None = None,
) -> PoolReport:
    """Draw a pool, and write it with a judging sheet and a judging web page for each assessor.

    Args:
        runs: Run files in TREC format.
        out: Output folder for `pool.parquet`, `sheet[-NAME].tsv` and `judge[-NAME].html`; created
            if missing.
        queries: Queries of the snapshot: `query_id`, `text`.
        documents: Documents of the snapshot: `doc_id`, `url`, `title`, `text`.
        strata: Ranges of ranks with their sampling rates.
        seed: Key of the hash that samples query-document pairs.
        assessors: Names of the assessors, each of whom judges the whole pool; if empty, a single
            unnamed sheet is written.
        judgements: Existing judgements, excluded from the pool (schema `Judgements`).
        snapshot: Folder of the snapshot, used to resolve the original ids of an imported release.

    Raises:
        UsageError: No run is given, a file is missing, strata are invalid or overlap, or an
            assessor name is invalid or repeated.
        FormatError: A run is not in TREC format.
    """
    for name in assessors:
        check_assessor_name(name)
    if len(set(assessors)) < len(assessors):
        raise UsageError(f"--assessor: expected distinct names, found {', '.join(assessors)}")
    pool = draw_pool(
        runs,
        queries=queries,
        documents=documents,
        strata=strata,
        seed=seed,
        judgements=judgements,
        snapshot=snapshot,
    )
    files = [out / "pool.parquet"]
    write_frame(pool.pairs, files[0], PooledPairs)
    for name in assessors or ("",):
        suffix = f"-{name}" if name else ""
        for path in (out / f"sheet{suffix}.tsv", out / f"judge{suffix}.html"):
            write_sheet(pool.pairs, path, queries=queries, documents=documents, assessor=name)
            files.append(path)
    return PoolReport(pool, tuple(files))
