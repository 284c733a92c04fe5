"""Local, read-only web application for browsing a published collection: `longeval explore`.

Takes a version folder and optional run files, and serves HTML on 127.0.0.1. DuckDB queries the
published Parquet files for each request; nothing is written or fetched from the network.
"""

from builder.explore.source import Source, open_source

__all__ = ["Source", "open_source"]
