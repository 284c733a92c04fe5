"""Read, validate, compare, export and import published collections."""
