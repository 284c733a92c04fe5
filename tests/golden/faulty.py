"""Log files with malformed records of many kinds among good ones, for the golden worlds."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from tests.golden.logs import CELLS, Record, as_rows

BROKEN_LINES = (
    b"",
    b"   ",
    b"{",
    b"[1, 2]",
    b"7",
    b"null",
    b'"text"',
    b'{"query": "caf\xe9", "results": ["http://a.example/"], "clicks": [], "time": 1}',
    b"\xff\xfe\x00",
    b'{"time": 1654300000, "query": "eau", "results": ["https://a.example/"]} trailing',
    b'{"time": NaN, "query": "eau", "results": ["https://a.example/"], "clicks": []}',
    b'\xef\xbb\xbf{"time": 1654300000, "query": "eau", "results": ["https://a.example/"]}',
)
"""Lines that are no record, or of which that is not plain."""

URL = "https://a.example/1"
CHANGES: tuple[Record, ...] = (
    *({"time": time} for time in (None, "noon", -1, 1.5, True, [], {}, "1654300000", 10**12)),
    *(
        {"query": query}
        for query in (None, 5, 5.5, "", "  ", "!?", [], "x" * 501, "a\u0000b", True)
    ),
    *({"results": results} for results in (None, [], "eau", 7, [None], [""], [7], [[URL]], [{}])),
    *(
        {"results": [url]}
        for url in ("ftp://a.example/", "http://", "eau", "https://u:p@a.example/")
    ),
    *({"results": [{"url": url}]} for url in (URL, None, 7, "ftp://a.example/")),
    {"results": [URL] * 3},
    {"results": [f"{URL}{n}" for n in range(1001)]},
    *(
        {"clicks": clicks}
        for clicks in (None, 1, "1", [0], [-1], [99], [1.5], [1.0], ["1"], [True])
    ),
    *(
        {"clicks": clicks}
        for clicks in ([1, 1], [2, 1], [[1]], [{}], [{"rank": 1}], [{"url": URL}])
    ),
    *({"user": user} for user in (7, 7.5, "", [], {}, True, "x" * 2000)),
)
"""Other values of one key of a good record."""


def write_faulty_json(records: Sequence[Record], path: Path) -> Path:
    """JSON lines: broken and changed records after every third good one, repeats and a program."""
    path = path.with_name(path.name + "-faulty.jsonl")
    bad = [*BROKEN_LINES, *(json.dumps(records[0] | change).encode() for change in CHANGES)]
    bad += [
        json.dumps({k: v for k, v in records[0].items() if k != key}).encode() for key in records[0]
    ]
    bad.append(json.dumps(records[0]).encode()[:-1] + b', "clicks": [2]}')
    lines = []
    for number, record in enumerate(records):
        lines.append(json.dumps(record, ensure_ascii=False).encode())
        lines += [bad[number // 3]] if number % 3 == 0 and number // 3 < len(bad) else []
        lines += [lines[-1]] if number % 20 == 0 else []
    lines += [json.dumps(record).encode() for record in _by_programs(records[:40])]
    path.write_bytes(b"\n".join(lines))
    return path


def _by_programs(records: Sequence[Record]) -> Iterator[Record]:
    """Impressions of a user who always clicks the same two ranks, and of one who asks too fast."""
    start = records[0]["time"]
    for number, record in enumerate(records):
        same = {"user": "alike", "clicks": [1, 2][: len(record["results"])]}
        yield record | same | {"time": record["time"] + number}
        yield record | {"user": "fast", "time": start + 60 * number}


def write_faulty_long(records: Sequence[Record], path: Path) -> Path:
    """Tab-separated rows of results, of which every ninth has a bad cell."""
    path = path.with_name(path.name + "-faulty.tsv")
    bad = ({"rank": "x"}, {"clicked": "maybe"}, {"url": ""}, {"time": "soon"}, {"query": ""})
    more = ({"rank": "0"}, {"rank": "2.0"}, {"clicked": "true"}, {"url": "eau"}, {"clicked": ""})
    kinds = (*bad, *more)
    lines = ["\t".join(CELLS)]
    for number, row in enumerate(as_rows(records)):
        cells = {
            name: "" if cell is None else str(cell) for name, cell in zip(CELLS, row, strict=True)
        }
        cells |= kinds[number // 9 % len(kinds)] if number % 9 == 4 else {}
        lines.append("\t".join(cells.values()))
        lines += ["one\ttwo"] if number % 50 == 7 else []
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def write_faulty_cells(records: Sequence[Record], path: Path) -> Path:
    """CSV without a header, with clicks as tuples, of which every seventh line is changed."""
    path = path.with_name(path.name + "-faulty.csv")
    changes = (
        lambda line: line + ",more",
        lambda line: line.replace('"', "", 1),
        lambda line: line.replace("]", "", 1),
        lambda line: line.replace("https", "ftp"),
        lambda line: line.replace("(1,", "('x',"),
        lambda line: line.replace("[", "(").replace("]", ")"),
        lambda line: line.partition(",")[2],
        lambda line: line.replace(",", ";", 2),
    )
    lines = [_cells(record) for record in records]
    for number in range(3, len(lines), 7):
        lines[number] = changes[number // 7 % len(changes)](lines[number])
    path.write_text("\r\n".join(lines) + "\r\n", "utf-8")
    return path


def _cells(record: Record) -> str:
    """A line in which quotes surround what has commas."""
    clicks = [(rank, "page") for rank in record["clicks"]]
    query = record["query"].replace('"', '""')
    return f'{record["time"]},{record["user"] or ""},"{query}","{record["results"]}","{clicks}"'


def write_faulty_parquet(records: Sequence[Record], path: Path) -> Path:
    """Parquet whose columns have nulls and bad values in every eleventh row."""
    path = path.with_name(path.name + "-faulty.parquet")
    kinds: tuple[Record, ...] = (
        *({key: None} for key in records[0]),
        {"results": []},
        {"results": [None]},
        {"results": ["eau"]},
        {"clicks": [None]},
        {"clicks": [0]},
        {"clicks": [99]},
        {"query": " "},
        {"time": 5},
    )
    rows = [
        record | (kinds[number // 11 % len(kinds)] if number % 11 == 3 else {})
        for number, record in enumerate(records)
    ]
    schema = {"time": pl.Int64, "user": pl.String, "query": pl.String}
    lists = {"results": pl.List(pl.String), "clicks": pl.List(pl.Int32)}
    pl.DataFrame(rows, schema=schema | lists).write_parquet(path, row_group_size=300)
    return path


def write_truncated(records: Sequence[Record], path: Path) -> Path:
    """Gzip of JSON lines without its last bytes."""
    path = path.with_name(path.name + "-truncated.jsonl.gz")
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), mtime=0)[:-200])
    return path
