"""Normalizes texts and derives ids: folded queries, canonical URLs, keys, ids and valid names."""
