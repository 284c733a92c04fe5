"""The table that a person wants after a build: one line for each snapshot."""

from dataclasses import dataclass

from builder.collection.read import Collection
from schemas import GRADES


@dataclass(frozen=True)
class SnapshotSummary:
    """Counts of one snapshot.

    Args:
        snapshot: Its name.
        documents: Documents.
        queries: Queries.
        grades: Judgements of each grade, from 0.
        added: Documents that the snapshot before did not have; None for the first.
        removed: Documents of the snapshot before that the crawl lacks now.
        not_kept: Documents of the snapshot before that the crawl still has, and the snapshot not.
        updated: Documents whose tokens changed.
    """

    snapshot: str
    documents: int
    queries: int
    grades: tuple[int, ...]
    added: int | None = None
    removed: int | None = None
    not_kept: int | None = None
    updated: int | None = None


def summarize(collection: Collection) -> list[SnapshotSummary]:
    """One summary for each snapshot, in order of time."""
    changes = collection.table("document_changes").group_by("to_snapshot", "status").len().collect()
    counts = {(to, status): n for to, status, n in changes.iter_rows()}
    summaries = []
    for number, name in enumerate(collection.snapshots):
        tables = collection.manifest["tables"]
        grades = dict(collection.snapshot(name).qrels.group_by("grade").len().collect().iter_rows())
        steps = {
            verb: sum(counts.get((name, status), 0) for status in statuses) if number else None
            for verb, statuses in _STEPS.items()
        }
        summaries.append(
            SnapshotSummary(
                name,
                tables[f"snapshots/{name}/documents"]["rows"],
                tables[f"snapshots/{name}/queries"]["rows"],
                tuple(grades.get(grade, 0) for grade in GRADES),
                **steps,
            )
        )
    return summaries


_STEPS = {
    "added": ("added", "returned"),
    "removed": ("removed",),
    "not_kept": ("not_sampled", "not_shown", "left_out"),
    "updated": ("updated",),
}

__all__ = ["SnapshotSummary", "summarize"]
