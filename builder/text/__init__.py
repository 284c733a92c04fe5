"""Normalizes queries, URLs and names, and derives keys and ids from them."""
