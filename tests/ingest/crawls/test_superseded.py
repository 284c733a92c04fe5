"""Which fetches count, against a comparison of each with all others."""

import hashlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import DataError
from builder.ingest.crawls.superseded import LatestFetchSelector
from builder.runtime.limits import ResourceLimits
from schemas import Fetches, Pages

FETCH = st.tuples(
    st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    st.integers(0, 2),
    st.sampled_from(["u", "v", "é", "Z"]),
    st.sampled_from(["a", "b", "c"]),
)
"""Key, time, URL and text of a fetch."""


def _added(last: LatestFetchSelector, rows: pl.DataFrame) -> None:
    absent = [
        pl.lit(None, kind).alias(name)
        for name, kind in Pages.dtypes().items()
        if name not in rows.columns
    ]
    last.add(rows.with_columns(absent).cast({"number": pl.UInt64, "file": pl.UInt32}))


@settings(max_examples=40, deadline=None)
@given(fetches=st.lists(FETCH, max_size=30), size=st.integers(1, 9))
def test_the_last_of_each_address(
    tmp_path_factory: pytest.TempPathFactory,
    fetches: list[tuple[int, int, str, str]],
    size: int,
) -> None:
    folder = tmp_path_factory.mktemp("crawl")
    types = {"doc": pl.UInt64, "fetched_at": pl.Int64, "url": pl.String, "text": pl.String}
    rows = pl.DataFrame(fetches, types, orient="row").with_row_index("number")
    texts = rows.select("number", "text", title=pl.lit("")).cast({"number": pl.UInt64})
    texts.select(list(Fetches.dtypes())).write_parquet(folder / "fetches.parquet")
    with LatestFetchSelector(ResourceLimits(folder, 2, 2**28)) as last:
        for some in rows.iter_slices(size):
            line = (pl.col("number") + 1).cast(pl.UInt64)
            url_key = pl.col("doc").cast(pl.String)
            _added(last, some.drop("text").with_columns(url_key=url_key, file=5, line=line))
        found = list(last.find_superseded_fetches(folder / "fetches.parquet"))
        count = last.write_pages(folder / "pages.parquet")
    best: dict[int, tuple[int, bytes, str, int]] = {}
    for number, (key, time, url, text) in enumerate(fetches):
        digest = hashlib.md5(text.encode()).hexdigest()
        best[key] = max(best.get(key, (-1, b"", "", 0)), (time, url.encode(), digest, number))
    kept = sorted(number for *_, number in best.values())
    assert found == [(5, n + 1) for n in range(len(fetches)) if n not in kept]
    pages = pl.read_parquet(folder / "pages.parquet")
    assert pages["number"].to_list() == kept
    assert count == pages.height
    assert pages["doc"].to_list() == [fetches[n][0] for n in kept]


def test_two_addresses_with_one_id_are_an_error(tmp_path: Path) -> None:
    texts = pl.DataFrame({"number": [0, 1], "title": "", "text": "t"})
    texts.write_parquet(tmp_path / "fetches.parquet")
    rows = {"doc": [4, 4], "url_key": ["a", "b"], "url": "u", "fetched_at": 1, "file": 0}
    frame = pl.DataFrame(rows, schema_overrides={"doc": pl.UInt64}).with_row_index("number")
    with LatestFetchSelector(ResourceLimits(tmp_path, 1)) as last:
        _added(last, frame.with_columns(line=pl.col("number").cast(pl.UInt64)))
        with pytest.raises(DataError, match=r"two URLs with the same id: \['a', 'b'\]"):
            list(last.find_superseded_fetches(tmp_path / "fetches.parquet"))
