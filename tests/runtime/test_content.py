"""The content hash says what is in a table, whatever the order of rows and parts."""

from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.io.tables import Table, write_frame
from builder.runtime.content import content_hash
from builder.runtime.limits import Limits
from schemas import LogUrls

ROWS = [(1, "a", "b"), (2, "é\n\"'", ""), (3, "a", "b"), (3, "a", "b")]


def _hash(folder: Path, *parts: list[tuple[int, str, str]]) -> str:
    paths = []
    for number, rows in enumerate(parts):
        frame = pl.DataFrame(rows, schema=["doc", "url_key", "url"], orient="row")
        path = folder / f"part-{number}.parquet"
        frame.cast({"doc": pl.UInt64}).write_parquet(path)
        paths.append(path)
    return content_hash(Table(tuple(paths), LogUrls), Limits(folder, threads=2))


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


def test_a_known_value(tmp_path: Path) -> None:
    write_frame(
        pl.DataFrame({"doc": [7], "url_key": ["k"], "url": ["u"]}), tmp_path / "t.parquet", LogUrls
    )
    table = Table((tmp_path / "t.parquet",), LogUrls)
    import hashlib

    digest = hashlib.md5(b'{"doc":7,"url_key":"k","url":"u"}').hexdigest()
    assert content_hash(table, Limits(tmp_path)) == f"1-{digest}"
