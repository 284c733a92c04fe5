"""What is known of the documents of a snapshot beside the documents themselves."""

import dataframely as dy
import polars as pl

from schemas._base import Contract

SCOPES = {"log": "every query of the log", "kept_queries": "candidate queries alone"}


class Coverage(Contract):
    """How many of the pages that result lists show the crawl and the collection have."""

    scope = dy.String(
        primary_key=True,
        regex=rf"^({'|'.join(SCOPES)})$",
        description="Whose result lists: every query of the log, or candidates alone",
    )
    shown = dy.UInt64(description="Distinct documents shown")
    in_crawl = dy.UInt64(description="Those that the crawl has")
    in_collection = dy.UInt64(description="Those that the snapshot has")
    impressions = dy.UInt64(description="Times that documents were shown, once for each rank")
    impressions_in_crawl = dy.UInt64(description="Those of documents that the crawl has")
    impressions_in_collection = dy.UInt64(description="Those of documents that the snapshot has")

    @dy.rule()
    def parts_are_no_larger(cls) -> pl.Expr:  # noqa: N805
        """The collection has no more than the crawl, and the crawl no more than was shown."""
        return _parts_are_no_larger()


class HostCoverage(Contract):
    """How many of a host's pages that candidate queries showed the crawl and the snapshot have."""

    host = dy.String(primary_key=True, description="Host of the address; empty where it has none")
    shown = dy.UInt64(description="Distinct documents shown")
    in_crawl = dy.UInt64(description="Those that the crawl has")
    in_collection = dy.UInt64(description="Those that the snapshot has")
    impressions = dy.UInt64(description="Times that documents were shown, once for each rank")
    impressions_in_crawl = dy.UInt64(description="Those of documents that the crawl has")
    impressions_in_collection = dy.UInt64(description="Those of documents that the snapshot has")

    @dy.rule()
    def parts_are_no_larger(cls) -> pl.Expr:  # noqa: N805
        """The collection has no more than the crawl, and the crawl no more than was shown."""
        return _parts_are_no_larger()


def _parts_are_no_larger() -> pl.Expr:
    documents = pl.col("in_collection").le(pl.col("in_crawl")) & pl.col("in_crawl").le(
        pl.col("shown")
    )
    times = pl.col("impressions_in_collection").le(pl.col("impressions_in_crawl"))
    return documents & times & pl.col("impressions_in_crawl").le(pl.col("impressions"))
