"""Schemas of coverage tables, which count how many shown documents were crawled and published."""

import dataframely as dy
import polars as pl

from schemas._base import TableSchema

SCOPES = {"log": "all queries of the log", "kept_queries": "candidate queries only"}


class Coverage(TableSchema):
    """How many of the documents shown for a set of queries were crawled and published."""

    scope = dy.String(
        primary_key=True,
        regex=rf"^({'|'.join(SCOPES)})$",
        description="Queries whose results are counted. log: all queries of the log; kept_queries: "
        "candidate queries only",
    )
    shown = dy.UInt64(description="Number of distinct documents shown")
    in_crawl = dy.UInt64(description="Number of distinct shown documents in the crawl")
    in_collection = dy.UInt64(description="Number of distinct shown documents in the snapshot")
    impressions = dy.UInt64(description="Number of times documents were shown, at any rank")
    impressions_in_crawl = dy.UInt64(
        description="Number of times documents in the crawl were shown"
    )
    impressions_in_collection = dy.UInt64(
        description="Number of times documents in the snapshot were shown"
    )

    @dy.rule()
    def counts_are_ordered(cls) -> pl.Expr:  # noqa: N805
        """in_collection <= in_crawl <= shown, for documents and for impressions."""
        return _counts_are_ordered_expr()


class HostCoverage(TableSchema):
    """How many documents shown for candidate queries were crawled and published, per host."""

    host = dy.String(primary_key=True, description="Host of the URL; empty if the URL has no host")
    shown = dy.UInt64(description="Number of distinct documents shown")
    in_crawl = dy.UInt64(description="Number of distinct shown documents in the crawl")
    in_collection = dy.UInt64(description="Number of distinct shown documents in the snapshot")
    impressions = dy.UInt64(description="Number of times documents were shown, at any rank")
    impressions_in_crawl = dy.UInt64(
        description="Number of times documents in the crawl were shown"
    )
    impressions_in_collection = dy.UInt64(
        description="Number of times documents in the snapshot were shown"
    )

    @dy.rule()
    def counts_are_ordered(cls) -> pl.Expr:  # noqa: N805
        """in_collection <= in_crawl <= shown, for documents and for impressions."""
        return _counts_are_ordered_expr()


def _counts_are_ordered_expr() -> pl.Expr:
    """Return an expression that tests whether in_collection <= in_crawl <= shown.

    The order is tested for the counts of documents and for the counts of impressions.
    """
    documents = pl.col("in_collection").le(pl.col("in_crawl")) & pl.col("in_crawl").le(
        pl.col("shown")
    )
    times = pl.col("impressions_in_collection").le(pl.col("impressions_in_crawl"))
    return documents & times & pl.col("impressions_in_crawl").le(pl.col("impressions"))
