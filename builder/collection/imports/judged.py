"""Queries and judgements of a released snapshot -> our tables.

Two ids with one folded text are one query: the first of a file stands for it, the other is a
reject, and keeps its judgements where they say nothing else of a document.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from builder.collection.imports.files import ReleasedSnapshot
from builder.collection.imports.ids import query_ids, read_query_texts, unnamed_query
from builder.collection.imports.lines import QUERY_COLUMNS, read_qrels, read_queries
from builder.collection.imports.notes import Notes
from builder.trec.released import plain_number
from schemas import Qrels, Queries

UNKNOWN_COUNTS = ("impressions", "users", "clicks")


def read_all_queries(
    snapshot: ReleasedSnapshot, root: Path, language: str, notes: Notes
) -> pl.DataFrame:
    """All queries of a snapshot in a language: `alias`, `text`, `split`, `file`, `line`."""
    frames = [
        read_queries(path, path.relative_to(root).as_posix(), split, notes)
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
    name = path.relative_to(root).as_posix()
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
    frames = [read_qrels(p, p.relative_to(root).as_posix(), notes) for p in snapshot.qrels]
    return pl.concat([read_nothing(), *frames])


def identify(queries: pl.DataFrame, place: str, notes: Notes) -> pl.DataFrame:
    """One row for each stable id; others are rejects.

    Returns:
        Columns `query_id`, `alias`, `text`, `split`; all aliases are in `aliases_of`.
    """
    named = queries.with_columns(
        query_id=pl.Series(query_ids(queries["alias"], queries["text"], place), dtype=pl.String)
    )
    first = named.unique("query_id", keep="first", maintain_order=True)
    kept = first.unique("alias", keep="first", maintain_order=True)
    others = named.join(kept, on=["file", "line"], how="anti")
    held = set(kept["alias"])
    for alias, query, file, line in others.select("alias", "query_id", "file", "line").iter_rows():
        reason = "repeated_query_id" if alias in held else "same_text_under_two_ids"
        notes.reject(reason, file, line, query)
    return kept


def aliases_of(queries: pl.DataFrame, place: str) -> dict[str, str]:
    """Stable id of each query id of the release; the first text of an id counts."""
    first = queries.unique("alias", keep="first", maintain_order=True)
    ids = query_ids(first["alias"], first["text"], place)
    return dict(zip(first["alias"], ids, strict=True))


def read_judgements(
    snapshot: ReleasedSnapshot,
    root: Path,
    queries: dict[str, str],
    known: Mapping[str, str],
    documents: Callable[[str], str],
    place: str,
    notes: Notes,
) -> pl.DataFrame:
    """The judgements of a snapshot, each pair once.

    Args:
        snapshot: Its files.
        root: The release.
        queries: Stable id of each query id; those of judged queries without text are added.
        known: Stable ids of query ids that the snapshot does not list.
        documents: Stable id of a document id.
        place: What the ids of such queries are valid in.
        notes: Where rejects go.

    Returns:
        Columns `query_id`, `doc_id`, `doc_alias`, `grade`.
    """
    rows = _read_all_qrels(snapshot, root, notes)
    rows = rows.with_columns(doc_alias=_mapped(rows["doc_alias"], plain_number))
    for alias in rows["query_alias"].unique().sort():
        queries.setdefault(alias, known.get(alias) or unnamed_query(alias, place))
    rows = rows.with_columns(
        query_id=_mapped(rows["query_alias"], queries.__getitem__),
        doc_id=_mapped(rows["doc_alias"], documents),
    )
    reasons = ("repeated_judgement", "contradicting_judgement")
    kept = _first(rows, ["query_alias", "doc_alias"], reasons, notes)
    reasons = ("judged_under_two_ids", "contradicting_under_two_ids")
    return _first(kept, ["query_id", "doc_id"], reasons, notes)


def _mapped(values: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """A column of texts, each changed; every text is changed once."""
    changed = {value: change(value) for value in values.unique().to_list()}
    return pl.Series([changed[value] for value in values], dtype=pl.String)


def read_nothing() -> pl.DataFrame:
    """No judgements."""
    kinds = {"query_alias": pl.String, "doc_alias": pl.String, "grade": pl.UInt8}
    return pl.DataFrame(schema={**kinds, "file": pl.String, "line": pl.UInt64})


def _first(
    rows: pl.DataFrame, key: list[str], reasons: tuple[str, str], notes: Notes
) -> pl.DataFrame:
    """The first row of each key; others are rejects: with the same grade, and with another one."""
    numbered = rows.with_columns(
        place=pl.int_range(pl.len()).over(key), first_grade=pl.col("grade").first().over(key)
    )
    others = numbered.filter(pl.col("place") > 0)
    columns = ("grade", "first_grade", "file", "line", *key)
    for grade, first, file, line, one, other in others.select(columns).iter_rows():
        notes.reject(reasons[grade != first], file, line, f"{one} {other}")
    return numbered.filter(pl.col("place") == 0).drop("place", "first_grade")


def queries_table(kept: pl.DataFrame, english: dict[str, str], qrels: pl.DataFrame) -> pl.DataFrame:
    """Rows of `schemas.Queries`; what a release does not say is empty or 0.

    Args:
        kept: `query_id`, `alias`, `text`, `split`.
        english: English text of each id of the release.
        qrels: Rows of `schemas.Qrels`.
    """
    judged = qrels.group_by("query_id").agg(judged=pl.len(), relevant=(pl.col("grade") > 0).sum())
    rows = kept.join(judged, on="query_id", how="left").with_columns(
        pl.col("judged", "relevant").fill_null(0),
        *(pl.lit(0).alias(name) for name in UNKNOWN_COUNTS),
        text_en=pl.col("alias").replace_strict(english, default=None, return_dtype=pl.String),
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
