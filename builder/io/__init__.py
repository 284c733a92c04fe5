"""Files and engines: Parquet tables, raw sources, DuckDB connections, disk errors, threads."""
