"""Files: Parquet tables, raw sources, the DuckDB connection, disk space."""
