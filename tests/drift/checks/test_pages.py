"""Checks of the rules by which pages were collected."""

from typing import Any

from builder.drift.checks import (
    pages,
)
from builder.drift.checks.outcome import Outcome
from builder.drift.checks.parameters import store_recorded_parameters
from tests.drift.checks.rows import change
from tests.drift.worlds import Rows, holding, page


def crawl(count: int, **values: Any) -> Rows:
    """Pages of ten hosts."""
    return [
        page(f"https://site{n % 10}.fr/{n}", f"Page {n}", f"texte {n}", **values)
        for n in range(count)
    ]


def test_repeated_texts() -> None:
    repeated = crawl(150)
    for n in range(40):
        repeated.append(page(f"https://site{n % 10}.fr/x{n}", "Titre", "page en travaux"))
    outcome = pages.check_repeated_texts(holding(crawl(150), repeated))
    assert outcome.is_construction is True
    assert "the most frequent text occurs 1 and 40 times" in outcome.evidence
    assert pages.check_repeated_texts(holding(crawl(150), crawl(150))).is_construction is False
    blind = pages.check_repeated_texts(holding(repeated, repeated))
    assert (blind.is_construction, blind.detectable[:20]) == (None, "only a difference of")
    assert pages.check_repeated_texts(holding(crawl(5), repeated)).is_construction is None


def test_one_edit_on_many_pages() -> None:
    footer = [change(n, tokens_from=50 + n, tokens_to=57 + n) for n in range(60)]
    others = [change(100 + n, status="unchanged", band=None) for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], footer + others))
    assert outcome.is_construction is True
    assert "60 of 120 common pages changed in length by exactly +7 words" in outcome.evidence
    shorter = [change(n, tokens_from=50 + n, tokens_to=49 + n) for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], shorter + others))
    assert "by exactly -1 word:" in outcome.evidence
    menu = [change(n, tokens_from=50 + n, tokens_to=60 + n, band="edited") for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], menu + others))
    assert outcome.evidence == (
        "60 of 120 common pages changed in length by exactly +10 words: text extraction "
        "changed, not the pages"
    )
    sentence = [change(n, tokens_from=50 + n, tokens_to=59 + n, band="edited") for n in range(60)]
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], sentence + others)).is_construction
        is False
    )
    varied = [change(n, tokens_from=50, tokens_to=51 + n) for n in range(60)]
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], varied + others)).is_construction is False
    )
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], others + others)).is_construction is False
    )
    assert pages.check_uniform_edits(holding(crawl(160), [], footer[:5])).is_construction is None


def test_the_keyed_sample() -> None:
    moved = [row | {"sampled": n % 2 == 0} for n, row in enumerate(crawl(10))]
    outcome = pages.check_sample_membership(holding(crawl(10), moved))
    assert (outcome.is_construction, outcome.numbers) == (
        True,
        {"common": 10, "changed": 5, "outside": 5},
    )
    assert pages.check_sample_membership(holding(moved, moved)).is_construction is False
    assert pages.check_sample_membership(holding([], moved)).is_construction is None


def test_a_release_records_no_sample() -> None:
    """Its documents all count as sampled: it was clear that none entered or left the sample."""
    connection = holding(crawl(10), crawl(10))
    assert pages.check_sample_membership(connection) == Outcome(
        None, "all documents are marked as sampled, so the snapshots may not record a sample"
    )
    for side in ("from", "to"):
        store_recorded_parameters(connection, side, {"documents.sample_share": 1.0})
    assert pages.check_sample_membership(connection).is_construction is False
