"""Finds log files with equal content, whose impressions would be counted twice."""

from collections import Counter
from collections.abc import Sequence

from builder.errors import DataError
from builder.ingest.logs.detection import LogFile
from builder.ingest.logs.formats import read_raw_batches
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.publisher import sha256


def check_contents_differ(
    logs: Sequence[LogFile], params: LogParameters, limits: ResourceLimits
) -> None:
    """Check that no two log files that contain records have equal content.

    Only files of equal size are hashed.

    Args:
        logs: Log files of a snapshot.
        params: Section `[log]` of the definition.
        limits: Number of threads, memory limit and scratch folder.

    Raises:
        DataError: two files have equal content.
    """
    bytes_of = {log: log.source.path.stat().st_size for log in logs}
    files_per_size = Counter(bytes_of.values())
    by_hash: dict[str, LogFile] = {}
    for log in logs:
        if not bytes_of[log] or files_per_size[bytes_of[log]] == 1:
            continue
        first = by_hash.setdefault(sha256(log.source.path), log)
        if first is log or next(read_raw_batches([log], None, params, limits), None) is None:
            continue
        raise DataError(
            f"expected files with different contents, found {first.source.name} and "
            f"{log.source.name} with the same SHA-256; remove one of them"
        )
