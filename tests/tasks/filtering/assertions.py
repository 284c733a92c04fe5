"""Filtering truth and runs in KBA format, line by line."""

import gzip
from datetime import UTC, datetime

DAY = 86_400
START = int(datetime(2011, 10, 7, tzinfo=UTC).timestamp())


def line(time, document, target, confidence=1000, rating=2):
    """An assertion: this document is about this target."""
    stream = f"{time}-{document}"
    return f"team\tsys\t{stream}\t{target}\t{confidence}\t{rating}\t1\t2011-10-07-00\tNULL\t-1\t0-0"


def write(path, lines):
    """A file of assertions, compressed if its name says so."""
    text = "#{}\n" + "".join(f"{text}\n" for text in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path
