"""A local, read-only web application over a published collection: `longeval explore`.

In: a version folder and, if given, run files. Out: pages on 127.0.0.1. DuckDB reads the published
Parquet files for each request; nothing is written, and nothing is fetched from elsewhere.
"""

from builder.explore.source import Source, open_source

__all__ = ["Source", "open_source"]
