"""Faulty lines among good ones: where they stand, what they are, and a note of each."""

from collections.abc import Iterable, Iterator

import orjson

from builder.simulation.draw import mix, unit

Fault = tuple[str, int, str]
"""File, 1-based line and kind of a faulty line."""

LOG_KINDS = (
    "truncated",
    "wrong_type",
    "missing_key",
    "click_not_shown",
    "bad_utf8",
    "empty_query",
    "outside_interval",
    "blank",
)
CRAWL_KINDS = ("truncated", "wrong_type", "missing_key", "bad_utf8", "bad_url", "blank")


def with_faults(
    lines: Iterable[bytes],
    file: str,
    seed: int,
    rate: float,
    kinds: tuple[str, ...],
    noted: list[Fault],
) -> Iterator[bytes]:
    """The lines, and after some of them a faulty one made from it; each is noted.

    Args:
        lines: Good lines without their ends; JSON objects.
        file: Name for the note.
        seed: Decides where faults stand.
        rate: Faulty lines per good line.
        kinds: Kinds of faults to make in turn.
        noted: Receives a note of each faulty line.
    """
    written = 0
    for number, line in enumerate(lines):
        yield line
        written += 1
        if unit(seed, number, 11) < rate:
            written += 1
            kind = kinds[mix(seed, number, 12) % len(kinds)]
            noted.append((file, written, kind))
            yield _break(line, kind)


def _break(line: bytes, kind: str) -> bytes:
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
