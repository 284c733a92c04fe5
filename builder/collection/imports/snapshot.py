"""The files of a released snapshot -> its tables, and the account of its records."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.collection.imports.documents import ReleasedPages
from builder.collection.imports.files import ReleasedSnapshot
from builder.collection.imports.found import LAYOUTS
from builder.collection.imports.ids import Keys, id_frame, unnamed_query
from builder.collection.imports.judged import (
    identify,
    judged_aliases,
    meanings,
    qrels_table,
    queries_table,
    read_all_queries,
    read_judgements,
)
from builder.collection.imports.notes import Notes
from builder.collection.imports.origin import Release
from builder.io.tables import write_frame
from builder.runtime.ledger import Ledger
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH, FRENCH
from schemas import RELEASED, ReleaseIds

OTHER = {FRENCH: ENGLISH, ENGLISH: FRENCH}


@dataclass(frozen=True)
class NamedQueries:
    """The queries of a snapshot.

    Args:
        kept: `query_id`, `text`, `split`, `text_key`; each id once.
        keys: Key of each id.
        meanings: Key of the text of each id, see `judged.meanings`.
        translations: English text of each id.
        notes: What was left out, what was irregular.
    """

    kept: pl.DataFrame
    keys: Keys
    meanings: dict[str, str]
    translations: dict[str, str]
    notes: Notes


def name_queries(
    release: Release, snapshot: ReleasedSnapshot, common: pl.DataFrame
) -> NamedQueries:
    """Read the queries of a snapshot, and give them keys.

    Args:
        release: What it is a part of.
        snapshot: Its files.
        common: Queries that the release has for all snapshots together, see `read_common_texts`;
            without a file of its own, a snapshot has those of them that it judges.
    """
    notes, place = Notes(), release.place_of(snapshot.name)
    found = read_all_queries(snapshot, release.root, release.source, notes)
    if not snapshot.queries:
        judged = judged_aliases(snapshot, release.root)
        found = common.filter(pl.col("alias").is_in(judged.implode()))
        notes.offered += found.height
    others = read_all_queries(snapshot, release.root, OTHER[release.source], notes)
    named = found if found.height else others
    translated = others.unique("alias", keep="first") if found.height else others.clear()
    texts = dict(translated.select("alias", "text").rows())
    kept, keys = identify(named, place, notes)
    return NamedQueries(kept, keys, meanings(named, place), texts, notes)


def ids_of_all(
    release: Release, named: Iterable[NamedQueries], common: pl.DataFrame
) -> dict[str, str] | None:
    """The key of each query id that means one query in every snapshot that lists it.

    A judged query that its own snapshot does not list is thus known by what others say of its id.

    Returns:
        None where ids are another's in another snapshot: where the layout promises nothing, or most
        of those that several snapshots list mean several queries.
    """
    if not LAYOUTS[release.layout].has_stable_ids:
        return None
    meant: dict[str, Counter[str]] = defaultdict(Counter)
    everywhere = meanings(common, release.layout)
    for queries in named:
        for alias, query in {**everywhere, **queries.meanings}.items():
            meant[alias][query] += 1
    repeated = [found for found in meant.values() if found.total() > 1]
    if 2 * sum(len(found) > 1 for found in repeated) > len(repeated):
        return None
    return {alias: next(iter(found)) for alias, found in meant.items() if len(found) == 1}


def write_snapshot(
    release: Release,
    snapshot: ReleasedSnapshot,
    named: NamedQueries,
    known: dict[str, str] | None,
    folder: Path,
    limits: Limits,
    progress: Progress,
) -> tuple[Ledger, dict[str, int]]:
    """Write the tables of a snapshot.

    Args:
        release: What it is a part of.
        snapshot: Its files.
        named: Its queries.
        known: Keys of query ids anywhere in the release, see `ids_of_all`.
        folder: Where they go.
        limits: Memory and scratch space.
        progress: Counts documents.

    Returns:
        The account of its records, and the rows of its main tables.
    """
    released = ReleasedPages(snapshot, release, named.notes)
    qrels = qrels_table(
        read_judgements(snapshot, release.root, named.notes, release.document_alias)
    )
    place = release.place_of(snapshot.name, is_stable=known is not None)
    for alias in qrels["query_id"].unique().sort():
        meant = (known or {}).get(alias)
        named.keys.give(alias, *([meant] if meant else ()), *unnamed_query(alias, place))
    queries = queries_table(named.kept, named.translations, qrels)
    write_frame(qrels, folder / "qrels.parquet", RELEASED["qrels"])
    write_frame(queries, folder / "queries.parquet", RELEASED["queries"])
    pages = released.write(
        folder, qrels["doc_id"], limits.with_scratch_folder(snapshot.name), progress
    )
    texts = dict(named.kept.select("query_id", "text_key").rows())
    ids = pl.concat(
        [
            id_frame("query", named.keys.known, texts),
            id_frame("document", released.keys.known),
        ]
    )
    write_frame(ids, folder / "release_ids.parquet", ReleaseIds)
    rows = {"queries": queries.height, "qrels": qrels.height, "documents": pages}
    return named.notes.write(folder), rows
