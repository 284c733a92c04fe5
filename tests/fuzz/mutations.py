"""Damaged inputs, drawn by seed: bytes changed, cut, doubled, nested, packed and cut again."""

import gzip
import json
import random
from collections.abc import Callable

import zstandard

Mutation = Callable[[bytes, random.Random], bytes]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _flip(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _insert(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(INSERTED) + data[place:]


def _double(data: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(data) + 1)
    stop = draw.randrange(start, len(data) + 1)
    return data[:stop] + data[start:stop] + data[stop:]


def _line_ends(data: bytes, draw: random.Random) -> bytes:
    return data.replace(b"\n", draw.choice([b"\r\n", b"\r", b"\n\n", "\u2028".encode(), b"\x85"]))


def _packed(data: bytes, draw: random.Random) -> bytes:
    packed = gzip.compress(data) if draw.random() < 0.5 else zstandard.compress(data)
    return _cut(packed, draw) if draw.random() < 0.5 else _flip(packed, draw)


def _types(data: bytes, draw: random.Random) -> bytes:
    """Another value under a key of some line of JSON."""
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    try:
        row = json.loads(lines[place])
        row[draw.choice(sorted(row))] = draw.choice(VALUES)
        lines[place] = json.dumps(row).encode()
    except (ValueError, TypeError, IndexError, AttributeError, RecursionError):
        return _flip(data, draw)
    return b"\n".join(lines)


INSERTED = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"',
    b"\t",
    b",",
    b"{" * 10_000,
    b"[" * 10_000 + b"]" * 10_000,
    b'{"time": 1, "time": 2}\n',
    b"x" * 50_000,
    "\ud7ff\u202e".encode(),
    b"WARC/1.0\r\n",
    b"Content-Length: 99999999999\r\n",
)
VALUES = (None, True, -1, 1e308, "", "x" * 5000, [], {}, [[]], {"a": {}}, "\x00", 2**63, ["\ud800"])
MUTATIONS: tuple[Mutation, ...] = (_cut, _flip, _insert, _double, _line_ends, _packed, _types)


def mutate(data: bytes, seed: int) -> bytes:
    """The same damage for the same seed."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 3)):
        data = draw.choice(MUTATIONS)(data, draw)
    return data
