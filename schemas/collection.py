"""Tables of a published snapshot."""

from typing import ClassVar

import dataframely as dy
import polars as pl

from schemas._base import (
    DOC_ID_PATTERN,
    Contract,
    count,
    doc_id,
    probability,
    pseudo_count,
    query_id,
    variant_set,
)

GRADES = {0: "not relevant", 1: "relevant", 2: "highly relevant"}
SPLITS = ("train", "heldout", "test", "seen")


class Topics(Contract):
    """The topics of a collection, chosen once for all snapshots."""

    topic_id = dy.String(primary_key=True, regex=r"^[a-z0-9][a-z0-9_-]*$", description="Topic id")
    label = dy.String(min_length=1, description="Name of the topic, as matched in queries")
    aliases = dy.List(dy.String(min_length=1), description="Other strings that mean the topic")
    language = dy.String(regex=r"^[a-z]{2}$", description="ISO 639-1 code")
    source = dy.String(description="Where the topic comes from")


class Candidates(Contract):
    """A query of the log that passed privacy and matched a topic."""

    query = dy.UInt64(primary_key=True, description="Query key")
    text = dy.String(min_length=1, description="Most frequent surface form")
    topics = dy.List(dy.String(), min_length=1, description="Ids of the topics it matches, sorted")
    impressions = count("Times shown in the snapshot", minimum=1)
    users = count("Distinct users")
    clicks = count("Clicked results, once per impression and rank")
    variant_set = variant_set()


class Verdicts(Contract):
    """What a list of labels or a plug-in says about a query, a user or a document."""

    kind = dy.String(
        primary_key=True, regex=r"^(query|user|document)$", description="What is judged"
    )
    key = dy.UInt64(primary_key=True, description="Query key, user pseudonym or document key")
    label = dy.String(
        primary_key=True, regex=r"^[a-z0-9_]+$", description="Label such as adult, bot, off_topic"
    )
    source = dy.String(primary_key=True, min_length=1, description="List or plug-in that says so")
    version = dy.String(primary_key=True, min_length=1, description="Version of that source")
    score = dy.Float64(min=0, max=1, description="How sure it is")


class Variants(Contract):
    """Which candidate stands for which: one row a candidate."""

    query = dy.UInt64(primary_key=True, description="Query key of a candidate")
    representative = dy.UInt64(
        description="Query key under which its clicks are counted and that is published for it"
    )
    variant_set = variant_set()
    text = dy.String(min_length=1, description="Text of the candidate: an alias of its set")
    similarity = dy.Float64(
        nullable=True, min=0, max=1, description="To its set's signature; null where not compared"
    )
    origin = dy.String(
        regex=r"^(itself|signature|edit|file|earlier)$",
        description="What put it into its set: it represents it, has the same signature, a near "
        "one, a given set says so, or an earlier snapshot did",
    )


class JudgedQueries(Contract):
    """A query of a snapshot with enough judgements, before it has a side of the split."""

    query_id = query_id(primary_key=True)
    text = dy.String(min_length=1, description="Most frequent surface form")
    topics = dy.List(dy.String(), min_length=1, description="Ids of the topics it matches, sorted")
    impressions = count("Times shown in the snapshot", minimum=1)
    users = count("Distinct users")
    clicks = count("Clicked results")
    judged = count("Judged documents", minimum=1)
    relevant = count("Documents with a grade above 0")
    variant_set = variant_set()


class ShownDocuments(Contract):
    """A document that a kept query of the snapshot showed."""

    doc = dy.UInt64(primary_key=True, description="Document key")
    impressions = dy.UInt64(min=1, description="Times it was shown, once for each rank")


class Documents(Contract):
    """A document of a snapshot, as it was crawled then, in both languages."""

    doc_id = doc_id(primary_key=True)
    url = dy.String(min_length=1, description="Address as fetched")
    url_key = dy.String(min_length=1, description="Canonical URL: the identity of the document")
    fetched_at = dy.Int64(description="Unix seconds of the fetch; 0: an imported release lacks it")
    title = dy.String(description="Title in the source language")
    text = dy.String(min_length=1, description="Main text in the source language")
    title_en = dy.String(nullable=True, description="English title; null while translation is off")
    text_en = dy.String(nullable=True, description="English text; null while translation is off")
    language = dy.String(nullable=True, description="ISO 639 code found; null where too short")
    language_score = probability("Confidence of the language found")
    shown = dy.Bool(description="In a result list of a kept query")
    sampled = dy.Bool(description="In the keyed sample of the index")
    tokens = count("Tokens of title and text")
    text_hash = dy.String(regex=r"^[0-9a-f]{32}$", description="md5 of the text as stored")
    token_hash = dy.String(regex=r"^[0-9a-f]{32}$", description="md5 of the lower-cased tokens")
    truncated = dy.Bool(
        nullable=True, description="Cut at `crawl.max_text_chars`, or by who fetched the page"
    )
    duplicate_group = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="First document of those with the same text; null where it is alone",
    )
    near_duplicate_group = dy.String(
        nullable=True,
        regex=DOC_ID_PATTERN,
        description="First document of those with nearly the same text; null where it is alone",
    )
    language_hint = dy.String(nullable=True, description="Language that the page declares")
    published_at = dy.Int64(nullable=True, description="Unix seconds, as the page says")
    modified_at = dy.Int64(nullable=True, description="Unix seconds, as the page or server says")

    @dy.rule()
    def has_an_origin(cls) -> pl.Expr:  # noqa: N805
        """Every document was shown or sampled."""
        return pl.col("shown") | pl.col("sampled")


class Queries(Contract):
    """A query of a snapshot.

    Releases that were imported do not say topics, impressions, users and clicks: they are empty
    and 0 there, and nowhere else.
    """

    query_id = query_id(primary_key=True)
    text = dy.String(min_length=1, description="Most frequent surface form")
    text_en = dy.String(nullable=True, description="English text; null while translation is off")
    topics = dy.List(dy.String(), description="Ids of the topics it matches, sorted")
    split = dy.String(
        regex=rf"^({'|'.join(SPLITS)})$",
        description="train or heldout at t; later test, or seen where the query or a spelling of "
        "it was in train",
    )
    impressions = count("Times shown in the snapshot")
    users = count("Distinct users")
    clicks = count("Clicked results")
    judged = count("Judged documents")
    relevant = count("Documents with a grade above 0")
    variant_set = variant_set()


class ClickEstimates(Contract):
    """sDBN sufficient statistics of a query-document pair, and what one division makes of them."""

    query = dy.UInt64(primary_key=True, description="Query key")
    doc = dy.UInt64(primary_key=True, description="Document key")
    impressions = count("Times shown in impressions that count; 0: in none of them")
    examinations = count("Times it was shown at or above the last click")
    clicks = count("Impressions in which it was clicked")
    last_clicks = count("Impressions in which it was the deepest click")
    attractiveness = probability("Posterior mean of a; null where never examined")
    satisfaction = probability("Posterior mean of s; null where never examined")
    relevance = probability("attractiveness x satisfaction; null where never examined")
    other_examinations = count(
        "Examinations under the other rule for impressions without a click", nullable=True
    )
    attractiveness_alpha = pseudo_count("Prior of a: pseudo-clicks; the same in every row")
    attractiveness_beta = pseudo_count("Prior of a: pseudo-skips; the same in every row")
    satisfaction_alpha = pseudo_count("Prior of s: pseudo-last-clicks; the same in every row")
    satisfaction_beta = pseudo_count("Prior of s: pseudo-other-clicks; the same in every row")

    @dy.rule()
    def counts_are_nested(cls) -> pl.Expr:  # noqa: N805
        """Last clicks <= clicks <= examinations <= impressions."""
        return (
            (pl.col("last_clicks") <= pl.col("clicks"))
            & (pl.col("clicks") <= pl.col("examinations"))
            & (pl.col("examinations") <= pl.col("impressions"))
        )


class Qrels(Contract):
    """A graded judgement with the evidence behind it."""

    query_id = query_id(primary_key=True)
    doc_id = doc_id(primary_key=True)
    grade = dy.UInt8(max=max(GRADES), description="0 not, 1 relevant, 2 highly relevant")
    score = probability("The score that was cut into grades")
    attractiveness = probability("Posterior mean of a")
    satisfaction = probability("Posterior mean of s")
    impressions = count("Times shown")
    examinations = count("Times examined")
    clicks = count("Times clicked")
    last_clicks = count("Times clicked last")
    source = dy.String(
        regex=r"^(click|manual|release)$",
        description="Where the grade comes from; release: from an imported one that does not say",
    )
    score_low = probability("Lower end of the credible interval of the score")
    score_high = probability("Upper end of the credible interval of the score")
    stability = probability("Posterior probability that the score falls within the same grade")
    click_grade = dy.UInt8(nullable=True, max=max(GRADES), description="Grade by clicks alone")
    manual_grade = dy.UInt8(nullable=True, max=max(GRADES), description="Grade by people alone")


class Rejects(Contract):
    """Rows that a stage dropped. Personal data is counted, never repeated."""

    order: ClassVar[tuple[str, ...]] = ("stage", "reason", "file", "line", "key")

    stage = dy.String(description="Stage that dropped the rows")
    reason = dy.String(regex=r"^[a-z0-9_]+$", description="Rule that dropped them")
    file = dy.String(nullable=True, description="Source file, relative to the definition")
    line = dy.UInt64(nullable=True, description="1-based line or record number")
    key = dy.String(nullable=True, description="Key of the dropped row, where it may be shown")
    rows = dy.UInt64(min=1, description="Rows dropped")
