"""Reads and writes Parquet tables, opens DuckDB connections, and explains disk errors."""
