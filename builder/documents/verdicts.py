"""Pipeline stage `page_verdicts`: collects labels, such as spam, for crawled pages.

Input: the crawled pages of a snapshot, and the verdict lists and plug-ins in the definition.
Output: `page_verdicts` (see `schemas.Verdicts`). The stage `verdicts` does the same for documents
in the log. Both are needed, since the crawl contains pages that are not in the log.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.io.sources import Source
from builder.io.tables import Table, write_frame
from builder.parameters import VerdictFilterParameters
from builder.plugins import plugin_packages
from builder.queries.plugins import load_plugins, run_plugin
from builder.queries.verdict_files import read_verdicts
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference, Same
from builder.runtime.stage import stage
from schemas import Pages, PageVerdicts, Verdicts

ON_PAGES = """
SELECT listed.* FROM listed
WHERE kind = 'document' AND key IN (SELECT doc FROM pages)
ORDER BY ALL
"""
PAGES_TO_LABEL = "SELECT doc AS key, url FROM pages ORDER BY key"
PAGES_PER_CALL = 100_000


@stage(
    "page_verdicts",
    version="2",
    writes=(PageVerdicts,),
    plugins=lambda w: plugin_packages("verdicts", w.verdicts.plugins),
)
def collect_page_verdicts(
    out: Path,
    *,
    pages: Same[Pages],
    params: VerdictFilterParameters,
    limits: ResourceLimits,
    progress: Progress,
    files: Annotated[Sequence[Source], FileReference(lambda w, _: w.verdicts.files)] = (),
) -> RowLedger:
    """Stage: collect verdicts (labels such as spam) on crawled pages from lists and plug-ins.

    Args:
        out: Output folder for `page_verdicts.parquet` and `rejects.parquet`.
        pages: See `schemas.Pages`.
        params: Section `[verdicts]` of the definition.
        limits: Memory limit and number of threads.
        progress: Advances by the number of document verdicts in the lists.
        files: Verdict lists, as TSV files.

    Returns:
        Ledger: numbers of document verdicts read, kept and rejected; verdicts on documents outside
        the crawl are rejected.

    Raises:
        FormatError: a file is not a list of verdicts.
        UsageError: a plug-in is not installed.
        SchemaError: a plug-in returned an invalid verdict.
    """
    plugins = [plugin for plugin in load_plugins(params.plugins) if plugin.kind == "document"]
    listed = read_verdicts(files).filter(pl.col("kind") == "document")
    with limits.connect_to_duckdb() as connection:
        pages.create_view(connection, "pages")
        connection.register("listed", listed.to_arrow())
        on_pages = connection.sql(ON_PAGES).pl().cast(pl.Schema(Verdicts.dtypes()))
    frames = [on_pages]
    for plugin in plugins:
        frames += [run_plugin(plugin, batch) for batch in _read_page_batches(pages, limits)]
    verdicts = pl.concat(frames)
    write_frame(verdicts, out / "page_verdicts.parquet", Verdicts)
    absent = listed.height - on_pages.height
    ledger = RowLedger("verdicts", verdicts.height + absent, verdicts.height)
    with RejectWriter(out, "page_verdicts", ledger) as rejects:
        rejects.add("not_in_this_index", rows=absent)
    progress.advance(listed.height)
    return ledger


def _read_page_batches(pages: Table, limits: ResourceLimits) -> Iterator[pl.DataFrame]:
    """Yield batches of the document keys and URLs of all pages, to pass to plug-ins."""
    with limits.connect_to_duckdb() as connection:
        pages.create_view(connection, "pages")
        for batch in connection.sql(PAGES_TO_LABEL).to_arrow_reader(PAGES_PER_CALL):
            yield pl.DataFrame(batch)
