"""The check that common pages were edited independently of each other."""

import pytest

from builder.drift.checks.outcome import Outcome
from builder.drift.checks.text_changes import _describe_prevalent_change, check_unchanged_texts
from tests.drift.checks.rows import change
from tests.drift.worlds import holding, page


@pytest.mark.parametrize(("unchanged", "found"), [(0, None), (1, None), (2, False), (99, False)])
def test_pages_that_keep_their_text(unchanged: int, found: bool | None) -> None:
    rows = [change(n, status="updated", text_changed=n >= unchanged) for n in range(100)]
    added = change(101, status="added", text_changed=False)
    outcome = check_unchanged_texts(holding([], [], [*rows, added]))
    assert outcome.is_construction is found
    says = f"{unchanged} of 100 common pages have the same text"
    assert outcome.evidence == says + (
        ": either texts are extracted differently, or nearly all pages were edited"
        if found is None
        else ""
    )
    counts = {"shorter": 0, "longer": 0, "reformatted": 0, "swapped": 0}
    assert outcome.numbers == {"common": 100, "unchanged": unchanged, **counts}
    sees = "edits of more than 98.0 % of the common pages"
    assert outcome.detectable == ("" if found is None else sees)
    few = check_unchanged_texts(holding([], [], rows[:99]))
    assert few == Outcome(None, "fewer than 100 documents are in both snapshots")


def test_a_crawl_that_is_used_twice() -> None:
    rows = [change(n, status="unchanged", text_changed=False) for n in range(100)]
    outcome = check_unchanged_texts(holding([], [], rows))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "100 of 100 common pages have the same text: either no page was edited, or the same crawl "
        "was used for both snapshots"
    )


@pytest.mark.parametrize(
    ("shorter", "longer", "found"),
    [(51, 47, None), (50, 48, False), (24, 0, False), (25, 0, None), (36, 4, None), (35, 4, False)],
)
def test_edits_of_one_direction(shorter: int, longer: int, found: bool | None) -> None:
    """More than half of all pages, or nine in ten of those with another length, if these are 25."""
    lengths = [80] * shorter + [100] * longer
    rows = [
        change(n, status="updated", text_changed=True, tokens_from=90, tokens_to=length)
        for n, length in enumerate(lengths)
    ]
    rows += [
        change(n, status="unchanged", text_changed=False, tokens_from=90, tokens_to=90)
        for n in range(len(lengths), 100)
    ]
    outcome = check_unchanged_texts(holding([], [], rows))
    assert outcome.is_construction is found
    if found is None:
        assert outcome.evidence == (
            f"{100 - len(lengths)} of 100 common pages have the same text, {shorter} became "
            f"shorter and {longer} longer (length includes the title): either the extraction of "
            "texts or titles changed, or many pages were edited in the same way"
        )


@pytest.mark.parametrize(("reformatted", "found"), [(24, False), (25, None)])
def test_texts_that_lose_their_line_breaks(reformatted: int, found: bool | None) -> None:
    rows = [change(n, status="unchanged", text_changed=n < reformatted) for n in range(100)]
    outcome = check_unchanged_texts(holding([], [], rows))
    assert outcome.is_construction is found
    assert outcome.evidence == f"{100 - reformatted} of 100 common pages have the same text" + (
        ", 25 changed only in white space, case or punctuation: either texts are extracted "
        "differently, or many pages were reformatted"
        if found is None
        else ""
    )


@pytest.mark.parametrize(("swapped", "found"), [(18, False), (20, None)])
def test_texts_of_other_pages(swapped: int, found: bool | None) -> None:
    """Pages exchange their texts in pairs; a text that two pages had is nobody's.

    Pages that were only reformatted or that are new do not count.
    """
    before = [page(f"https://site{n % 10}.fr/{n}", "", f"texte {n}") for n in range(100)]
    before += [page(f"https://site{n}.fr/menu", "", "menu") for n in range(2)]
    texts = [row["text"] for row in before]
    texts[:swapped] = [texts[n ^ 1] for n in range(swapped)]
    texts[50:90] = ["menu"] * 40
    after = [page(row["url"], "", text) for row, text in zip(before, texts, strict=True)]
    rows = [
        change(n, status="updated" if text != old["text"] else "unchanged")
        | {"doc_id": old["doc_id"], "text_changed": text != old["text"]}
        for n, (old, text) in enumerate(zip(before, texts, strict=True))
    ]
    after[95] = page(before[95]["url"], "", "texte 96")
    rows[95] |= {"status": "unchanged", "text_changed": True}
    added = page("https://new.fr/", "", "texte 97")
    rows.append({"doc_id": added["doc_id"], "status": "added"})
    outcome = check_unchanged_texts(holding(before, [*after, added], rows))
    assert outcome.numbers["swapped"] == swapped
    assert outcome.is_construction is found
    assert ("have the earlier text of another page" in outcome.evidence) == (found is None)


@pytest.mark.parametrize(("swapped", "is_described"), [(24, False), (25, True)])
def test_one_in_twenty_of_many_pages_must_have_texts_of_other_pages(
    swapped: int, *, is_described: bool
) -> None:
    said = _describe_prevalent_change(
        common=500, shorter=0, longer=0, reformatted=0, swapped=swapped
    )
    text = (
        "25 have the earlier text of another page: either texts were assigned to other pages, or "
        "pages exchanged their URLs"
    )
    assert said == (text if is_described else "")
