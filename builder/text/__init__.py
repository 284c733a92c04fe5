"""Text normalization and identity: folded queries, canonical URLs, keys, ids and names."""
