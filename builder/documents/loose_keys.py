"""Compares URLs without their scheme, `www.` and trailing slash."""

LOOSE_KEY = r"""
CREATE OR REPLACE TEMP MACRO loose_key(url_key) AS
    regexp_replace(regexp_replace(url_key, '^https?://(www\.)?', ''), '/+(\?|$)', '\1')
"""
"""SQL statement that creates the macro `loose_key`. URLs with equal loose keys differ at most in
scheme, `www.` and trailing slash."""
