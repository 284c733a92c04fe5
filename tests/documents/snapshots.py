"""Small snapshots for tests: pages by their number, or by address and text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builder.documents import build_documents
from builder.io.sources import Source
from builder.io.tables import Table, table_at, write_frame
from builder.parameters import DocumentParameters, VerdictFilter
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64, url_key
from schemas import Documents, Rejects, ShownDocuments, Verdicts
from tests.crawled import write_crawled


def store_pages(
    folder: Path, texts: Mapping[str, str], rows_per_group: int = 1000
) -> tuple[Table, Table]:
    """Pages with these addresses and texts."""
    keys = [url_key(url) for url in texts]
    frame = pl.DataFrame(
        {
            "doc_id": [doc_id(key64(key)) for key in keys],
            "url": list(texts),
            "url_key": keys,
            "text": list(texts.values()),
        },
        schema_overrides={"text": pl.String},
    ).with_columns(fetched_at=5, title=pl.lit(""))
    return write_crawled(frame, folder, rows_per_group)


def store_shown(folder: Path, urls: Sequence[str]) -> Table:
    """The documents of these addresses, each shown once."""
    rows = {"doc": [key64(url_key(url)) for url in urls], "impressions": 1}
    frame = pl.DataFrame(rows, schema=ShownDocuments.dtypes())
    write_frame(frame, folder / "shown_documents.parquet", ShownDocuments)
    return table_at(folder, "shown_documents", ShownDocuments)


def store_verdicts(folder: Path, name: str, rows: Sequence[tuple[str, str, float]]) -> Table:
    """Verdicts on documents: address, label and score."""
    frame = pl.DataFrame(
        [("document", key64(url_key(u)), label, "list", "1", score) for u, label, score in rows],
        schema=Verdicts.dtypes(),
        orient="row",
    )
    write_frame(frame, folder / f"{name}.parquet", Verdicts)
    return table_at(folder, name, Verdicts)


def gather_documents(
    folder: Path,
    texts: Mapping[str, str],
    *,
    shown: Sequence[str] = (),
    lists: Mapping[str, str] | None = None,
    verdicts: Sequence[tuple[str, str, float]] = (),
    filters: Sequence[VerdictFilter] = (),
    threads: int = 1,
    **params: Any,
) -> tuple[pl.DataFrame, RowLedger]:
    """The stage `documents` on pages of these addresses; lists are given by name and content."""
    out, scratch = folder / "out", folder / "scratch"
    for home in (out, scratch):
        home.mkdir(parents=True)
    sources: dict[str, list[Source]] = {"deny": [], "allow": []}
    for name, content in (lists or {}).items():
        (folder / f"{name}.txt").write_text(content)
        sources[name].append(Source(folder / f"{name}.txt", f"{name}.txt"))
    fetches, pages = store_pages(folder, texts)
    ledger = build_documents(
        out,
        fetches=fetches,
        pages=pages,
        shown_documents=store_shown(folder, shown),
        verdicts=store_verdicts(folder, "verdicts", verdicts) if verdicts else None,
        filters=filters,
        params=DocumentParameters(**{"sample_share": 1.0, **params}),
        limits=ResourceLimits(scratch, threads=threads),
        progress=NoProgress(),
        deny=sources["deny"],
        allow=sources["allow"],
    )
    ledger.check("documents")
    rejects = pl.read_parquet(out / "rejects.parquet")
    assert int(rejects["rows"].sum()) == ledger.rejected.total()
    Rejects.validate(rejects)
    documents = pl.read_parquet(out / "gathered_documents/part-00000.parquet")
    Documents.validate(documents)
    return documents, ledger
