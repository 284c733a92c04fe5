"""Text as the whole project identifies it: folded queries, canonical URLs, keys, names."""
