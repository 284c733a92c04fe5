"""Checks of how the texts of pages were extracted."""

from typing import Any

import pytest

from builder.drift.checks import (
    texts,
)
from tests.drift.worlds import Rows, holding, page


def long_texts(*, cut: int | None = None) -> Rows:
    rows = []
    for n in range(200):
        words = " ".join(f"mot{n}{k}" for k in range(40 + n))
        rows.append(page(f"https://site{n % 10}.fr/{n}", f"Page {n}", words[:cut]))
    return rows


def test_texts_that_end_at_one_length() -> None:
    outcome = texts.check_text_lengths(holding(long_texts(), long_texts(cut=400)))
    assert outcome.is_construction is True
    assert "% have about 400 characters after: texts are truncated differently" in outcome.evidence
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
        (lambda text: f"<p>{text}</p>", "HTML tags or entities"),
        (lambda text: text.replace("é", "&eacute;"), "HTML tags or entities"),
        (lambda text: text.replace("é", "&#233;"), "HTML tags or entities"),
        (lambda text: text.encode().decode("latin-1"), "wrongly decoded characters"),
        (lambda text: text.replace("é", "\ufffd"), "wrongly decoded characters"),
        (lambda text: text.replace("é", "?"), "wrongly decoded characters"),
        (lambda text: text.replace("é", "e").replace("à", "a"), "only ASCII characters"),
    ],
)
def test_texts_that_are_read_by_another_rule(change: Any, evidence: str) -> None:
    before = [page(f"https://site{n % 9}.fr/{n}", "T", f"né {n} à la vérité") for n in range(100)]
    after = [row | {"text": change(row["text"])} for row in before]
    outcome = texts.check_text_damage(holding(before, after))
    assert outcome.is_construction is True
    assert f"0.0 % of pages before and 100.0 % after contain {evidence}" in outcome.evidence
    assert texts.check_text_damage(holding(before, before)).is_construction is False
    assert texts.check_text_damage(holding(before[:9], after)).is_construction is None


def test_titles_that_are_decoded_differently() -> None:
    before = [page(f"https://site{n % 9}.fr/{n}", f"Été {n}", "né à la mer") for n in range(100)]
    after = [row | {"title": f"Ã\x89tÃ© {n}"} for n, row in enumerate(before)]
    outcome = texts.check_text_damage(holding(before, after))
    assert outcome.is_construction is True
    says = "100.0 % after contain wrongly decoded characters: texts are decoded differently"
    assert says in outcome.evidence
