"""Pipeline engine: plans and runs stages, stores their outputs and accounts for all rows."""
