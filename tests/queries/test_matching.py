import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from builder.queries.matching import POLICIES, match_topics
from builder.queries.stemming import stem_expr
from builder.text.keys import fold, fold_texts

TOPICS = pl.DataFrame(
    [
        ("law", "loi", [], "fr", ""),
        ("water", "Eau", ["h2o"], "fr", ""),
        ("work", "pôle emploi", ["chevaux"], "fr", ""),
    ],
    schema=schemas.Topics.dtypes(),
    orient="row",
)


def topics_of(text: str, policy: str) -> list[str]:
    found: list[str] = match_topics(pl.Series(fold_texts([text])), TOPICS, policy)[0].to_list()  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("text", "substring", "word", "stem"),
    [
        ("L'eau de Bordeaux", ["water"], ["water"], ["water"]),
        ("château de Blois", ["law", "water"], [], []),
        ("un château", ["water"], [], []),
        ("emploi", ["law"], [], []),
        ("les eaux", ["water"], [], ["water"]),
        ("eau et loi", ["law", "water"], ["law", "water"], ["law", "water"]),
        ("eau eau", ["water"], ["water"], ["water"]),
        ("Pôle-Emploi", ["law", "work"], ["work"], ["work"]),
        ("pole emplois", ["law", "work"], [], ["work"]),
        ("cheval", [], [], ["work"]),
        ("les lois sur l'H2O", ["law", "water"], ["water"], ["law", "water"]),
        ("", [], [], []),
    ],
)
def test_policies(text: str, substring: list[str], word: list[str], stem: list[str]) -> None:
    assert [topics_of(text, policy) for policy in POLICIES] == [substring, word, stem]


def test_no_topics_match_nothing() -> None:
    assert match_topics(pl.Series(["eau", "loi"]), TOPICS.clear(), "word").to_list() == [[], []]


letters = st.text("ab ", max_size=12)


@given(st.lists(letters, max_size=8), st.lists(letters, min_size=1, max_size=5))
def test_word_and_substring_equal_a_naive_search(texts: list[str], labels: list[str]) -> None:
    """Overlapping and nested patterns are the hard part of searching all at once."""
    topics = pl.DataFrame(
        [(f"t{n}", label, [], "fr", "") for n, label in enumerate(labels)],
        schema=schemas.Topics.dtypes(),
        orient="row",
    )
    folded, names = fold_texts(texts), fold_texts(labels)
    found = {
        policy: match_topics(pl.Series(folded, dtype=pl.String), topics, policy).to_list()
        for policy in ("word", "substring")
    }
    for row, text in enumerate(folded):
        expected = {
            "word": [f"t{n}" for n, p in enumerate(names) if p and f" {p} " in f" {text} "],
            "substring": [f"t{n}" for n, p in enumerate(names) if p and p in text],
        }
        assert {policy: rows[row] for policy, rows in found.items()} == expected


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("eaux", "eau"),
        ("journaux", "journal"),
        ("travaux", "travail"),
        ("cheveux", "cheveu"),
        ("bijoux", "bijou"),
        ("tuyaux", "tuyau"),
        ("voyages", "voyage"),
        ("lois", "loi"),
    ],
)
def test_plurals_become_singular(plural: str, singular: str) -> None:
    assert stemmed(plural) == stemmed(singular) == singular


@pytest.mark.parametrize("word", ["bus", "pas", "prix", "choix", "stress", "mois", "paris", "2022"])
def test_words_that_are_no_plurals_stay(word: str) -> None:
    assert stemmed(word) == word


def stemmed(text: str) -> str:
    result: str = pl.DataFrame({"text": [text]}).select(stem_expr(pl.col("text"))).item()
    return result


@given(st.text(max_size=40))
def test_folding_and_stemming_are_idempotent(text: str) -> None:
    once = pl.DataFrame({"text": [text]}).with_columns(folded=fold(pl.col("text")))
    twice = once.with_columns(again=fold(pl.col("folded")), stem=stem_expr(pl.col("folded")))
    assert twice["folded"][0] == twice["again"][0]
    assert stemmed(twice["stem"][0]) == twice["stem"][0]
