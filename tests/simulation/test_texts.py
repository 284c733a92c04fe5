"""Texts of simulated pages, their spelling, and which pages are results of a query."""

import pytest

from builder import SimulationParameters
from builder.simulation import needs
from builder.simulation.lexicon import Noun, subjects
from builder.simulation.needs import rank_candidates
from builder.simulation.pages import generate_page, page_subject
from builder.simulation.rng import Rng, hash_integers
from builder.simulation.text_variants import add_typo, pluralize


@pytest.mark.parametrize(("sentences", "least", "most"), [(1, 3, 3), (6, 3, 8), (40, 20, 59)])
def test_a_page_has_half_to_three_halves_of_the_sentences_asked_for(
    sentences: int, least: int, most: int
) -> None:
    params = SimulationParameters(sentences=sentences)
    for page in range(40):
        lines = generate_page(params, page, 0, 0).lines
        items = [french for french, _ in lines if french.startswith("- ")]
        paragraphs = [french for french, _ in lines[: -len(items)][::2]]
        found = sum(text.count(". ") + text.count("? ") + 1 for text in paragraphs)
        assert least <= found <= most
        assert len(paragraphs) == max(2, found // 9)
        assert 3 <= len(set(items)) == len(items) <= 4


def test_candidates_are_about_the_subject_its_noun_or_its_area() -> None:
    params = SimulationParameters(documents=5000, results_per_page=7, removed=0.0)
    for need in range(12):
        subject = subjects()[hash_integers(1, need, 1) % len(subjects())]
        found = rank_candidates(params, need, 1)
        assert len(found) == len(dict(found)) == 10  # 1.5 * 7, rounded to even
        for page, grade in found:
            about = page_subject(page)
            assert about.area is subject.area
            assert (grade > 0) == (about.noun is subject.noun)
            assert grade != 2 or about is subject
        scores = [needs._retrieval_score(params, need, page, grade) for page, grade in found]
        assert scores == sorted(scores, reverse=True)
        for (_, grade), score in zip(found, scores, strict=True):
            assert 0.5 * grade <= score < 0.5 * grade + 1.5


class Chosen(Rng):
    """Gives these numbers as random ones."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.stops: list[int] = []

    def randrange(self, stop: int) -> int:
        self.stops.append(stop)
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("offset", "typo", "typed"),
    [
        (0, 0, "une rcette"),
        (0, 1, "une reecette"),
        (0, 2, "une rceette"),
        (2, 2, "une rectete"),
        (3, 0, "une recete"),
    ],
)
def test_a_letter_is_dropped_doubled_or_swapped(offset: int, typo: int, typed: str) -> None:
    rng = Chosen(0, offset, typo)
    assert add_typo("une recette", rng) == typed
    assert rng.stops == [1, 4, 3]
    assert add_typo("une idee abcd", Rng(1)) == "une idee abcd"
    assert add_typo("abcde", Chosen(0, 0, 0)) == "acde"


def test_words_in_the_plural() -> None:
    words = ["gaz", "bijou", "feu", "tuyau", "bateau", "nez", "lac"]
    assert [pluralize(word) for word in words] == [
        "gaz",
        "bijous",
        "feux",
        "tuyaux",
        "bateaux",
        "nez",
        "lacs",
    ]


def test_a_noun_fills_the_slots_of_both_languages() -> None:
    assert Noun("eau", True, "apple juice").template_slots(("en hiver", "in winter")) == {
        "nom": "eau en hiver",
        "le": "l'eau en hiver",
        "du": "de l'eau en hiver",
        "au": "à l'eau en hiver",
        "un": "une eau en hiver",
        "noun": "apple juice in winter",
        "the": "the apple juice in winter",
        "a": "an apple juice in winter",
    }
    assert Noun("pain", False, "bread").template_slots(("x", "y"))["a"] == "a bread y"
