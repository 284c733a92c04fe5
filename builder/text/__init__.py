"""Text normalisation and identity: folded queries, canonical URLs, keys and ids, names."""
