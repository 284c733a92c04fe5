"""What the stage `crawl` writes, for tests: both tables as one frame, and from one frame."""

from pathlib import Path

import polars as pl

from builder.io.tables import ROWS_PER_GROUP, Table, TableWriter, table_at
from builder.text.keys import hash_to_keys, id_to_key, key_to_id
from schemas import Fetches, Pages


def read_crawled(out: Path) -> pl.DataFrame:
    """Pages with their texts and `doc_id`, in the order read."""
    pages, fetches = (pl.read_parquet(out / f"{name}.parquet") for name in ("pages", "fetches"))
    Pages.validate(pages)
    Fetches.validate(fetches)
    ids = key_to_id("doc", "d").alias("doc_id")
    return pages.join(fetches, on="number", how="left", maintain_order="left").with_columns(ids)


def write_crawled(
    pages: pl.DataFrame, folder: Path, rows_per_group: int = ROWS_PER_GROUP
) -> tuple[Table, Table]:
    """The tables `fetches` and `pages` of some pages with `url_key`, `url`, `title` and `text`."""
    types = Pages.dtypes() | Fetches.dtypes()
    absent = [pl.lit(None, kind).alias(n) for n, kind in types.items() if n not in pages.columns]
    has_ids = "doc_id" in pages.columns and not pages.is_empty()
    doc = id_to_key("doc_id") if has_ids else pl.Series(hash_to_keys(pages["url_key"]))
    frame = pages.with_columns(absent).with_columns(
        doc=doc,
        number=pl.int_range(pages.height, dtype=pl.UInt64),
    )
    for contract, name in ((Fetches, "fetches"), (Pages, "pages")):
        path = folder / f"{name}.parquet"
        with TableWriter(path, contract, rows_per_group=rows_per_group) as writer:
            writer.append(frame)
    return table_at(folder, "fetches", Fetches), table_at(folder, "pages", Pages)
