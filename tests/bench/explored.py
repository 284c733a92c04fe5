"""A generated version of any size for the bench of the explorer: two snapshots, all tables.

Texts are random words; of every ten pages one is rewritten and one is absent from the second
snapshot. Ids are hashes, so that rows of one query or page are spread over the files.
"""

from pathlib import Path

import numpy as np
import polars as pl

from builder.collection.imports.publish import _describe_tables
from builder.collection.manifest import write_collection_manifest
from builder.io.tables import TableWriter, write_frame
from builder.runtime.limits import ResourceLimits
from schemas import TABLES

MONTHS = ("2022-06", "2022-07")
WORDS = 60
CHUNK = 20_000
JUDGED = 20
"""Judged pages per query."""


def write_version(folder: Path, pages: int, queries: int) -> Path:
    """A version with so many pages and queries; returns its folder."""
    version = folder / "1.0.0"
    rng = np.random.default_rng(0)
    docs = _ids("d", pages)
    asked = _ids("q", queries)
    vocabulary = _vocabulary(rng)
    for number, month in enumerate(MONTHS):
        home = version / "snapshots" / month
        _documents(home / "documents" / "part-00000.parquet", docs, number, vocabulary)
        _queries(home, asked, number, vocabulary)
        _qrels(home, asked, docs, number)
    _across(version, docs, asked, vocabulary)
    scratch = ResourceLimits(folder / "scratch")
    scratch.scratch.mkdir()
    snapshots = [{"name": m, "start": f"{m}-01", "end": f"{m}-28"} for m in MONTHS]
    collection = {"name": "bench", "version": "1.0.0", "languages": ["fr"]}
    defined = {"collection": collection, "snapshots": snapshots, "parameters": {}}
    write_collection_manifest(version, defined, {}, _describe_tables(version, [], scratch), {})
    return version


def _ids(prefix: str, count: int) -> pl.Series:
    """Ids in order, spread as hashes are."""
    step = 2**64 // count
    return pl.Series([f"{prefix}{n * step + step // 3:016x}" for n in range(count)])


def _vocabulary(rng: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.str_]]":
    letters = rng.integers(97, 123, (30_000, 9)).astype(np.uint8).view("S9").ravel().astype(str)
    return np.array([word[: 2 + n % 8] for n, word in enumerate(letters)])


def _frame(name: str, rows: int, **columns: object) -> pl.DataFrame:
    """Rows with these columns, and null in the other ones of the contract."""
    dtypes = TABLES[name].dtypes()
    empty = pl.DataFrame({n: pl.Series(n, [None] * rows, dtype=t) for n, t in dtypes.items()})
    given = [pl.Series(n, v) if isinstance(v, pl.Series) else pl.lit(v).alias(n)
             for n, v in columns.items()]  # fmt: skip
    return empty.with_columns(given).cast(dtypes)  # type: ignore[arg-type]


def _urls(docs: pl.Series) -> pl.Series:
    host = docs.str.slice(1, 2)
    return pl.select("https://www.site" + host + ".example/" + docs).to_series()


def _held(docs: pl.Series, number: int) -> pl.Series:
    """Pages of a snapshot: the second one lacks every tenth."""
    return docs.gather([n for n in range(len(docs)) if not number or n % 10])


def _documents(path: Path, docs: pl.Series, number: int, vocabulary: object) -> None:
    words = np.asarray(vocabulary)
    with TableWriter(path, TABLES["documents"]) as writer:
        for start in range(0, len(docs), CHUNK):
            kept = [n for n in range(start, min(start + CHUNK, len(docs))) if not number or n % 10]
            drawn = np.random.default_rng(start).integers(0, len(words), (CHUNK, WORDS))
            if number:
                moved = np.arange(CHUNK) % 10 == 1
                other = np.random.default_rng(start + 1).integers(0, len(words), (CHUNK, WORDS))
                drawn[moved] = other[moved]
            texts = [" ".join(words[drawn[n - start]]) for n in kept]
            some = docs.gather(kept)
            frame = _frame(
                "documents", len(kept), doc_id=some, url=_urls(some), url_key=_urls(some),
                fetched_at=1_656_000_000, title=pl.Series([t[:40] for t in texts]),
                text=pl.Series(texts), language="fr", language_score=0.9, shown=True,
                sampled=False, tokens=WORDS, text_hash="0" * 32, token_hash="0" * 32,
                truncated=False,
            )  # fmt: skip
            writer.append(frame)


def _texts(queries: pl.Series, vocabulary: object) -> pl.Series:
    words = np.asarray(vocabulary)
    drawn = np.random.default_rng(1).integers(0, len(words), (len(queries), 3))
    return pl.Series([" ".join(row) for row in words[drawn]])


def _queries(home: Path, queries: pl.Series, number: int, vocabulary: object) -> None:
    frame = _frame(
        "queries", len(queries), query_id=queries, text=_texts(queries, vocabulary),
        topics=pl.Series([["any"]] * len(queries)), split="test",
        impressions=pl.Series([(n * 37 + number * 11) % 500 for n in range(len(queries))]),
        users=5, clicks=9, judged=JUDGED, relevant=JUDGED // 2,
    )  # fmt: skip
    write_frame(frame, home / "queries.parquet", TABLES["queries"])


def _pairs(queries: pl.Series, docs: pl.Series) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, len(docs), len(queries) * JUDGED)
    pairs = pl.DataFrame(
        {
            "query_id": queries.gather(np.repeat(np.arange(len(queries)), JUDGED)),
            "doc_id": docs.gather(drawn),
        }
    )
    return pairs.unique(maintain_order=True)


def _grades(rows: int, number: int) -> pl.Series:
    return pl.Series([(n * 7 + number * (n % 3 == 0)) % 3 for n in range(rows)])


def _qrels(home: Path, queries: pl.Series, docs: pl.Series, number: int) -> None:
    pairs = _pairs(queries, docs)
    frame = _frame(
        "qrels", pairs.height, query_id=pairs["query_id"], doc_id=pairs["doc_id"],
        grade=_grades(pairs.height, number), score=0.4, impressions=50, examinations=30, clicks=9,
        last_clicks=4, source="click", score_low=0.3, score_high=0.5, stability=0.7,
    )  # fmt: skip
    write_frame(frame, home / "qrels.parquet", TABLES["qrels"])


def _across(version: Path, docs: pl.Series, queries: pl.Series, vocabulary: object) -> None:
    """Maps and changes."""
    both, first = list(MONTHS), list(MONTHS[:1])
    held = pl.Series([first if n % 10 == 0 else both for n in range(len(docs))])
    pages = _frame("documents_map", len(docs), doc_id=docs, url=_urls(docs), url_key=_urls(docs),
                   snapshots=held, crawled=held)  # fmt: skip
    write_frame(pages, version / "documents_map.parquet", TABLES["documents_map"])
    count = len(queries)
    mapped = _frame(
        "queries_map", count, query_id=queries, text=_texts(queries, vocabulary),
        snapshots=pl.Series([both] * count), core=True, impressions=pl.Series([[10, 20]] * count),
        aliases=pl.Series([[]] * count, dtype=pl.List(pl.String)),
    )  # fmt: skip
    write_frame(mapped, version / "queries_map.parquet", TABLES["queries_map"])
    topic = _frame("topics", 1, topic_id="any", label="any", language="fr", source="generated",
                   aliases=pl.Series([[]], dtype=pl.List(pl.String)))  # fmt: skip
    write_frame(topic, version / "topics.parquet", TABLES["topics"])
    pair = {"from_snapshot": MONTHS[0], "to_snapshot": MONTHS[1]}
    kinds = ["removed", "updated", *["unchanged"] * 8]
    status = pl.Series([kinds[n % 10] for n in range(len(docs))])
    changed = _frame(
        "document_changes", len(docs), doc_id=docs, status=status, **pair,
        band=pl.select(pl.when(status == "updated").then(pl.lit("rewritten"))).to_series(),
        dice=pl.select(pl.when(status == "updated").then(pl.lit(0.1))).to_series(),
        tokens_from=WORDS, tokens_to=WORDS,
    )  # fmt: skip
    write_frame(changed, version / "changes/documents.parquet", TABLES["document_changes"])
    kept = _frame("query_changes", count, query_id=queries, status="kept", impressions_from=10,
                  impressions_to=20, **pair)  # fmt: skip
    write_frame(kept, version / "changes/queries.parquet", TABLES["query_changes"])
    pairs = _pairs(queries, docs)
    graded = _frame(
        "qrel_changes", pairs.height, query_id=pairs["query_id"], doc_id=pairs["doc_id"], **pair,
        grade_from=_grades(pairs.height, 0), grade_to=_grades(pairs.height, 1),
        examinations_from=30, examinations_to=30,
    )  # fmt: skip
    write_frame(graded, version / "changes/qrels.parquet", TABLES["qrel_changes"])
