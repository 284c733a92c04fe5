"""Tables that hold across snapshots: ids that last, and what changed between two of them."""

from typing import ClassVar

import dataframely as dy

from schemas._base import (
    DOC_ID_PATTERN,
    QUERY_ID_PATTERN,
    Contract,
    count,
    doc_id,
    query_id,
    snapshot,
)

DOCUMENT_STATUSES = (
    "added",
    "returned",
    "updated",
    "unchanged",
    "removed",
    "not_sampled",
    "not_shown",
    "left_out",
)
CHANGE_BANDS = ("cosmetic", "edited", "rewritten")
MATCHES = ("loose", "moved")
QUERY_STATUSES = ("new", "gone", "kept")


class DocumentsMap(Contract):
    """Every document of the collection and the snapshots that hold it."""

    doc_id = doc_id(primary_key=True)
    url = dy.String(min_length=1, description="Address in the last snapshot that holds it")
    url_key = dy.String(min_length=1, description="Canonical URL")
    snapshots = dy.List(dy.String(), min_length=1, description="Snapshots that hold it, in order")
    loose_id = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="Smallest doc_id among the addresses that differ from this one by scheme, www "
        "or trailing slash only; null where there is no other",
    )
    crawled = dy.List(
        dy.String(),
        nullable=True,
        description="Snapshots whose crawl has the page, whether they hold it or not, in order; "
        "null where the crawls are not known",
    )


class QueriesMap(Contract):
    """Every query of the collection and the snapshots that hold it."""

    query_id = query_id(primary_key=True)
    text = dy.String(min_length=1, description="Text in the last snapshot that holds it")
    snapshots = dy.List(dy.String(), min_length=1, description="Snapshots that hold it, in order")
    core = dy.Bool(description="In every snapshot")
    impressions = dy.List(
        dy.UInt64(), min_length=1, description="Times shown in each of these snapshots, in order"
    )
    aliases = dy.List(
        dy.String(), description="Other texts that it stands for in any snapshot, sorted"
    )


class NearLeaks(Contract):
    """A tested query that nearly is one that was trained on, for a person to judge."""

    order: ClassVar[tuple[str, ...]] = (
        "snapshot",
        "query_id",
        "trained_snapshot",
        "trained_id",
    )

    query_id = query_id(primary_key=True)
    text = dy.String(min_length=1, description="Its text")
    split = dy.String(description="Its side: heldout or test")
    trained_snapshot = snapshot(primary_key=True, description="Snapshot of the trained query")
    trained_id = dy.String(
        primary_key=True, regex=QUERY_ID_PATTERN, description="Id of the trained query"
    )
    trained_text = dy.String(min_length=1, description="Its text")
    similarity = dy.Float64(
        min=0, max=1, description="Similarity of their content words; 1: the same words"
    )
    snapshot = snapshot(primary_key=True, description="Snapshot of the tested query")


class DocumentChanges(Contract):
    """One document over one pair of consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "doc_id")

    doc_id = doc_id(primary_key=True)
    from_snapshot = snapshot(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot(primary_key=True, description="Later snapshot")
    status = dy.String(
        regex=rf"^({'|'.join(DOCUMENT_STATUSES)})$",
        description="updated: tokens of title and text differ; returned: added, but an earlier "
        "snapshot holds it; removed: the later crawl lacks the page, or is not known; the later "
        "crawl has the page, which is not_sampled, not_shown by a selected query, or left_out by a "
        "rule",
    )
    text_changed = dy.Bool(nullable=True, description="Raw text differs, before normalisation")
    dice = dy.Float64(nullable=True, min=0, max=1, description="Dice of word sets; updated only")
    shingle_jaccard = dy.Float64(
        nullable=True, min=0, max=1, description="Jaccard of the 5-shingle sets; updated only"
    )
    tokens_from = count("Tokens in the earlier snapshot", nullable=True)
    tokens_to = count("Tokens in the later snapshot", nullable=True)
    band = dy.String(
        nullable=True, regex=rf"^({'|'.join(CHANGE_BANDS)})$", description="Degree; updated only"
    )
    matched_by = dy.String(
        nullable=True,
        regex=rf"^({'|'.join(MATCHES)})$",
        description="How a removed and an added page are one: loose: addresses differ by scheme, "
        "www or trailing slash; moved: near-identical text; null where no such page is known",
    )
    matched_id = dy.String(
        nullable=True, regex=DOC_ID_PATTERN, description="doc_id of that page in the other snapshot"
    )
    crawled = dy.Bool(
        nullable=True,
        description="Whether the crawl of the snapshot that lacks the page has it; null where both "
        "hold it, and where the crawl is not known",
    )


class QueryChanges(Contract):
    """One query over one pair of consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "query_id")

    query_id = query_id(primary_key=True)
    from_snapshot = snapshot(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot(primary_key=True, description="Later snapshot")
    status = dy.String(regex=rf"^({'|'.join(QUERY_STATUSES)})$", description="new, gone or kept")
    impressions_from = count("Impressions in the earlier snapshot", nullable=True)
    impressions_to = count("Impressions in the later snapshot", nullable=True)


class QrelChanges(Contract):
    """One judged pair over one pair of consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "query_id", "doc_id")

    query_id = query_id(primary_key=True)
    doc_id = doc_id(primary_key=True)
    from_snapshot = snapshot(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot(primary_key=True, description="Later snapshot")
    grade_from = dy.UInt8(nullable=True, max=2, description="Earlier grade; null where unjudged")
    grade_to = dy.UInt8(nullable=True, max=2, description="Later grade; null where unjudged")
    examinations_from = count("Earlier evidence", nullable=True)
    examinations_to = count("Later evidence", nullable=True)
