"""Raw pages of any format -> pages, or the reason why each is none."""

from functools import partial
from typing import NamedTuple

import polars as pl

from builder.ingest.ids import addresses_of
from builder.ingest.rejects import made_or_reason
from builder.ingest.texts import normalise_texts, one_line, url_keys, without_credentials
from builder.io.sources import Interval
from builder.parameters import CrawlParameters

Reject = tuple[int, str]
"""1-based number of a record, and the reason why it is no page."""


class PageBlock(NamedTuple):
    """Consecutive records of a crawl file.

    Args:
        records: How many records they are.
        pages: The pages among them: `line`, `url`, `url_key`, `fetched_at`, `title`, `text`,
            `truncated`, `is_cut` (at `crawl.max_text_chars`), `language_hint`, `published_at`,
            `modified_at`.
        rejects: 1-based number and reason of each other record.
    """

    records: int
    pages: pl.DataFrame
    rejects: list[Reject]


def page_block(
    raw: pl.DataFrame, rejects: list[Reject], interval: Interval, params: CrawlParameters
) -> PageBlock:
    """A block of raw pages (see `check_pages`) and of records that are none."""
    pages, refused = _checked(raw, interval, params)
    return PageBlock(raw.height + len(rejects), pages, rejects + refused)


def _checked(
    raw: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[Reject]]:
    """`check_pages`; a page on which it fails is found by halves, and left out."""
    checked = made_or_reason(partial(check_pages, raw, interval, params))
    if not isinstance(checked, str):
        return checked
    if raw.height == 1:
        nothing, _ = check_pages(raw.clear(), interval, params)
        return nothing, [(raw["line"][0], checked)]
    halves = raw[: raw.height // 2], raw[raw.height // 2 :]
    pages, refused = zip(*(_checked(half, interval, params) for half in halves), strict=True)
    return pl.concat(pages), [*refused[0], *refused[1]]


def check_pages(
    raw: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[Reject]]:
    """Normalise raw pages, and part those that are none with the first reason why.

    Args:
        raw: Columns of `page.RAW`.
        interval: Pages fetched outside it are rejected, unless the parameters say otherwise.
        params: `[crawl]`.

    Returns:
        The pages, and number and reason of each other record.
    """
    text = normalise_texts(raw["text"])
    address = addresses_of(raw["url"], params.address, params.scheme)
    long = text.str.len_chars() > params.max_text_chars
    if long.any():
        cut = text.str.slice(0, params.max_text_chars).str.strip_chars_end()
        text = pl.select(pl.when(long).then(cut).otherwise(text)).to_series()
    outside = ~pl.col("fetched_at").is_between(interval.start, interval.stop, closed="left")
    checked = raw.with_columns(
        pl.col("fetched_at").fill_null(interval.start),
        without_credentials(one_line(address)).alias("url"),
        url_keys(address).alias("url_key"),
        one_line(raw["title"]).alias("title"),
        text.alias("text"),
        long.alias("is_cut"),
        (long | raw["is_part"].fill_null(value=False)).alias("truncated"),
    ).with_columns(
        pl.when(pl.col("url_key").is_null())
        .then(pl.lit("bad_url"))
        .when(outside & (params.interval == "enforce"))
        .then(pl.lit("outside_interval"))
        .when(pl.col("text") == "")
        .then(pl.lit("empty_text"))
        .alias("reason")
    )
    refused = checked.filter(pl.col("reason").is_not_null()).select("line", "reason").rows()
    return checked.filter(pl.col("reason").is_null()).drop("reason", "is_part"), refused
