"""Effectiveness measures: parsing of names, and computation of per-query scores."""
