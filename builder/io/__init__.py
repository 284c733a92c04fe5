"""Reads and writes Parquet tables, opens DuckDB connections, and explains errors of the disk."""
