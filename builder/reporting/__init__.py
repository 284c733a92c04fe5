"""Formats numbers and renders HTML reports, from one set of templates and charts."""
