"""The content hash says what is in a table, whatever the order of rows and parts."""

import hashlib
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.io.tables import Table
from builder.runtime.content import content_hash
from builder.runtime.limits import ResourceLimits
from schemas import LogUrls

ROWS = [(1, "a", "b"), (2, "é\n\"'", ""), (3, "a", "b"), (3, "a", "b")]


def _hash(folder: Path, *parts: list[tuple[int, str, str]]) -> str:
    paths = []
    for number, rows in enumerate(parts):
        frame = pl.DataFrame(rows, schema=["doc", "url_key", "url"], orient="row")
        path = folder / f"part-{number}.parquet"
        frame.cast({"doc": pl.UInt64}).write_parquet(path)
        paths.append(path)
    return content_hash(Table(tuple(paths), LogUrls), ResourceLimits(folder, threads=2))


@settings(max_examples=10, deadline=None)
@given(st.permutations(ROWS), st.integers(1, 3))
def test_order_and_parts_do_not_matter(
    tmp_path_factory: object, rows: list[tuple[int, str, str]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("c")  # type: ignore[attr-defined]
    assert _hash(folder, rows[:cut], rows[cut:]) == _hash(folder, ROWS)


def test_every_value_and_every_repeat_matters(tmp_path: Path) -> None:
    seen = {_hash(tmp_path, ROWS)}
    for changed in (
        ROWS[:3],
        [*ROWS, ROWS[0]],
        [(9, "a", "b"), *ROWS[1:]],
        [(1, "b", "a"), *ROWS[1:]],
        [(1, "a", "c"), *ROWS[1:]],
    ):
        seen.add(_hash(tmp_path, changed))
    assert len(seen) == 6


def test_the_words_of_the_digests_are_added_up(tmp_path: Path) -> None:
    """Of one row, and of three, two of which are the same: MD5 by hashlib."""
    rows = [(7, "k", "u"), (8, "l", "v"), (8, "l", "v")]
    for some in (rows[:1], rows):
        lines = (f'{{"doc":{doc},"url_key":"{key}","url":"{url}"}}' for doc, key, url in some)
        digests = [hashlib.md5(line.encode()).hexdigest() for line in lines]
        words = (sum(int(d[at : at + 8], 16) for d in digests) % 2**32 for at in range(0, 32, 8))
        expected = f"{len(some)}-" + "".join(f"{word:08x}" for word in words)
        assert _hash(tmp_path, some) == expected
