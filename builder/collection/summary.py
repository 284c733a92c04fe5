"""Computes the snapshot sizes and changes in the table that is printed after a build."""

from dataclasses import dataclass

from builder.collection.read import Collection
from schemas import GRADES


@dataclass(frozen=True)
class SnapshotSummary:
    """Sizes of a snapshot, and document changes since the previous snapshot.

    The last four fields are None for the first snapshot.

    Args:
        snapshot: Name of the snapshot.
        documents: Number of documents.
        queries: Number of queries.
        grades: Number of judgements with each grade, starting with grade 0.
        added: Number of documents that are not in the previous snapshot.
        removed: Number of documents of the previous snapshot that are no longer in the crawl.
        not_kept: Number of documents of the previous snapshot that are still in the crawl, but not
            in this snapshot.
        updated: Number of documents whose tokens (lowercased words) changed.
    """

    snapshot: str
    documents: int
    queries: int
    grades: tuple[int, ...]
    added: int | None = None
    removed: int | None = None
    not_kept: int | None = None
    updated: int | None = None


def summarize_snapshots(collection: Collection) -> list[SnapshotSummary]:
    """Return the sizes and changes of each snapshot of a collection, in chronological order."""
    changes = collection.table("document_changes").group_by("to_snapshot", "status").len().collect()
    counts = {(to, status): n for to, status, n in changes.iter_rows()}
    summaries = []
    for number, name in enumerate(collection.snapshots):
        tables = collection.manifest["tables"]
        grades = dict(collection.snapshot(name).qrels.group_by("grade").len().collect().iter_rows())
        changes_by_kind = {
            kind: sum(counts.get((name, status), 0) for status in statuses) if number else None
            for kind, statuses in _CHANGE_STATUSES.items()
        }
        summaries.append(
            SnapshotSummary(
                name,
                tables[f"snapshots/{name}/documents"]["rows"],
                tables[f"snapshots/{name}/queries"]["rows"],
                tuple(grades.get(grade, 0) for grade in GRADES),
                **changes_by_kind,
            )
        )
    return summaries


_CHANGE_STATUSES = {
    "added": ("added", "returned"),
    "removed": ("removed",),
    "not_kept": ("not_sampled", "not_shown", "left_out"),
    "updated": ("updated",),
}

__all__ = ["SnapshotSummary", "summarize_snapshots"]
