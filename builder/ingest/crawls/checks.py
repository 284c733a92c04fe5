"""Validates and normalizes raw pages from any crawl format; rejects invalid pages with a reason."""

from functools import partial
from typing import NamedTuple

import polars as pl

from builder.ingest.ids import to_urls
from builder.ingest.rejects import value_or_reject_reason
from builder.ingest.texts import normalize_texts, strip_credentials, to_single_lines, url_keys
from builder.io.sources import Interval
from builder.parameters import CrawlParameters

Reject = tuple[int, str]
"""1-based number of a record in its file, and its reject reason."""


class PageBlock(NamedTuple):
    """Valid pages and rejects from a block of consecutive records of a crawl file.

    Args:
        records: Number of records in the block.
        pages: Valid pages; columns `line`, `url`, `url_key`, `fetched_at`, `title`, `text`,
            `truncated`, `is_shortened` (whether the text was cut to `crawl.max_text_chars`),
            `language_hint`, `published_at`, `modified_at`.
        rejects: 1-based number and reject reason of every rejected record.
        undated: Number of records without a time, which get the start of the snapshot as their
            time.
    """

    records: int
    pages: pl.DataFrame
    rejects: list[Reject]
    undated: int = 0


def build_page_block(
    raw_pages: pl.DataFrame, rejects: list[Reject], interval: Interval, params: CrawlParameters
) -> PageBlock:
    """Validate raw pages, and return a block with the valid pages and all rejects.

    Args:
        raw_pages: Raw pages with the schema `page.RAW_SCHEMA`.
        rejects: Record number and reject reason of each record that was rejected before validation.
        interval: Time interval of the snapshot.
        params: Section `[crawl]` of the definition.
    """
    pages, rejected = _validate_or_bisect(raw_pages, interval, params)
    undated = raw_pages["fetched_at"].null_count()
    return PageBlock(raw_pages.height + len(rejects), pages, rejects + rejected, undated)


def _validate_or_bisect(
    raw_pages: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[Reject]]:
    """Validate raw pages; on an unexpected exception, bisect to reject only the faulty pages."""
    checked = value_or_reject_reason(partial(validate_pages, raw_pages, interval, params))
    if not isinstance(checked, str):
        return checked
    if raw_pages.height == 1:
        no_pages, _ = validate_pages(raw_pages.clear(), interval, params)
        return no_pages, [(raw_pages["line"][0], checked)]
    halves = raw_pages[: raw_pages.height // 2], raw_pages[raw_pages.height // 2 :]
    pages, rejected = zip(
        *(_validate_or_bisect(half, interval, params) for half in halves), strict=True
    )
    return pl.concat(pages), [*rejected[0], *rejected[1]]


def validate_pages(
    raw_pages: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[Reject]]:
    """Normalize raw pages, and reject each invalid page with the first reason that applies.

    Args:
        raw_pages: Raw pages with the schema `page.RAW_SCHEMA`.
        interval: Time interval of the snapshot; pages fetched outside it are rejected if
            `crawl.interval` is `enforce`.
        params: Section `[crawl]` of the definition.

    Returns:
        The valid pages, and the record number and reject reason of every rejected record.
    """
    text = normalize_texts(raw_pages["text"])
    address = to_urls(raw_pages["url"], params.address, params.scheme)
    is_long = text.str.len_chars() > params.max_text_chars
    if is_long.any():
        cut = text.str.slice(0, params.max_text_chars).str.strip_chars_end()
        text = pl.select(pl.when(is_long).then(cut).otherwise(text)).to_series()
    outside = ~pl.col("fetched_at").is_between(interval.start, interval.stop, closed="left")
    checked = raw_pages.with_columns(
        pl.col("fetched_at").fill_null(interval.start),
        strip_credentials(to_single_lines(address)).alias("url"),
        url_keys(address).alias("url_key"),
        to_single_lines(raw_pages["title"]).alias("title"),
        text.alias("text"),
        is_long.alias("is_shortened"),
        (is_long | raw_pages["is_truncated"].fill_null(value=False)).alias("truncated"),
    ).with_columns(
        pl.when(pl.col("url_key").is_null())
        .then(pl.lit("bad_url"))
        .when(outside & (params.interval == "enforce"))
        .then(pl.lit("outside_interval"))
        .when(pl.col("text") == "")
        .then(pl.lit("empty_text"))
        .alias("reason")
    )
    rejected = checked.filter(pl.col("reason").is_not_null()).select("line", "reason").rows()
    return checked.filter(pl.col("reason").is_null()).drop("reason", "is_truncated"), rejected
