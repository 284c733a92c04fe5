"""Checks that the pages in both snapshots were edited independently of each other.

If page owners edit their pages independently, some texts stay the same, some become longer and
others shorter, and no text moves to another page. Any other pattern suggests that the texts were
extracted with different rules or assigned to the wrong pages. If no text changed at all, one crawl
may have been used twice.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)

MIN_COMMON_PAGES = 100
"""Minimum number of pages in both snapshots for a comparison."""

MIN_UNCHANGED_SHARE = 0.02
"""Minimum share of common pages with the same text if texts are extracted by the same rule."""

MAX_SAME_DIRECTION_SHARE = 0.5
"""Maximum share of common pages that become shorter (or longer) if edits are independent."""

MIN_ONE_SIDED_SHARE, MIN_SAME_DIRECTION = 0.25, 0.9
"""If the length of at least the first share of common pages changed, and at least the second share
of these became shorter (or longer), the edits are probably not independent."""

MIN_REFORMATTED_SHARE = 0.25
"""Minimum share of common pages that changed only in white space, case or punctuation to suspect
that texts were extracted by other rules."""

MIN_SWAPPED_PAGES, MIN_SWAPPED_SHARE = 20, 0.05
"""Minimum number and share of common pages with the earlier text of another page that indicate that
texts were assigned to other pages."""

UNCHANGED_TEXTS = """
SELECT
    count(*) AS common,
    count(*) FILTER (NOT text_changed) AS unchanged,
    count(*) FILTER (tokens_to < tokens_from) AS shorter,
    count(*) FILTER (tokens_to > tokens_from) AS longer,
    count(*) FILTER (text_changed AND status = 'unchanged') AS reformatted
FROM document_changes WHERE status IN ('updated', 'unchanged')
"""

SWAPPED_TEXTS = """
WITH
owners AS (
    SELECT text_hash, any_value(doc_id) AS owner FROM documents_from
    GROUP BY text_hash HAVING count(*) = 1
),
edited AS (SELECT doc_id FROM document_changes WHERE status = 'updated' AND text_changed)
SELECT count(*) AS swapped
FROM documents_to SEMI JOIN edited USING (doc_id) JOIN owners USING (text_hash)
WHERE doc_id <> owner
"""
"""SQL query that counts edited pages whose new text was the text of exactly one other page."""


def check_unchanged_texts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check that some texts are unchanged, and that edits do not all have the same effect."""
    numbers = fetch_single_row(connection, UNCHANGED_TEXTS)
    if numbers["common"] < MIN_COMMON_PAGES:
        return undecided_outcome(f"fewer than {MIN_COMMON_PAGES} documents are in both snapshots")
    says = f"{numbers['unchanged']:,} of {numbers['common']:,} common pages have the same text"
    numbers |= fetch_single_row(connection, SWAPPED_TEXTS)
    if reason := _describe_prevalent_change(**numbers):
        return Outcome(None, f"{says}, {reason}", numbers)
    if numbers["unchanged"] == numbers["common"]:
        reason = "either no page was edited, or the same crawl was used for both snapshots"
        return Outcome(None, f"{says}: {reason}", numbers)
    if numbers["unchanged"] >= MIN_UNCHANGED_SHARE * numbers["common"]:
        sees = f"edits of more than {format_share(1 - MIN_UNCHANGED_SHARE)} of the common pages"
        return Outcome(False, says, numbers, sees)
    reason = "either texts are extracted differently, or nearly all pages were edited"
    return Outcome(None, f"{says}: {reason}", numbers)


def _describe_prevalent_change(
    *, common: int, shorter: int, longer: int, reformatted: int, swapped: int, **_: int
) -> str:
    """Describe a change that suspiciously many pages share; empty if there is none."""
    most, lengths = max(shorter, longer), shorter + longer
    if most > MAX_SAME_DIRECTION_SHARE * common or (
        lengths >= MIN_ONE_SIDED_SHARE * common and most >= MIN_SAME_DIRECTION * lengths
    ):
        return (
            f"{shorter:,} became shorter and {longer:,} longer (length includes the title): either "
            "the extraction of texts or titles changed, or many pages were edited in the same way"
        )
    if reformatted >= MIN_REFORMATTED_SHARE * common:
        return (
            f"{reformatted:,} changed only in white space, case or punctuation: either texts are "
            "extracted differently, or many pages were reformatted"
        )
    if swapped >= max(MIN_SWAPPED_PAGES, MIN_SWAPPED_SHARE * common):
        return (
            f"{swapped:,} have the earlier text of another page: either texts were assigned to "
            "other pages, or pages exchanged their URLs"
        )
    return ""


CHECKS = (Check("some_texts_stay", "Do some pages keep their text?", check_unchanged_texts),)
