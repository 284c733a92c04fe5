"""Reading and writing files: Parquet tables, raw input files, DuckDB connections, disk errors."""
