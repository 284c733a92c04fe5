"""Checks of the rules by which pages were collected."""

from typing import Any

import pytest

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
        text = "page en travaux" if n < 30 else "bientôt"
        repeated.append(page(f"https://site{n % 10}.fr/x{n}", "Titre", text))
    outcome = pages.check_repeated_texts(holding(crawl(150), repeated))
    assert outcome == Outcome(
        True,
        "0.0 % of documents before and 21.1 % after have the same text as another one; the most "
        "frequent text occurs 1 and 30 times: boilerplate or duplicates are handled differently",
        {
            "from": {"documents": 150, "repeated": 0, "most": 1},
            "to": {"documents": 190, "repeated": 40, "most": 30},
        },
    )
    assert pages.check_repeated_texts(holding(crawl(150), crawl(150))).is_construction is False
    few = Outcome(None, "fewer than 100 documents")
    for pair in ((crawl(99), repeated), (repeated, crawl(99)), ([], repeated)):
        assert pages.check_repeated_texts(holding(*pair)) == few
    assert pages.check_repeated_texts(holding(crawl(100), repeated)).is_construction is True
    blind = pages.check_repeated_texts(holding(repeated, repeated))
    assert (blind.is_construction, blind.detectable[:20]) == (None, "only a difference of")
    assert pages.check_repeated_texts(holding(crawl(5), repeated)).is_construction is None


def test_one_edit_on_many_pages() -> None:
    footer = [change(n, tokens_from=50 + n, tokens_to=57 + n) for n in range(60)]
    others = [change(100 + n, status="unchanged", band=None) for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], footer + others))
    assert outcome == Outcome(
        True,
        "60 of 120 common pages changed in length by exactly +7 words: text extraction changed, "
        "not the pages",
        {"common": 120, "delta": 7, "pages": 60},
    )
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
    sees = "the same change in length on 30.0 % of common pages"
    varied = [change(n, tokens_from=50, tokens_to=51 + n) for n in range(60)]
    assert pages.check_uniform_edits(holding(crawl(160), [], varied + others)) == Outcome(
        False,
        "1 of 120 common pages changed in length by exactly +1 word",
        {"common": 120, "delta": 1, "pages": 1},
        sees,
    )
    assert pages.check_uniform_edits(holding(crawl(160), [], others + others)) == Outcome(
        False,
        "no page changed in length by 10 words or more, and no cosmetic edit changed the length of "
        "a page",
        {"common": 120, "delta": None, "pages": 0},
        sees,
    )
    few = Outcome(None, "fewer than 100 documents are in both snapshots")
    gone = [change(n, status="removed", tokens_from=50, tokens_to=None) for n in range(60)]
    for rows in ([], footer[:5], [*footer, *others[:39], *gone]):
        assert pages.check_uniform_edits(holding(crawl(160), [], rows)) == few
    hundred = pages.check_uniform_edits(holding(crawl(160), [], footer + others[:40]))
    assert hundred.numbers == {"common": 100, "delta": 7, "pages": 60}


@pytest.mark.parametrize(("edited", "found"), [(29, False), (30, True)])
@pytest.mark.parametrize("size", [-12, 12])
def test_three_in_ten_pages_with_one_edit(edited: int, found: bool, size: int) -> None:
    rows = [change(n, tokens_from=50, tokens_to=50 + size, band="edited") for n in range(edited)]
    rows += [change(n, tokens_from=50, tokens_to=50 + n, band="edited") for n in range(edited, 70)]
    rows += [change(n, status="unchanged", tokens_from=9, tokens_to=9) for n in range(70, 100)]
    outcome = pages.check_uniform_edits(holding(crawl(100), [], rows))
    assert outcome.is_construction is found
    assert outcome.numbers == {"common": 100, "delta": size, "pages": edited}


def test_hosts_with_few_pages_do_not_decide_about_uniform_edits() -> None:
    """Nine hosts with two pages, two with ten of which one is edited alike: two hosts count."""
    before = [page(f"https://small{n // 2}.fr/{n}", "", f"s{n}") for n in range(18)]
    before += [page(f"https://big{n // 50}.fr/{n}", "", f"b{n}") for n in range(100)]
    before += [row | {"url_key": ""} for row in crawl(9)]
    rows = [
        {"doc_id": row["doc_id"], "status": "updated", "band": "edited"}
        | {"tokens_from": 90, "tokens_to": 70 if n < 68 else 91}
        for n, row in enumerate(before)
    ]
    outcome = pages.check_uniform_edits(holding(before, [], rows))
    assert outcome == Outcome(
        None,
        "68 of 127 common pages changed in length by exactly -20 words; fewer than 5 hosts have at "
        "least 3 pages",
        {"common": 127, "delta": -20, "pages": 68, "hosts": 2, "hosts_changed": 1},
    )


def test_the_smallest_of_equally_frequent_edits_is_named() -> None:
    rows = [
        change(10 * n + k, tokens_from=50, tokens_to=50 + delta)
        for n, delta in enumerate((-3, 2, -2, 3))
        for k in range(10)
    ]
    rows += [change(n, status="unchanged", tokens_from=9, tokens_to=9) for n in range(40, 100)]
    outcome = pages.check_uniform_edits(holding(crawl(100), [], rows))
    assert outcome.numbers == {"common": 100, "delta": 2, "pages": 10}


def test_the_keyed_sample() -> None:
    moved = [row | {"sampled": n % 2 == 0} for n, row in enumerate(crawl(10))]
    outcome = pages.check_sample_membership(holding(crawl(10), moved))
    assert outcome == Outcome(
        True,
        "5 of 10 common documents entered or left the sample, which depends only on ids, so the "
        "sampling key or share changed",
        {"common": 10, "changed": 5, "outside": 5},
        "any change in the sampling key or share",
    )
    assert pages.check_sample_membership(holding(moved, crawl(10))).numbers == outcome.numbers
    outside = [row | {"sampled": False} for row in crawl(10)]
    both = pages.check_sample_membership(holding(outside, [*outside, *crawl(20)[10:]]))
    assert both == Outcome(
        False,
        "0 of 10 common documents entered or left the sample",
        {"common": 10, "changed": 0, "outside": 10},
        "any change in the sampling key or share",
    )
    one = pages.check_sample_membership(holding(crawl(10), [*moved[:2], *crawl(10)[2:]]))
    assert (one.is_construction, one.numbers["changed"]) == (True, 1)
    assert pages.check_sample_membership(holding([], moved)) == Outcome(
        None, "no document is in both snapshots"
    )


def test_a_release_records_no_sample() -> None:
    """Its documents all count as sampled: it was clear that none entered or left the sample."""
    connection = holding(crawl(10), crawl(10))
    assert pages.check_sample_membership(connection) == Outcome(
        None, "all documents are marked as sampled, so the snapshots may not record a sample"
    )
    store_recorded_parameters(connection, "to", {"documents.sample_share": 1.0})
    assert pages.check_sample_membership(connection).is_construction is None
    store_recorded_parameters(connection, "from", {"documents.sample_share": 1.0})
    assert pages.check_sample_membership(connection).is_construction is False
