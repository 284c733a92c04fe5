"""Keys of many texts at once are keys of each, and each is new once."""

import hashlib
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder import hash_table
from builder.errors import DataError
from builder.ingest import seen as module
from builder.ingest.dictionary import Dictionary
from builder.ingest.seen import (
    Fingerprints,
    Flags,
    Halves,
    Keys,
    Seen,
    distinct_of,
    md5_keys,
    pseudonyms,
)
from builder.ingest.shown_addresses import ShownAddresses
from builder.ingest.texts import canonical_url
from builder.keys import key64
from builder.resources import Limits

URLS = [
    "https://a.example/1",
    "https://a.example/1#top",
    " https://a.example/1 ",
    "https://A.example/1",
    "https://b.example/é",
    "https://b.example/x?utm_source=y&b=2&a=1",
    "x",
    "ftp://a.example/",
    "https://c.example/2",
]


def _keys(*numbers: int) -> Keys:
    return np.array(numbers, dtype=np.uint64)


def _add(seen: Seen, keys: Keys, others: Keys) -> Flags:
    """Which hashes are new; they are remembered, each with a number told by both of its halves."""
    halves, numbers_of = Halves(keys, others), keys * np.uint64(3) + others
    new, numbers = seen.find(halves)
    assert numbers[~new].tolist() == numbers_of[~new].tolist()
    seen.remember(halves.take(new), numbers_of[new])
    return new


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=30))
def test_the_engine_makes_the_keys_that_python_makes(texts: list[str]) -> None:
    with duckdb.connect() as connection:
        keys = md5_keys(pa.array(texts, pa.string()), connection)
    assert keys.tolist() == [key64(text) for text in texts]


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=30))
def test_fingerprints_tell_texts_apart(texts: list[str]) -> None:
    one, another = Fingerprints(), Fingerprints()
    found = one.of(pa.array(texts, pa.string()))
    both = list(zip(found.keys.tolist(), found.others.tolist(), strict=True))
    assert len(set(both)) == len(set(found.keys.tolist())) == len(set(texts))
    assert len(set(both)) == len(set(zip(both, texts, strict=True)))
    again = one.of(pa.array(["", *texts]))
    assert again.keys[1:].tolist() == found.keys.tolist()
    assert not set(another.of(pa.array(["", *texts])).keys.tolist()) & set(again.keys.tolist())
    assert not set(again.others.tolist()) & set(again.keys.tolist())


def test_pseudonyms_are_keyed() -> None:
    texts = ["ann", "Zoë", ""]
    with duckdb.connect() as connection:
        found = pseudonyms(pa.array(texts), "abc", connection).tolist()
    digests = [hashlib.sha256(f"abc{text}".encode()).digest() for text in texts]
    assert found == [int.from_bytes(digest[:8], "big") for digest in digests]


@settings(deadline=None)
@given(
    st.lists(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 2))), max_size=12),
    st.sampled_from([1, 4, 64]),
    st.integers(1, 4),
)
def test_each_text_is_new_once(batches: list[set[tuple[int, int]]], room: int, slots: int) -> None:
    """Also where keys are the same, slots are few, and the table grows."""
    known: set[tuple[int, int]] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEAST_ROOM", room)
        patch.setattr(hash_table, "SLOTS", slots + 1)
        patch.setattr(hash_table, "LEAST_ROOM", room)
        seen = Seen(10**6)
        for batch in batches:
            pairs = sorted(batch)
            new = _add(seen, _keys(*(k for k, _ in pairs)), _keys(*(o + 7 for _, o in pairs)))
            assert new.tolist() == [pair not in known for pair in pairs]
            known |= batch


def test_what_was_forgotten_is_new_again() -> None:
    seen = Seen(4)
    assert _add(seen, _keys(1, 2, 3), _keys(1, 2, 3)).all()
    assert _add(seen, _keys(1, 2, 3, 4), _keys(1, 2, 3, 4)).tolist() == [False] * 3 + [True]
    assert _add(seen, _keys(5), _keys(5)).all()
    assert _add(seen, _keys(5, 1), _keys(5, 1)).tolist() == [False, True]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans())))
def test_different_hashes_each_once(hashes: list[tuple[int, int, bool]]) -> None:
    halves = Halves(_keys(*(k for k, _, _ in hashes)), _keys(*(o for _, o, _ in hashes)))
    among = np.array([chosen for _, _, chosen in hashes], dtype=np.bool_)
    places, which = distinct_of(halves, among)
    pairs = [(key, other) for key, other, chosen in hashes if chosen]
    distinct = [hashes[place][:2] for place in places]
    assert all(hashes[place][2] for place in places)
    assert len(distinct) == len(set(pairs))
    assert [distinct[one] for one in which] == pairs


def test_keys_of_urls_of_all_kinds(tmp_path: Path) -> None:
    limits = Limits(tmp_path, threads=1, memory=2**28)
    with Dictionary(limits, b"secret") as dictionary:
        for urls in (URLS, URLS[::-1], []):
            distinct = pa.array(urls, pa.string())
            keys = dictionary.urls(dictionary.look_up_urls(distinct))
            wanted = [canonical_url(url) for url in urls]
            assert keys.tolist() == [key64(key) if key else 0 for key in wanted]
        dictionary.write(tmp_path)
    written = pl.read_parquet(tmp_path / "log_urls.parquet")
    wanted_rows = {(key64(key), key) for url in URLS if (key := canonical_url(url))}
    assert set(written.select("doc", "url_key").rows()) == wanted_rows
    assert written.filter(pl.col("url_key") == "https://a.example/1")["url"].to_list() == [
        "https://A.example/1"
    ]


def test_what_another_looked_up_meanwhile_keeps_its_key(tmp_path: Path) -> None:
    """Of the texts that were new when they were looked up the first is known when they are added"""
    urls, words = [f"https://{name}.example/" for name in "abc"], ["eau", "mer", "vent"]
    with Dictionary(Limits(tmp_path, threads=1, memory=2**28), b"secret") as dictionary:
        for texts, look_up, add in (
            (urls, dictionary.look_up_urls, dictionary.urls),
            (words, dictionary.look_up_users, dictionary.users),
            (words, dictionary.look_up_queries, lambda found: dictionary.queries(found)[1]),
        ):
            one, all_three = look_up(pa.array(texts[:1])), look_up(pa.array(texts))
            first, found = add(one).tolist(), add(all_three).tolist()
            again = [add(look_up(pa.array([text]))).tolist() for text in texts]
            assert found == [key for (key,) in again]
            assert found[:1] == first
            assert len(set(found)) == 3
        surfaces, _ = dictionary.queries(
            dictionary.look_up_queries(pa.array(["mer", "Mer", "lac"]))
        )
        dictionary.write(tmp_path)
    assert surfaces.tolist() == [key64(text) for text in ("mer", "Mer", "lac")]
    queries = pl.read_parquet(tmp_path / "log_queries.parquet")
    assert queries["surface"].to_list() == [key64(text) for text in queries["text"]]
    assert set(queries["text"]) == {*words, "Mer", "lac"}
    found_urls = pl.read_parquet(tmp_path / "log_urls.parquet")
    assert found_urls["doc"].to_list() == [key64(url) for url in found_urls["url_key"]]


def test_a_document_with_two_url_keys_is_an_error(tmp_path: Path) -> None:
    addresses = ShownAddresses(Limits(tmp_path, threads=2, memory=2**28))
    rows = {"key": [7, 3, 7], "url_key": ["b", "c", "a"], "url": ["u", "v", "w"]}
    addresses.add(pl.DataFrame(rows, schema_overrides={"key": pl.UInt64}))
    with pytest.raises(DataError, match=r"have one key: \('a', 'b'\)"):
        addresses.write(tmp_path / "log_urls.parquet")


@pytest.mark.parametrize("memory", [2**28, 1000])
def test_each_document_has_its_first_address(tmp_path: Path, memory: int) -> None:
    addresses = ShownAddresses(Limits(tmp_path, threads=2, memory=memory))
    count = 300
    keys = [n % 100 * 2**57 + n % 100 for n in range(count)]
    urls = [f"u{count - n:03}" for n in range(count)]
    rows = {"key": keys, "url_key": [f"k{key}" for key in keys], "url": urls}
    for part in pl.DataFrame(rows, schema_overrides={"key": pl.UInt64}).iter_slices(40):
        addresses.add(part)
    addresses.write(tmp_path / "log_urls.parquet")
    addresses.close()
    found = pl.read_parquet(tmp_path / "log_urls.parquet")
    last = sorted((keys[n], f"k{keys[n]}", urls[n]) for n in range(200, count))
    assert found.rows() == last
    assert not list(tmp_path.rglob("*.arrow"))


def test_what_two_threads_look_up_at_once_is_written_once(tmp_path: Path) -> None:
    limits = Limits(tmp_path, threads=1, memory=2**28)
    with Dictionary(limits, b"secret") as dictionary:
        distinct = pa.array(["L'eau", "eau", "!"])
        one, other = (dictionary.look_up_queries(distinct) for _ in range(2))
        found = [dictionary.queries(looked)[1].tolist() for looked in (one, other)]
        dictionary.write(tmp_path)
    assert found[0] == found[1] == [key64("l eau"), key64("eau"), 0]
    assert pl.read_parquet(tmp_path / "log_queries.parquet").height == 2
    assert pl.read_parquet(tmp_path / "queries.parquet").height == 2
