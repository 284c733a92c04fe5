"""Normalizes and identifies texts: folded queries, canonical URLs, keys, ids and valid names."""
