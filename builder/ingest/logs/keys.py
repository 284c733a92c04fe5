"""Replaces the queries, URLs and user ids of impressions with 64-bit keys.

Each distinct query of a batch is folded (ignoring case, accents and punctuation) and hashed once,
and each distinct URL is canonicalized and hashed once. The distinct queries and URLs are returned
with their keys, for the tables `log_queries` and `log_urls`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.ids import lacks_scheme, to_urls
from builder.ingest.lists import build_list_array
from builder.ingest.logs.cell_lists import JOINED_ITEMS
from builder.ingest.logs.records import CheckedRecords
from builder.ingest.texts import strip_credentials, url_keys
from builder.text.keys import fold_series

Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

MD5 = "SELECT unhex(md5(text)) AS digest FROM texts"
PSEUDONYM = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16

KEYED_COLUMNS = pa.schema(
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
"""Schema of impressions with keys instead of strings."""


class EncodedRecords(NamedTuple):
    """Batch of log records: impressions with keys instead of strings, rejects, and the strings.

    Args:
        impressions: Table with the schema `KEYED_COLUMNS`, in record order.
        rejects: Record number and reject reason of all other records.
        queries: Distinct queries; columns `surface`, `query`, `text`, `folded`.
        urls: Distinct URLs; columns `key`, `url_key`, `url`.
        schemes_added: Number of results whose URL had no scheme and received `log.scheme`.
    """

    impressions: pa.Table
    rejects: list[tuple[int, str]]
    queries: pl.DataFrame
    urls: pl.DataFrame
    schemes_added: int = 0


@dataclass(frozen=True)
class KeyEncoder:
    """Encoder that hashes queries, URLs and user ids to 64-bit keys.

    Args:
        secret: Secret prefix for hashing user ids, in hexadecimal; derived from the raw log.
        address: URL template for results that are ids; None if results are URLs.
        scheme: Scheme to add to URLs without a scheme; if None, such URLs are rejected.
        connection: DuckDB connection; each query uses its own cursor, so that threads can share
            the connection.
    """

    secret: str
    address: str | None
    scheme: str | None
    connection: duckdb.DuckDBPyConnection

    def encode(self, records: CheckedRecords, default_time: int | None = None) -> EncodedRecords:
        """Replace the strings in a batch of impressions with keys.

        Reject impressions whose query is empty once accents and punctuation have been removed
        (`query_without_letters`), impressions with a result that is not a URL (`bad_url`), and
        impressions whose single result is in fact several results joined into one string
        (`bad_list`).

        Args:
            records: Batch of impressions and rejects.
            default_time: Time of all impressions in Unix seconds if the log has no times; None to
                keep the times of the impressions.
        """
        batch = records.impressions
        users = batch["user"].combine_chunks().dictionary_encode()
        queries = batch["query"].combine_chunks().dictionary_encode()
        results = batch["results"].combine_chunks()
        urls = pc.list_flatten(results).dictionary_encode()
        query_rows, url_rows = (
            self._queries_with_keys(queries.dictionary),
            self._urls_with_keys(urls.dictionary),
        )
        query_of = queries.indices.to_numpy()
        docs = url_rows["key"].to_numpy()[urls.indices.to_numpy()]
        columns = {
            "record": batch["record"],
            "seconds": batch["time"]
            if default_time is None
            else pa.array(np.full(len(batch), default_time)),
            "user": pa.array(self._pseudonymize(users.dictionary)).take(users.indices),
            "query": pa.array(query_rows["query"].to_numpy()[query_of]),
            "surface": pa.array(query_rows["surface"].to_numpy()[query_of]),
            "results": build_list_array(pc.list_value_length(results).to_numpy(), pa.array(docs)),
            "clicks": batch["clicks"],
        }
        table = pa.table(columns, schema=KEYED_COLUMNS)
        keyed, rejects = _reject_invalid_impressions(table, docs, _joined_result_mask(results))
        return EncodedRecords(
            keyed,
            [*records.rejects, *rejects],
            query_rows.filter(pl.col("query") != 0),
            url_rows.filter(pl.col("key") != 0),
            self._count_added_schemes(urls, url_rows["url"]),
        )

    def _count_added_schemes(self, urls: pa.DictionaryArray, converted_urls: pl.Series) -> int:
        """Count the results whose URL had no scheme in the log and received `log.scheme`.

        Args:
            urls: URLs as logged, dictionary-encoded.
            converted_urls: Converted URL of each dictionary entry of `urls`.
        """
        given = pl.Series(pl.from_arrow(urls.dictionary), dtype=pl.String)
        if self.address is not None or self.scheme is None or given.equals(converted_urls):
            return 0
        bare = lacks_scheme(given)
        return int(bare.to_numpy()[urls.indices.to_numpy()].sum()) if bare.any() else 0

    def _queries_with_keys(self, texts: pa.Array) -> pl.DataFrame:
        """Return the distinct queries of a batch with their folded forms (see `fold`) and keys."""
        text = pl.Series("text", pl.from_arrow(texts), dtype=pl.String)
        folded = fold_series(text)
        keys = {"surface": self._md5_keys(text), "query": self._md5_keys(folded)}
        return pl.DataFrame({**keys, "text": text, "folded": folded})

    def _urls_with_keys(self, texts: pa.Array) -> pl.DataFrame:
        """Return the distinct URLs of a batch with their canonical forms and 64-bit keys."""
        urls = to_urls(pl.Series(pl.from_arrow(texts), dtype=pl.String), self.address, self.scheme)
        canonical = url_keys(urls)
        if not canonical.equals(urls):
            urls = strip_credentials(urls.str.strip_chars())
        return pl.DataFrame({"key": self._md5_keys(canonical), "url_key": canonical, "url": urls})

    def _md5_keys(self, texts: pl.Series) -> Keys:
        """Return the first 64 bits of the MD5 hash of each text, as uint64; 0 for empty texts."""
        present = (texts != "").fill_null(value=False)
        keys = np.zeros(len(texts), dtype=np.uint64)
        keys[present.to_numpy()] = self._hash_texts(MD5, texts.filter(present).to_arrow(), {})
        return keys

    def _pseudonymize(self, user_ids: pa.Array) -> Keys:
        """Return a 64-bit pseudonym for each user id: a truncated keyed SHA-256 hash."""
        return self._hash_texts(PSEUDONYM, user_ids, {"secret": self.secret})

    def _hash_texts(self, sql: str, texts: pa.Array, sql_params: dict[str, str]) -> Keys:
        """Return the first 64 bits of the hash of each text, as uint64.

        Args:
            sql: SQL query that computes the column `digest` from the table `texts`.
            texts: Texts to hash.
            sql_params: Parameters of the SQL query.
        """
        with self.connection.cursor() as cursor:
            cursor.register("texts", pa.table({"text": texts}))
            found = cursor.sql(sql, params=sql_params).to_arrow_table()["digest"].combine_chunks()
        width = DIGEST_BYTES // 8
        numbers = np.frombuffer(found.cast(pa.binary(DIGEST_BYTES)).buffers()[1], ">u8")
        return numbers.reshape(-1, width)[: len(found), 0].astype(np.uint64)


def _reject_invalid_impressions(
    impressions: pa.Table, doc_keys: Keys, is_joined: Flags
) -> tuple[pa.Table, list[tuple[int, str]]]:
    """Split impressions into valid ones and rejects.

    Args:
        impressions: Table with the schema `KEYED_COLUMNS`; the key of an empty query is 0.
        doc_keys: Document key of every result of all impressions; 0 for invalid URLs.
        is_joined: Mask of the impressions whose single result is several URLs or ids in one string.

    Returns:
        The valid impressions, and the record number and reason of each reject.
    """
    lacks_query = impressions["query"].to_numpy() == 0
    is_list = is_joined & ~lacks_query
    has_bad_url = np.zeros(len(impressions), dtype=np.bool_)
    if not doc_keys.all():
        parents = pc.list_parent_indices(impressions["results"].combine_chunks()).to_numpy()
        has_bad_url[parents[doc_keys == 0]] = True
    has_bad_url &= ~is_list & ~lacks_query
    masks = {"query_without_letters": lacks_query, "bad_list": is_list, "bad_url": has_bad_url}
    rejects = [
        (number, reason)
        for reason, mask in masks.items()
        for number in impressions["record"].filter(pa.array(mask)).to_pylist()
    ]
    kept = pa.array(~(lacks_query | is_list | has_bad_url))
    return (impressions.filter(kept) if rejects else impressions), rejects


def _joined_result_mask(results: pa.ListArray) -> Flags:
    """Return a mask of impressions whose single result is several URLs or ids in one string."""
    is_single = pc.list_value_length(results).to_numpy() == 1
    found = np.zeros(len(results), dtype=np.bool_)
    single = pc.list_flatten(results.filter(pa.array(is_single)))
    texts = pl.Series(pl.from_arrow(single), dtype=pl.String).str.strip_chars()
    found[is_single] = texts.str.contains(JOINED_ITEMS.pattern).to_numpy()
    return found
