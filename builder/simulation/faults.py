"""Inserts malformed lines into simulated logs and crawls, and records them as ground truth."""

from collections.abc import Iterable, Iterator

import orjson

from builder.simulation.rng import hash_integers, hash_integers_to_uniform

Fault = tuple[str, int, str]
"""File name, 1-based line number and kind of a malformed line."""

LOG_FAULT_KINDS = (
    "truncated",
    "wrong_type",
    "missing_key",
    "click_not_shown",
    "bad_utf8",
    "empty_query",
    "outside_interval",
    "blank",
)
CRAWL_FAULT_KINDS = ("truncated", "wrong_type", "missing_key", "bad_utf8", "bad_url", "blank")


def insert_malformed_lines(
    lines: Iterable[bytes],
    file_name: str,
    seed: int,
    rate: float,
    kinds: tuple[str, ...],
    faults: list[Fault],
) -> Iterator[bytes]:
    """Yield all lines; after some randomly chosen lines, also yield a corrupted copy of the line.

    Args:
        lines: JSON objects, without line ends.
        file_name: File name to record in `faults`.
        seed: Random seed of the positions and kinds of malformed lines.
        rate: Expected number of malformed lines per well-formed line.
        kinds: Kinds of malformed lines to choose from, such as `truncated`.
        faults: Output list, to which a `Fault` is appended for each malformed line.
    """
    line_number = 0
    for index, line in enumerate(lines):
        yield line
        line_number += 1
        if hash_integers_to_uniform(seed, index, 11) < rate:
            line_number += 1
            kind = kinds[hash_integers(seed, index, 12) % len(kinds)]
            faults.append((file_name, line_number, kind))
            yield _corrupt_line(line, kind)


def _corrupt_line(line: bytes, kind: str) -> bytes:
    if kind == "truncated":
        return line[: len(line) // 2]
    if kind == "bad_utf8":
        return line[:-2] + b'\xff\xfe"}'
    if kind == "blank":
        return b"  "
    record = orjson.loads(line)
    if kind == "wrong_type":
        record["results" if "results" in record else "url"] = 7
    elif kind == "missing_key":
        del record["query" if "query" in record else "url"]
    elif kind == "click_not_shown":
        record["clicks"] = [len(record["results"]) + 3]
    elif kind == "empty_query":
        record["query"] = "  "
    elif kind == "outside_interval":
        record["time"] = record["time"] - 10 * 366 * 86_400
    elif kind == "bad_url":
        record["url"] = "ftp://" + record["url"]
    return orjson.dumps(record)
