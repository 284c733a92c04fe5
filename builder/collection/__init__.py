"""Reads, validates, compares, exports and imports published collections."""
