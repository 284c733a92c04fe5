"""Build, check and study longitudinal test collections for information retrieval."""

__version__ = "0.1.0"
