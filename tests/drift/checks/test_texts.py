"""Checks of how the texts of pages were extracted."""

from typing import Any

import pytest

from builder.drift.checks import (
    texts,
)
from builder.drift.checks.outcome import Outcome
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
    assert outcome.evidence == (
        "1.5 % of texts have about 2,279 characters before, and 94.5 % have about 400 characters "
        "after: texts are truncated differently"
    )
    assert (
        texts.check_text_lengths(holding(long_texts(cut=400), long_texts())).is_construction is True
    )
    assert texts.check_text_lengths(holding(long_texts(), long_texts())).is_construction is False
    for pair in ((long_texts()[:29], long_texts()), (long_texts(), long_texts()[:29])):
        assert texts.check_text_lengths(holding(*pair)) == Outcome(
            None, "a snapshot has fewer than 30 different texts"
        )
    thirty = texts.check_text_lengths(holding(long_texts()[:30], long_texts()[:30]))
    assert thirty.is_construction is False


def test_texts_of_nearly_one_length_are_counted_once() -> None:
    """40 texts have 99 or 100 characters; 5 have 98, 20 pages have one text, and 54 are longer."""
    lengths = [100] * 30 + [99] * 10 + [98] * 5 + [120] * 21 + [200 + 10 * n for n in range(54)]
    rows = [
        page(f"https://site{n % 10}.fr/{n}", "", f"{n:04}" + "x" * (length - 4))
        for n, length in enumerate(lengths)
    ]
    rows[45:66] = [row | {k: rows[45][k] for k in ("text", "text_hash")} for row in rows[45:66]]
    counts = {"texts": 100, "end": 100, "heap": 40}
    outcome = texts.check_text_lengths(holding(rows, rows))
    assert outcome == Outcome(
        False,
        "40.0 % of texts have about 100 characters before, and 40.0 % have about 100 characters "
        "after",
        {"from": counts, "to": counts},
        "a difference of 29.0 points",
    )


def test_texts_that_end_after_a_number_of_words() -> None:
    """The last word of each text has another length, so that no number of letters is frequent."""

    def cut(words: int) -> Rows:
        return [
            page(f"https://site{n % 10}.fr/{n}", "", "mot " * ((words or n) - 1) + "x" * 20 * n)
            for n in range(60, 200)
        ]

    outcome = texts.check_text_lengths(holding(cut(0), cut(50)))
    assert (outcome.is_construction, outcome.numbers["to"]) == (
        True,
        {"texts": 140, "end": 50, "heap": 140},
    )
    assert outcome.evidence.endswith(
        ", and 100.0 % have about 50 words after: texts are truncated differently"
    )


def test_a_text_has_the_length_that_it_has_under_its_shortest_title() -> None:
    rows = [
        page(f"https://site{n % 5}.fr/{title}{n}", title, f"mot{n} " * (40 + 2 * (n % 6)))
        for n in range(36)
        for title in ("", "Un titre de cinq mots")
    ]
    outcome = texts._check_length_peaks(holding(rows, rows), "tokens", "words")
    assert outcome.numbers["to"] == {"texts": 36, "end": 50, "heap": 6}


def test_the_longest_texts_may_be_the_most() -> None:
    """Of 100 texts, five have 1991 to 2000 characters, within 1 %; two have 50."""
    lengths = [50, 50, *(200 + 10 * n for n in range(93)), 1991, 1993, 1995, 1997, 2000]
    rows = [
        page(f"https://site{n % 10}.fr/{n}", "", f"{n:04}" + "x" * (length - 4))
        for n, length in enumerate(lengths)
    ]
    outcome = texts.check_text_lengths(holding(rows, rows))
    assert outcome.numbers["to"] == {"texts": 100, "end": 2000, "heap": 5}


def test_the_longest_of_equally_frequent_lengths_is_named_and_no_words_are_no_length() -> None:
    """Of 61 texts, 20 have 50 words, 20 have 80, and 20 none; one has 300."""
    rows = []
    for n in range(61):
        text = "!" * (n + 1) if n < 20 else " ".join([f"mot{n}"] * (50 if n < 40 else 80))
        rows.append(page(f"https://site{n % 10}.fr/{n}", "", text if n < 60 else "mot " * 300))
    outcome = texts._check_length_peaks(holding(rows, rows), "tokens", "words")
    assert outcome.numbers["from"] == {"texts": 61, "end": 80, "heap": 20}
    assert outcome.evidence == (
        "32.8 % of texts have about 80 words before, and 32.8 % have about 80 words after"
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
    assert f"0.0 % of pages before and 100.0 % after contain {evidence}: " in outcome.evidence


def test_texts_that_are_read_alike() -> None:
    rows = [page(f"https://site{n % 9}.fr/{n}", "T", f"né {n} à la vérité") for n in range(60)]
    damaged = [
        page("https://site1.fr/a", "Ã©", "été"),
        page("https://site1.fr/b", "<b>été</b>", "été &amp; hiver"),
        page("https://site1.fr/c", "Été", "hiver"),
        page("https://site1.fr/d", "  ", "été"),
        page("https://site1.fr/e", "", "<p>été</p>"),
    ]
    nothing = dict.fromkeys(("misread", "with_tags", "unaccented", "untitled"), 0)
    counts = {"misread": 1, "with_tags": 2, "unaccented": 1, "untitled": 2}
    outcome = texts.check_text_damage(holding(rows, [*rows, *damaged]))
    assert outcome == Outcome(
        False,
        "0.0 % of pages before and 1.5 % after contain wrongly decoded characters",
        {"from": {"texts": 60} | nothing, "to": {"texts": 65} | counts},
        "a difference of 21.0 points",
    )
    for pair in ((rows[:29], rows), (rows, rows[:29])):
        assert texts.check_text_damage(holding(*pair)) == Outcome(None, "fewer than 30 documents")


def test_titles_that_are_decoded_differently() -> None:
    before = [page(f"https://site{n % 9}.fr/{n}", f"Été {n}", "né à la mer") for n in range(100)]
    after = [row | {"title": f"Ã\x89tÃ© {n}"} for n, row in enumerate(before)]
    outcome = texts.check_text_damage(holding(before, after))
    assert outcome.is_construction is True
    assert outcome.evidence == (
        "0.0 % of pages before and 100.0 % after contain wrongly decoded characters: texts are "
        "decoded differently"
    )
