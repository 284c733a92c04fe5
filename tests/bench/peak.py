"""The most memory that this process has held."""

import re
import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Bytes of the largest resident set of this process.

    `ru_maxrss` is no less than that of the process that started this one, so that what a bench
    holds itself would count as what it measures; Linux says what this program alone has held.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text("ascii"))
    except OSError:
        found = None
    kilobytes = int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024
