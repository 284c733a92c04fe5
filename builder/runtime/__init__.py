"""Pipeline engine: stages, planning, execution, storage of outputs, and row accounting."""
