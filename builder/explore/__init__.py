"""Local, read-only web application for browsing a published collection: `longeval explore`.

Takes a version folder and optional run files, and serves HTML on 127.0.0.1. For each request,
DuckDB queries the published Parquet files; nothing is written to disk or fetched from the network.
"""

from builder.explore.source import CollectionSource, open_collection_source

__all__ = ["CollectionSource", "open_collection_source"]
