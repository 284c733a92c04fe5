"""Checks of how the texts of pages were extracted."""

from typing import Any

import pytest

from builder.drift.checks import (
    texts,
)
from builder.drift.checks.outcome import Outcome
from tests.drift.checks.rows import change
from tests.drift.worlds import Rows, holding, page


@pytest.mark.parametrize(("unchanged", "found"), [(0, None), (1, None), (2, False), (100, False)])
def test_pages_that_keep_their_text(unchanged: int, found: bool | None) -> None:
    """Also texts with the same words, as after all letters were lowercased, are not the same."""
    rows = [change(n, status="unchanged", text_changed=n >= unchanged) for n in range(100)]
    added = change(101, status="added", text_changed=False)
    outcome = texts.check_unchanged_texts(holding([], [], [*rows, added]))
    assert outcome.is_construction is found
    says = f"{unchanged} of 100 common pages have the same text"
    assert outcome.evidence == says + (
        ": texts are extracted differently, or all were edited" if found is None else ""
    )
    assert outcome.numbers == {"common": 100, "unchanged": unchanged, "shorter": 0, "longer": 0}
    few = texts.check_unchanged_texts(holding([], [], rows[:99]))
    assert few == Outcome(None, "fewer than 100 documents are in both snapshots")


@pytest.mark.parametrize(("shorter", "found"), [(50, False), (51, None)])
def test_pages_that_lose_all_but_a_paragraph(shorter: int, found: bool | None) -> None:
    """Texts of one paragraph stay the same, and the others become shorter by different lengths."""
    rows = [
        change(n, status="updated", text_changed=True, tokens_from=90, tokens_to=80 - n)
        if n < shorter
        else change(n, status="unchanged", text_changed=False, tokens_from=90, tokens_to=90)
        for n in range(100)
    ]
    outcome = texts.check_unchanged_texts(holding([], [], rows))
    assert outcome.is_construction is found
    if found is None:
        assert outcome.evidence == (
            "49 of 100 common pages have the same text, 51 became shorter and 0 longer: either "
            "texts are extracted differently, or most pages were edited alike"
        )


def long_texts(*, cut: int | None = None) -> Rows:
    rows = []
    for n in range(200):
        words = " ".join(f"mot{n}{k}" for k in range(40 + n))
        rows.append(page(f"https://site{n % 10}.fr/{n}", f"Page {n}", words[:cut]))
    return rows


def test_texts_that_end_at_one_length() -> None:
    outcome = texts.check_text_lengths(holding(long_texts(), long_texts(cut=400)))
    assert outcome.is_construction is True
    assert "% at 400 characters: texts are truncated differently" in outcome.evidence
    assert (
        texts.check_text_lengths(holding(long_texts(cut=400), long_texts())).is_construction is True
    )
    assert texts.check_text_lengths(holding(long_texts(), long_texts())).is_construction is False
    assert (
        texts.check_text_lengths(holding(long_texts()[:20], long_texts())).is_construction is None
    )


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        (lambda text: f"<p>{text}</p>", "HTML tags"),
        (lambda text: text.encode().decode("latin-1"), "wrongly decoded characters"),
        (lambda text: text.replace("é", "\ufffd"), "wrongly decoded characters"),
    ],
)
def test_texts_that_are_read_by_another_rule(change: Any, evidence: str) -> None:
    before = [page(f"https://site{n % 9}.fr/{n}", "T", f"été {n} à la mer") for n in range(100)]
    after = [row | {"text": change(row["text"])} for row in before]
    outcome = texts.check_text_damage(holding(before, after))
    assert outcome.is_construction is True
    assert f"before, 0.0 % of texts contain {evidence}; after, 100.0 %" in outcome.evidence
    assert texts.check_text_damage(holding(before, before)).is_construction is False
    assert texts.check_text_damage(holding(before[:9], after)).is_construction is None
