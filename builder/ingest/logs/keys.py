"""Replace the strings in impressions with 64-bit keys.

In: checked impressions of one batch. Out: the same impressions with keys in place of texts, and
what the tables `log_queries` and `log_urls` need of every distinct text of the batch. Each distinct
text of a batch is folded, canonicalised and hashed once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.ids import addresses_of, is_bare
from builder.ingest.lists import lists_of
from builder.ingest.logs.records import Records
from builder.ingest.texts import url_keys, without_credentials
from builder.text.keys import folded

Keys = npt.NDArray[np.uint64]

MD5 = "SELECT unhex(md5(text)) AS digest FROM texts"
PSEUDONYM = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16

KEYED = pa.schema(
    {
        "record": pa.uint64(),
        "seconds": pa.int64(),
        "user": pa.uint64(),
        "query": pa.uint64(),
        "surface": pa.uint64(),
        "results": pa.list_(pa.uint64()),
        "clicks": pa.list_(pa.uint16()),
    }
)


class KeyedRecords(NamedTuple):
    """A batch of impressions in keys.

    Args:
        impressions: Table with the columns of `KEYED`, in record order.
        rejects: Record number and reason of every other record.
        queries: `surface`, `query`, `text`, `folded` of the distinct queries.
        urls: `key`, `url_key`, `url` of the distinct URLs.
        completed: Results whose URL was written without a scheme and was given `log.scheme`.
    """

    impressions: pa.Table
    rejects: list[tuple[int, str]]
    queries: pl.DataFrame
    urls: pl.DataFrame
    completed: int = 0


@dataclass(frozen=True)
class Keyer:
    """Makes keys of texts.

    Args:
        secret: Hexadecimal key of the pseudonyms, known only to holders of the raw log.
        address: URL template of results that are ids; None: results are URLs.
        scheme: Scheme of URLs written without one; None: they are rejected.
        connection: An engine; used through cursors, so that threads may share it.
    """

    secret: str
    address: str | None
    scheme: str | None
    connection: duckdb.DuckDBPyConnection

    def key(self, records: Records, time: int | None = None) -> KeyedRecords:
        """Replace the texts of a batch by keys.

        Args:
            records: The batch.
            time: Time of all impressions where the log has none, in unix seconds.

        Rejects queries that fold to nothing (`query_without_letters`) and results that are not
        web addresses (`bad_url`).
        """
        batch = records.impressions
        users = batch["user"].combine_chunks().dictionary_encode()
        queries = batch["query"].combine_chunks().dictionary_encode()
        results = batch["results"].combine_chunks()
        urls = pc.list_flatten(results).dictionary_encode()
        query_rows, url_rows = self._queries(queries.dictionary), self._urls(urls.dictionary)
        query_of = queries.indices.to_numpy()
        docs = url_rows["key"].to_numpy()[urls.indices.to_numpy()]
        columns = {
            "record": batch["record"],
            "seconds": batch["time"] if time is None else pa.array(np.full(len(batch), time)),
            "user": pa.array(self._pseudonyms(users.dictionary)).take(users.indices),
            "query": pa.array(query_rows["query"].to_numpy()[query_of]),
            "surface": pa.array(query_rows["surface"].to_numpy()[query_of]),
            "results": lists_of(pc.list_value_length(results).to_numpy(), pa.array(docs)),
            "clicks": batch["clicks"],
        }
        keyed, rejects = _with_keys(pa.table(columns, schema=KEYED), docs)
        return KeyedRecords(
            keyed,
            [*records.rejects, *rejects],
            query_rows.filter(pl.col("query") != 0),
            url_rows.filter(pl.col("key") != 0),
            self._completed(urls, url_rows["url"]),
        )

    def _completed(self, urls: pa.DictionaryArray, written: pl.Series) -> int:
        """How many of these URLs had no scheme and got one; `written`: distinct URLs as kept."""
        given = pl.Series(pl.from_arrow(urls.dictionary), dtype=pl.String)
        if self.address is not None or self.scheme is None or given.equals(written):
            return 0
        bare = is_bare(given)
        return int(bare.to_numpy()[urls.indices.to_numpy()].sum()) if bare.any() else 0

    def _queries(self, texts: pa.Array) -> pl.DataFrame:
        text = pl.Series("text", pl.from_arrow(texts), dtype=pl.String)
        fold = folded(text)
        keys = {"surface": self._md5(text), "query": self._md5(fold)}
        return pl.DataFrame({**keys, "text": text, "folded": fold})

    def _urls(self, texts: pa.Array) -> pl.DataFrame:
        urls = addresses_of(
            pl.Series(pl.from_arrow(texts), dtype=pl.String), self.address, self.scheme
        )
        canonical = url_keys(urls)
        if not canonical.equals(urls):
            urls = without_credentials(urls.str.strip_chars())
        return pl.DataFrame({"key": self._md5(canonical), "url_key": canonical, "url": urls})

    def _md5(self, texts: pl.Series) -> Keys:
        """First 64 bits of the md5 of each text, big-endian; 0 for null and empty ones."""
        present = (texts != "").fill_null(value=False)
        keys = np.zeros(len(texts), dtype=np.uint64)
        keys[present.to_numpy()] = self._hashed(MD5, texts.filter(present).to_arrow(), {})
        return keys

    def _pseudonyms(self, texts: pa.Array) -> Keys:
        """First 64 bits of the SHA-256 of the secret and each text, big-endian."""
        return self._hashed(PSEUDONYM, texts, {"secret": self.secret})

    def _hashed(self, sql: str, texts: pa.Array, values: dict[str, str]) -> Keys:
        """The first eight bytes of the digests of texts, as big-endian numbers."""
        with self.connection.cursor() as cursor:
            cursor.register("texts", pa.table({"text": texts}))
            found = cursor.sql(sql, params=values).to_arrow_table()["digest"].combine_chunks()
        width = DIGEST_BYTES // 8
        numbers = np.frombuffer(found.cast(pa.binary(DIGEST_BYTES)).buffers()[1], ">u8")
        return numbers.reshape(-1, width)[: len(found), 0].astype(np.uint64)


def _with_keys(keyed: pa.Table, docs: Keys) -> tuple[pa.Table, list[tuple[int, str]]]:
    """The impressions that have all their keys, and a reason for every other one."""
    wordless = keyed["query"].to_numpy() == 0
    misled = np.zeros(len(keyed), dtype=np.bool_)
    if not docs.all():
        parents = pc.list_parent_indices(keyed["results"].combine_chunks()).to_numpy()
        misled[parents[docs == 0]] = True
    misled &= ~wordless
    rejects = [
        (number, reason)
        for mask, reason in ((wordless, "query_without_letters"), (misled, "bad_url"))
        for number in keyed["record"].filter(pa.array(mask)).to_pylist()
    ]
    return (keyed.filter(pa.array(~(wordless | misled))) if rejects else keyed), rejects
