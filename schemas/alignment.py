"""Schemas of tables that span snapshots: id maps, and changes between consecutive snapshots."""

from typing import ClassVar

import dataframely as dy

from schemas._base import (
    DOC_ID_PATTERN,
    QUERY_ID_PATTERN,
    TableSchema,
    count_column,
    doc_id_column,
    query_id_column,
    snapshot_column,
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


class DocumentsMap(TableSchema):
    """All documents of the collection, with the snapshots that contain them."""

    doc_id = doc_id_column(primary_key=True)
    url = dy.String(min_length=1, description="URL in the last snapshot that contains the document")
    url_key = dy.String(min_length=1, description="Canonical URL")
    snapshots = dy.List(
        dy.String(),
        min_length=1,
        description="Snapshots that contain the document, in chronological order",
    )
    loose_id = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="Smallest doc_id of the documents whose URLs differ only in scheme, www or "
        "trailing slash; null if there is only one such document",
    )
    crawled = dy.List(
        dy.String(),
        nullable=True,
        description="Snapshots whose crawl contains the page, even if they do not contain the "
        "document, in chronological order; null if the crawls are unknown",
    )


class QueriesMap(TableSchema):
    """All queries of the collection, with the snapshots that contain them."""

    query_id = query_id_column(primary_key=True)
    text = dy.String(min_length=1, description="Text in the last snapshot that contains the query")
    snapshots = dy.List(
        dy.String(),
        min_length=1,
        description="Snapshots that contain the query, in chronological order",
    )
    core = dy.Bool(description="Whether all snapshots contain the query")
    impressions = dy.List(
        dy.UInt64(),
        min_length=1,
        description="Number of impressions in each snapshot of the column `snapshots`",
    )
    aliases = dy.List(
        dy.String(),
        description="Texts of the variants that this query represents in any snapshot, sorted",
    )


class NearLeaks(TableSchema):
    """Held-out and test queries spelled almost like a training query, for manual review."""

    order: ClassVar[tuple[str, ...]] = (
        "snapshot",
        "query_id",
        "trained_snapshot",
        "trained_id",
    )

    query_id = query_id_column(primary_key=True)
    text = dy.String(min_length=1, description="Text of the held-out or test query")
    split = dy.String(description="Split of the query: heldout or test")
    trained_snapshot = snapshot_column(
        primary_key=True, description="Snapshot of the training query"
    )
    trained_id = dy.String(
        primary_key=True, regex=QUERY_ID_PATTERN, description="Id of the training query"
    )
    trained_text = dy.String(min_length=1, description="Text of the training query")
    similarity = dy.Float64(
        min=0,
        max=1,
        description="Similarity of the content words of both queries; 1 if they are identical",
    )
    snapshot = snapshot_column(
        primary_key=True, description="Snapshot of the held-out or test query"
    )


class DocumentChanges(TableSchema):
    """How each document changed between consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "doc_id")

    doc_id = doc_id_column(primary_key=True)
    from_snapshot = snapshot_column(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot_column(primary_key=True, description="Later snapshot")
    status = dy.String(
        regex=rf"^({'|'.join(DOCUMENT_STATUSES)})$",
        description="updated: the words of title or text differ; returned: not in the earlier "
        "snapshot, but in the later one and in a snapshot before the pair; removed: missing from "
        "the later crawl, or the later crawl is unknown. Three values say why a page of the later "
        "crawl is not in the later snapshot. not_sampled: not in the sample; not_shown: not shown "
        "for a selected query; left_out: excluded by a rule",
    )
    text_changed = dy.Bool(
        nullable=True, description="Whether the raw texts differ, before normalization"
    )
    dice = dy.Float64(
        nullable=True,
        min=0,
        max=1,
        description="Dice coefficient of the word sets of both versions; null unless `status` is "
        "`updated`",
    )
    shingle_jaccard = dy.Float64(
        nullable=True,
        min=0,
        max=1,
        description="Jaccard coefficient of the shingle sets of both versions; null unless "
        "`status` is `updated`",
    )
    tokens_from = count_column("Number of tokens in the earlier snapshot", nullable=True)
    tokens_to = count_column("Number of tokens in the later snapshot", nullable=True)
    band = dy.String(
        nullable=True,
        regex=rf"^({'|'.join(CHANGE_BANDS)})$",
        description="Degree of the change; null unless `status` is `updated`",
    )
    matched_by = dy.String(
        nullable=True,
        regex=rf"^({'|'.join(MATCHES)})$",
        description="How a removed and an added document were recognized as the same page. loose: "
        "the URLs differ only in scheme, www or trailing slash; moved: the texts are nearly "
        "identical; null if unmatched",
    )
    matched_id = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="doc_id of the matched document in the other snapshot",
    )
    crawled = dy.Bool(
        nullable=True,
        description="Whether the page is in the crawl of the snapshot that lacks the document; "
        "null if that crawl is unknown, or if both snapshots contain the document",
    )


class QueryChanges(TableSchema):
    """How the impressions of each query changed between consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "query_id")

    query_id = query_id_column(primary_key=True)
    from_snapshot = snapshot_column(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot_column(primary_key=True, description="Later snapshot")
    status = dy.String(
        regex=rf"^({'|'.join(QUERY_STATUSES)})$",
        description="new: only in the later snapshot; gone: only in the earlier one; kept: in both",
    )
    impressions_from = count_column("Number of impressions in the earlier snapshot", nullable=True)
    impressions_to = count_column("Number of impressions in the later snapshot", nullable=True)


class QrelChanges(TableSchema):
    """How the grade of each query-document pair changed between consecutive snapshots."""

    order: ClassVar[tuple[str, ...]] = ("from_snapshot", "to_snapshot", "query_id", "doc_id")

    query_id = query_id_column(primary_key=True)
    doc_id = doc_id_column(primary_key=True)
    from_snapshot = snapshot_column(primary_key=True, description="Earlier snapshot")
    to_snapshot = snapshot_column(primary_key=True, description="Later snapshot")
    grade_from = dy.UInt8(
        nullable=True, max=2, description="Grade in the earlier snapshot; null if unjudged"
    )
    grade_to = dy.UInt8(
        nullable=True, max=2, description="Grade in the later snapshot; null if unjudged"
    )
    examinations_from = count_column(
        "Number of examinations in the earlier snapshot", nullable=True
    )
    examinations_to = count_column("Number of examinations in the later snapshot", nullable=True)
