"""Query logs of any supported format to impressions, with a reason for every record rejected."""

from builder.ingest.logs.formats import detect_format, read_impressions
from builder.ingest.logs.stage import ingest_log

__all__ = ["detect_format", "ingest_log", "read_impressions"]
