"""Which fetches count, against a comparison of each with all others; pages that are taken out."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import DataError
from builder.ingest.crawls import page_parts
from builder.ingest.crawls.last_fetches import LastFetches
from builder.ingest.crawls.page_parts import PageParts
from builder.runtime.limits import Limits
from builder.text.keys import key64
from schemas import Pages

FETCH = st.tuples(
    st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    st.integers(0, 2),
    st.sampled_from(["u", "v"]),
    st.sampled_from([3, 7, 2**64 - 1]),
)
"""Key, time and URL of a fetch, and the key of its text."""


@pytest.mark.parametrize("memory", [8, 2**30])
@settings(max_examples=40, deadline=None)
@given(fetches=st.lists(FETCH, max_size=30), size=st.integers(1, 9))
def test_the_last_of_each_address(
    tmp_path_factory: pytest.TempPathFactory,
    memory: int,
    fetches: list[tuple[int, int, str, int]],
    size: int,
) -> None:
    last = LastFetches(Limits(tmp_path_factory.mktemp("scratch"), 2, memory))
    keys, times, urls, texts = zip(*fetches, strict=True) if fetches else ((), (), (), ())
    rows = pl.DataFrame(
        {"key": keys, "fetched_at": times, "url": urls}, schema_overrides={"key": pl.UInt64}
    ).with_row_index("number")
    for some in rows.iter_slices(size):
        last.add(some.with_columns(url_key="key", file=pl.lit(5), line=pl.col("number") + 1))
    found = last.superseded(lambda numbers: [texts[number] for number in numbers])
    best: dict[int, tuple[int, str, int, int]] = {}
    for number, (key, time, url, text) in enumerate(fetches):
        best[key] = max(best.get(key, (-1, "", 0, 0)), (time, url, text, number))
    kept = {number for *_, number in best.values()}
    assert found["number"].to_list() == [n for n in range(len(fetches)) if n not in kept]
    assert found["line"].to_list() == [n + 1 for n in found["number"]]
    assert set(found["file"]) <= {5}


def test_two_addresses_with_one_id_are_an_error(tmp_path: Path) -> None:
    last = LastFetches(Limits(tmp_path, 1))
    rows = {"key": [4, 4], "url_key": ["a", "b"], "url": "u", "fetched_at": 1, "file": 0, "line": 1}
    last.add(pl.DataFrame(rows).with_row_index("number"))
    with pytest.raises(DataError, match=r"two with the same: \['a', 'b'\]"):
        last.superseded(lambda numbers: [0 for _ in numbers])


def _pages(count: int) -> pl.DataFrame:
    rows = {"doc_id": [f"d{n}" for n in range(count)], "fetched_at": range(count)}
    frame = pl.DataFrame(rows, {"doc_id": pl.String, "fetched_at": pl.Int64})
    text = pl.col("doc_id").repeat_by(1 + pl.col("fetched_at") % 5).list.join("")
    named = frame.with_columns(url="doc_id", url_key="doc_id", title="doc_id", text=text)
    return named.with_columns(
        pl.lit(None, kind).alias(name)
        for name, kind in Pages.dtypes().items()
        if name not in named.columns
    )


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(0, 60),
    sizes=st.lists(st.integers(1, 30), min_size=60, max_size=60),
    most=st.integers(1, 200),
    data=st.data(),
)
def test_parts_without_some_pages_are_those_of_the_others(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    sizes: list[int],
    most: int,
    data: st.DataObject,
) -> None:
    taken = data.draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count))
    out = np.array(sorted(taken), dtype=np.int64)
    pages = _pages(count)
    kept = pages.filter(~pl.col("fetched_at").is_in(out.tolist()))
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_parts, "PART_BYTES", most)
        written, alone = PageParts(folder / "pages"), PageParts(folder / "alone")
        start = 0
        for size in sizes:
            written.write(pages[start : start + size])
            start += size
        written.close()
        alone.write(kept)
        alone.close()
        wanted = written.text_keys(out)
        written.take_out(out, 2)
    texts = pages["text"].gather(out.tolist()).to_list()
    assert wanted == [key64(text) for text in texts]
    assert written.count == kept.height
    every = np.arange(kept.height)
    assert written.text_keys(every) == [key64(text) for text in kept["text"]]
    found, expected = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()}
        for name in ("pages", "alone")
    )
    assert found == expected
    assert not (folder / "pages-offered").exists()
