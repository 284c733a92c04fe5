"""Verdicts on pages: what lists and plug-ins say about every page of the index.

In: the crawled pages of a snapshot, and the lists and plug-ins of the definition. Out:
`page_verdicts` (see `schemas.Verdicts`). The stage `verdicts` judges what a log shows; the sample
of the index holds pages that no log shows, and they are held to the same lists and plug-ins.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.io.sources import Source
from builder.io.tables import Table, write_frame
from builder.parameters import VerdictParameters
from builder.plugins import described
from builder.queries.plugins import ask, load_plugins
from builder.queries.verdict_files import read_verdicts
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, Same
from builder.runtime.stage import stage
from schemas import Pages, PageVerdicts, Verdicts

ON_PAGES = """
SELECT given.* FROM given
WHERE kind = 'document' AND key IN (SELECT doc FROM pages)
ORDER BY ALL
"""
SUBJECTS = "SELECT doc AS key, url FROM pages ORDER BY key"
SUBJECTS_PER_CALL = 100_000


@stage(
    "page_verdicts",
    version="2",
    writes=(PageVerdicts,),
    plugins=lambda w: described("verdicts", w.verdicts.plugins),
)
def judge_pages(
    out: Path,
    *,
    pages: Same[Pages],
    params: VerdictParameters,
    limits: Limits,
    progress: Progress,
    files: Annotated[Sequence[Source], Files(lambda w, _: w.verdicts.files)] = (),
) -> Ledger:
    """Stage: what lists and plug-ins say about the pages of an index.

    Args:
        out: Folder that receives `page_verdicts.parquet` and `rejects.parquet`.
        pages: See `schemas.Pages`.
        params: `[verdicts]`.
        limits: Memory and threads.
        progress: Told the verdicts.
        files: TSV files of verdicts.

    Returns:
        An account of the verdicts on documents; those on no page of this index are dropped.

    Raises:
        FormatError: a file is not one of verdicts.
        UsageError: a plug-in is not installed.
        ContractError: a plug-in's answer is not one of verdicts.
    """
    plugins = [plugin for plugin in load_plugins(params.plugins) if plugin.kind == "document"]
    given = read_verdicts(files).filter(pl.col("kind") == "document")
    with limits.connect() as connection:
        pages.view(connection, "pages")
        connection.register("given", given.to_arrow())
        found = connection.sql(ON_PAGES).pl().cast(pl.Schema(Verdicts.dtypes()))
    frames = [found]
    for plugin in plugins:
        frames += [ask(plugin, subjects) for subjects in _subjects(pages, limits)]
    verdicts = pl.concat(frames)
    write_frame(verdicts, out / "page_verdicts.parquet", Verdicts)
    absent = given.height - found.height
    ledger = Ledger("verdicts", verdicts.height + absent, verdicts.height)
    with RejectWriter(out, "page_verdicts", ledger) as rejects:
        rejects.add("not_in_this_index", rows=absent)
    progress.advance(given.height)
    return ledger


def _subjects(pages: Table, limits: Limits) -> Iterator[pl.DataFrame]:
    with limits.connect() as connection:
        pages.view(connection, "pages")
        for batch in connection.sql(SUBJECTS).to_arrow_reader(SUBJECTS_PER_CALL):
            yield pl.DataFrame(batch)
