"""Converts query logs of every supported format to impressions and rejects."""

from builder.ingest.logs.detection import detect_format, determine_format_and_encoding
from builder.ingest.logs.formats import read_impressions
from builder.ingest.logs.stage import ingest_log

__all__ = ["detect_format", "determine_format_and_encoding", "ingest_log", "read_impressions"]
