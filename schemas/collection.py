"""Schemas of the tables of a snapshot: topics, queries, documents, qrels and rejects."""

from typing import ClassVar

import dataframely as dy
import polars as pl

from schemas._base import (
    DOC_ID_PATTERN,
    TableSchema,
    count_column,
    doc_id_column,
    language_hint_column,
    modified_at_column,
    probability_column,
    pseudo_count_column,
    published_at_column,
    query_id_column,
    variant_set_column,
)

GRADES = {0: "not relevant", 1: "relevant", 2: "highly relevant"}
SPLITS = ("train", "heldout", "test", "seen")


class Topics(TableSchema):
    """Topics of the collection, common to all snapshots."""

    topic_id = dy.String(primary_key=True, regex=r"^[a-z0-9][a-z0-9_-]*$", description="Topic id")
    label = dy.String(min_length=1, description="Name of the topic, matched against queries")
    aliases = dy.List(
        dy.String(min_length=1), description="Alternative names, also matched against queries"
    )
    language = dy.String(regex=r"^[a-z]{2}$", description="ISO 639-1 code of the language")
    source = dy.String(description="Origin of the topic, such as the name of a list")


class Candidates(TableSchema):
    """Queries of the log that passed all selection rules: one row per query."""

    query = dy.UInt64(primary_key=True, description="Query key")
    text = dy.String(min_length=1, description="Query text, in its most frequent spelling")
    topics = dy.List(dy.String(), min_length=1, description="Ids of the matching topics, sorted")
    impressions = count_column("Number of impressions in the snapshot", minimum=1)
    users = count_column("Number of distinct users")
    clicks = count_column("Number of clicked results, counted once per impression and rank")
    variant_set = variant_set_column()


class Verdicts(TableSchema):
    """Labels of queries, users and documents, from files or plug-ins."""

    kind = dy.String(
        primary_key=True,
        regex=r"^(query|user|document)$",
        description="Type of the labeled object: query, user or document",
    )
    key = dy.UInt64(primary_key=True, description="Query key, user pseudonym or document key")
    label = dy.String(
        primary_key=True,
        regex=r"^[a-z0-9_]+$",
        description="Label, such as adult, bot or off_topic",
    )
    source = dy.String(
        primary_key=True, min_length=1, description="File or plug-in that assigned the label"
    )
    version = dy.String(primary_key=True, min_length=1, description="Version of the source")
    score = dy.Float64(min=0, max=1, description="Confidence in the label")


class Variants(TableSchema):
    """Assignment of candidate queries to sets of variants: one row per candidate."""

    query = dy.UInt64(primary_key=True, description="Query key of a candidate")
    representative = dy.UInt64(
        description="Query key of the representative, the query that is published for the whole set"
    )
    variant_set = variant_set_column()
    text = dy.String(min_length=1, description="Text of the candidate")
    similarity = dy.Float64(
        nullable=True,
        min=0,
        max=1,
        description="Similarity of the content words of the candidate to the content words of the "
        "variant set; null if not compared",
    )
    origin = dy.String(
        regex=r"^(itself|signature|edit|file|earlier)$",
        description="Why the candidate is in the set. itself: it is the representative; "
        "signature: same content words; edit: one word spelled differently; file: listed in a "
        "file; earlier: assigned in an earlier snapshot",
    )


class JudgedQueries(TableSchema):
    """Queries of a snapshot with enough judged documents, before splits are assigned."""

    query_id = query_id_column(primary_key=True)
    text = dy.String(min_length=1, description="Query text, in its most frequent spelling")
    topics = dy.List(dy.String(), min_length=1, description="Ids of the matching topics, sorted")
    impressions = count_column("Number of impressions in the snapshot", minimum=1)
    users = count_column("Number of distinct users")
    clicks = count_column("Number of clicked results")
    judged = count_column("Number of judged documents", minimum=1)
    relevant = count_column("Number of documents with a grade above 0")
    variant_set = variant_set_column()


class ShownDocuments(TableSchema):
    """Documents shown for candidate queries, with their numbers of impressions."""

    doc = dy.UInt64(primary_key=True, description="Document key")
    impressions = dy.UInt64(
        min=1, description="Number of times the document was shown, at any rank"
    )


class Documents(TableSchema):
    """Documents of a snapshot, in the source language and in English."""

    doc_id = doc_id_column(primary_key=True)
    url = dy.String(min_length=1, description="URL as fetched")
    url_key = dy.String(min_length=1, description="Canonical URL, which identifies the document")
    fetched_at = dy.Int64(
        description="Time of the fetch in Unix seconds; 0 if an imported release has no times"
    )
    title = dy.String(description="Title in the source language")
    text = dy.String(min_length=1, description="Main text in the source language")
    title_en = dy.String(
        nullable=True, description="Title in English; null if translation is disabled"
    )
    text_en = dy.String(
        nullable=True, description="Main text in English; null if translation is disabled"
    )
    language = dy.String(
        nullable=True,
        description="ISO 639 code of the detected language; null if the text is too short to tell",
    )
    language_score = probability_column("Confidence of the language detection")
    shown = dy.Bool(description="Whether the document is in the results of a candidate query")
    sampled = dy.Bool(description="Whether the document is in the random sample of the crawl")
    tokens = count_column("Number of tokens in title and text")
    text_hash = dy.String(regex=r"^[0-9a-f]{32}$", description="MD5 of the stored text")
    token_hash = dy.String(regex=r"^[0-9a-f]{32}$", description="MD5 of the lowercased tokens")
    truncated = dy.Bool(
        nullable=True,
        description="Whether the text was cut, at `crawl.max_text_chars` or by the crawler",
    )
    duplicate_group = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="doc_id of the first document with the same text; null if the text is unique",
    )
    near_duplicate_group = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="doc_id of the first document in the group of near duplicates; null if the "
        "document has no near duplicates",
    )
    language_hint = language_hint_column()
    published_at = published_at_column()
    modified_at = modified_at_column()

    @dy.rule()
    def has_an_origin(cls) -> pl.Expr:  # noqa: N805
        """Each document was shown to users, sampled, or both."""
        return pl.col("shown") | pl.col("sampled")


class Queries(TableSchema):
    """Queries of a snapshot.

    Imported releases contain no topics or counts: `topics` is empty, and `impressions`, `users`
    and `clicks` are 0.
    """

    query_id = query_id_column(primary_key=True)
    text = dy.String(min_length=1, description="Query text, in its most frequent spelling")
    text_en = dy.String(
        nullable=True, description="Text in English; null if translation is disabled"
    )
    topics = dy.List(dy.String(), description="Ids of the matching topics, sorted")
    split = dy.String(
        regex=rf"^({'|'.join(SPLITS)})$",
        description="train or heldout in training snapshots; in later snapshots, seen if the query "
        "or a variant of it is in train, otherwise test",
    )
    impressions = count_column("Number of impressions in the snapshot")
    users = count_column("Number of distinct users")
    clicks = count_column("Number of clicked results")
    judged = count_column("Number of judged documents")
    relevant = count_column("Number of documents with a grade above 0")
    variant_set = variant_set_column()


class ClickEstimates(TableSchema):
    """Click counts of each query-document pair, and the estimates of the click model."""

    query = dy.UInt64(primary_key=True, description="Query key")
    doc = dy.UInt64(primary_key=True, description="Document key")
    impressions = count_column(
        "Number of impressions with the document, counted according to `clicks.no_click`"
    )
    examinations = count_column(
        "Number of impressions with the document ranked at or above the last click"
    )
    clicks = count_column("Number of impressions with a click on the document")
    last_clicks = count_column("Number of impressions with the last click on the document")
    attractiveness = probability_column("Posterior mean of attractiveness; null if never examined")
    satisfaction = probability_column("Posterior mean of satisfaction; null if never examined")
    relevance = probability_column("attractiveness * satisfaction; null if never examined")
    other_examinations = count_column(
        "Number of examinations under the other value of `clicks.no_click`", nullable=True
    )
    attractiveness_alpha = pseudo_count_column(
        "Attractiveness prior: pseudo-count of clicks; the same in all rows"
    )
    attractiveness_beta = pseudo_count_column(
        "Attractiveness prior: pseudo-count of skips; the same in all rows"
    )
    satisfaction_alpha = pseudo_count_column(
        "Satisfaction prior: pseudo-count of last clicks; the same in all rows"
    )
    satisfaction_beta = pseudo_count_column(
        "Satisfaction prior: pseudo-count of clicks that are not last; the same in all rows"
    )

    @dy.rule()
    def counts_are_ordered(cls) -> pl.Expr:  # noqa: N805
        """last_clicks <= clicks <= examinations <= impressions."""
        return (
            (pl.col("last_clicks") <= pl.col("clicks"))
            & (pl.col("clicks") <= pl.col("examinations"))
            & (pl.col("examinations") <= pl.col("impressions"))
        )


class Qrels(TableSchema):
    """Relevance grades and click counts of query-document pairs."""

    query_id = query_id_column(primary_key=True)
    doc_id = doc_id_column(primary_key=True)
    grade = dy.UInt8(max=max(GRADES), description="0 not relevant, 1 relevant, 2 highly relevant")
    score = probability_column("Score from which the click grade was derived")
    attractiveness = probability_column("Posterior mean of attractiveness")
    satisfaction = probability_column("Posterior mean of satisfaction")
    impressions = count_column("Number of impressions with the document")
    examinations = count_column("Number of impressions in which the document was examined")
    clicks = count_column("Number of impressions with a click on the document")
    last_clicks = count_column("Number of impressions with the last click on the document")
    source = dy.String(
        regex=r"^(click|manual|release)$",
        description="Origin of the grade. click: derived from clicks; manual: assigned by "
        "assessors; release: taken from an imported release, which does not state the origin",
    )
    score_low = probability_column("Lower bound of the credible interval of the score")
    score_high = probability_column("Upper bound of the credible interval of the score")
    stability = probability_column(
        "Posterior probability that the true score lies within the score range of `click_grade`"
    )
    click_grade = dy.UInt8(
        nullable=True, max=max(GRADES), description="Grade derived from clicks; null if none"
    )
    manual_grade = dy.UInt8(
        nullable=True, max=max(GRADES), description="Grade assigned by assessors; null if none"
    )


class Rejects(TableSchema):
    """Rows that a stage dropped, with the reason; rows with personal data are only counted."""

    order: ClassVar[tuple[str, ...]] = ("stage", "reason", "file", "line", "key")

    stage = dy.String(description="Stage that dropped the rows")
    reason = dy.String(
        regex=r"^[a-z0-9_]+$", description="Reason the rows were dropped, such as a rule name"
    )
    file = dy.String(
        nullable=True, description="Input file, relative to the definition; null if not applicable"
    )
    line = dy.UInt64(
        nullable=True, description="Line or record number, from 1; null if not applicable"
    )
    key = dy.String(
        nullable=True,
        description="Key of the dropped row, such as a query id; null if there is no single key or "
        "it must not be disclosed",
    )
    rows = dy.UInt64(min=1, description="Number of dropped rows")
