"""From runs to what assessors receive: the command `longeval pool`.

In: runs and the texts of a snapshot. Out: a folder with the pool (`pool.parquet`) and, for each
assessor, a sheet and a page to judge on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.io.tables import write_frame
from builder.judging.assessments import check_assessor
from builder.judging.pooling import LONGEVAL_STRATA, Pool, Stratum, draw_pool
from builder.judging.sheets import write_sheet
from schemas import PooledPairs


@dataclass(frozen=True)
class PoolReport:
    """What was pooled and written.

    Args:
        pool: The pairs, and what was left out.
        files: The files, the pool first.
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
    """Draw a pool and write what assessors need to judge it.

    Args:
        runs: Files in TREC format.
        out: Folder for `pool.parquet`, `sheet[-NAME].tsv` and `judge[-NAME].html`; made if absent.
        queries: Queries of the snapshot: `query_id`, `text`.
        documents: Documents of the snapshot: `doc_id`, `url`, `title`, `text`.
        strata: Ranks and their sampling shares.
        seed: Key of the sample.
        assessors: Who judges the pool, each the whole of it; none: one sheet without a name.
        judgements: What people have judged already (contract `Judgements`); it is left out.
        snapshot: Folder of the snapshot: if it was imported, runs may be in the release's ids.

    Raises:
        UsageError: no run, no such file, strata that overlap, or a name that is none.
        FormatError: a run is not in TREC format.
    """
    for name in assessors:
        check_assessor(name)
    if len(set(assessors)) < len(assessors):
        raise UsageError(f"expected different assessors, found {', '.join(assessors)}")
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
