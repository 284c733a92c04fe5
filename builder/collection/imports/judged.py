"""Queries and judgements of a released snapshot -> our tables, under the ids of the release.

Two ids with one folded text stay two queries, as official scores count them; they share a
`text_key` (see `schemas.ReleaseIds`).
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from builder.collection.imports.files import ReleasedSnapshot, name_of
from builder.collection.imports.ids import Keys, read_query_texts, text_keys, unnamed_query
from builder.collection.imports.lines import QUERY_COLUMNS, read_qrels, read_queries
from builder.collection.imports.notes import Notes
from schemas import Qrels, Queries

UNKNOWN_COUNTS = ("impressions", "users", "clicks")


def read_all_queries(
    snapshot: ReleasedSnapshot, root: Path, language: str, notes: Notes
) -> pl.DataFrame:
    """All queries of a snapshot in a language: `alias`, `text`, `split`, `file`, `line`."""
    frames = [
        read_queries(path, name_of(path, root), split, notes)
        for path, found, split in snapshot.queries
        if found == language
    ]
    return pl.concat([pl.DataFrame(schema=QUERY_COLUMNS), *frames])


def read_common_texts(path: Path | None, root: Path) -> pl.DataFrame:
    """The queries of the whole release, where it has texts without a month; see `read_all_queries`.

    Args:
        path: `ReleasedSnapshot.texts`.
        root: The release.

    Raises:
        FormatError: they are in a database that cannot be read.
    """
    if path is None:
        return pl.DataFrame(schema=QUERY_COLUMNS)
    name = name_of(path, root)
    if path.suffix != ".db":
        return read_queries(path, name, "train", Notes())
    pairs = enumerate(read_query_texts(path), 1)
    rows = [(alias, text.strip(), "train", name, number) for number, (alias, text) in pairs]
    found = pl.DataFrame(rows, schema=QUERY_COLUMNS, orient="row")
    return found.filter(pl.col("text") != "")


def judged_aliases(snapshot: ReleasedSnapshot, root: Path) -> pl.Series:
    """The query ids that the judgements of a snapshot name."""
    return _read_all_qrels(snapshot, root, Notes())["query_alias"].unique()


def _read_all_qrels(snapshot: ReleasedSnapshot, root: Path, notes: Notes) -> pl.DataFrame:
    """All judgements of a snapshot, as `read_qrels` gives them."""
    frames = [read_qrels(p, name_of(p, root), notes) for p in snapshot.qrels]
    return pl.concat([read_nothing(), *frames])


def identify(queries: pl.DataFrame, place: str, notes: Notes) -> tuple[pl.DataFrame, Keys]:
    """One row for each id, and the keys of the ids; an id that comes again is a reject.

    Of ids with one folded text the smallest has the key of the text, so that it is the same one in
    every snapshot.

    Returns:
        Columns `query_id` (the release's), `text`, `split`, `text_key`.
    """
    kept = queries.unique("alias", keep="first", maintain_order=True)
    others = queries.join(kept, on=["file", "line"], how="anti")
    for alias, file, line in others.select("alias", "file", "line").iter_rows():
        notes.reject("repeated_query_id", file, line, alias)
    named = kept.with_columns(
        text_key=pl.Series(text_keys(kept["text"].to_list()), dtype=pl.String)
    )
    keys = Keys()
    ordered = named.sort(pl.col("alias").str.len_bytes(), "alias")
    for alias, text_key in ordered.select("alias", "text_key").iter_rows():
        keys.give(alias, *([text_key] if text_key else ()), *unnamed_query(alias, place))
    return named.select("text", "split", "text_key", query_id="alias"), keys


def meanings(queries: pl.DataFrame, place: str) -> dict[str, str]:
    """Map each query id of the release to the key of the first text seen for it."""
    first = queries.unique("alias", keep="first", maintain_order=True)
    keys = text_keys(first["text"].to_list())
    return {
        alias: key or unnamed_query(alias, place)[-1]
        for alias, key in zip(first["alias"], keys, strict=True)
    }


def read_judgements(
    snapshot: ReleasedSnapshot, root: Path, notes: Notes, document: Callable[[str], str]
) -> pl.DataFrame:
    """The judgements of a snapshot, each pair once.

    Of several judgements of a pair the last one counts, as for all who read a file of judgements
    into a dictionary (pytrec_eval, ir_measures, ranx); the others are rejects.

    Args:
        snapshot: Its files.
        root: The release.
        notes: Where rejects go.
        document: The id of a document as its own files write it.

    Returns:
        Columns `query_id`, `doc_id`, `grade`.
    """
    rows = _read_all_qrels(snapshot, root, notes)
    rows = rows.with_columns(doc_alias=_mapped(rows["doc_alias"], document))
    pair = ["query_alias", "doc_alias"]
    numbered = rows.with_columns(
        later=pl.len().over(pair) - pl.int_range(pl.len()).over(pair) - 1,
        last=pl.col("grade").last().over(pair),
    )
    columns = ("grade", "last", "file", "line", *pair)
    for grade, last, file, line, *ids in (
        numbered.filter(pl.col("later") > 0).select(columns).rows()
    ):
        if grade == last:
            notes.reject("repeated_judgement", file, line, " ".join(ids))
        else:
            notes.reject("contradicting_judgement", file, line, f"{' '.join(ids)} {grade}")
    kept = numbered.filter(later=0)
    return kept.select("grade", query_id="query_alias", doc_id="doc_alias")


def _mapped(values: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """A column of texts, each changed; every text is changed once."""
    changed = {value: change(value) for value in values.unique().to_list()}
    return pl.Series([changed[value] for value in values], dtype=pl.String)


def read_nothing() -> pl.DataFrame:
    """No judgements."""
    kinds = {"query_alias": pl.String, "doc_alias": pl.String, "grade": pl.UInt8}
    return pl.DataFrame(schema={**kinds, "file": pl.String, "line": pl.UInt64})


def queries_table(kept: pl.DataFrame, english: dict[str, str], qrels: pl.DataFrame) -> pl.DataFrame:
    """Rows of `schemas.Queries`; what a release does not say is empty or 0.

    Args:
        kept: `query_id`, `text`, `split`.
        english: English text of each id of the release.
        qrels: Rows of `schemas.Qrels`.
    """
    judged = qrels.group_by("query_id").agg(judged=pl.len(), relevant=(pl.col("grade") > 0).sum())
    rows = kept.join(judged, on="query_id", how="left").with_columns(
        pl.col("judged", "relevant").fill_null(0),
        *(pl.lit(0).alias(name) for name in UNKNOWN_COUNTS),
        text_en=pl.col("query_id").replace_strict(english, default=None, return_dtype=pl.String),
        topics=pl.lit([], dtype=pl.List(pl.String)),
        variant_set=pl.lit(None, dtype=pl.String),
    )
    return rows.select(list(Queries.dtypes()))


def qrels_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `schemas.Qrels` of judgements; counts that a release does not give are 0."""
    counts = ("impressions", "examinations", "clicks", "last_clicks")
    named = rows.with_columns(*(pl.lit(0).alias(name) for name in counts), source=pl.lit("release"))
    missing = [pl.lit(None).alias(n) for n in Qrels.dtypes() if n not in named.columns]
    return named.with_columns(missing).select(list(Qrels.dtypes())).cast(Qrels.dtypes())  # type: ignore[arg-type]
