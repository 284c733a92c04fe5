"""Which sentences of a French text are already English, by hand."""

from collections.abc import Sequence

import pytest

from builder.documents.language import DetectedLanguage
from builder.translation import language
from builder.translation.language import count_function_words, flag_english_sentences

LONG = "Abcde fghij klmno pqrst"
"""A sentence without function words that is long enough for its language to be detected."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences whose language was detected; of `E:0.6: ...`, it is English with score 0.6."""
    found: list[str] = []

    def detect(texts: Sequence[str]) -> list[DetectedLanguage]:
        found.extend(texts)
        return [_guess(text) for text in texts]

    monkeypatch.setattr(language, "detect_languages", detect)
    return found


def _guess(text: str) -> DetectedLanguage:
    name, score, *_ = [*text.split(":"), "", ""]
    names = {"E": "en", "F": "fr", "D": "de"}
    return (names[name], float(score)) if score else (None, None)


def _flags(*sentences: str) -> list[bool]:
    return flag_english_sentences([sentences])[0]


def test_function_words_are_counted_in_any_case() -> None:
    assert count_function_words("Le chat the cat QUE of_the d2 l'eau") == (3, 3)
    assert count_function_words("") == (0, 0)


@pytest.mark.parametrize(
    ("sentence", "is_english"),
    [
        (f"E:0.6: {LONG}", True),
        (f"E:0.59: {LONG}", False),
        (f"E:0.3: the {LONG}", True),
        (f"E:0.29: the {LONG}", False),
        (f"D:0.9: the and of {LONG}", False),
        ("the and of", True),  # too short for its language to be detected
        ("the and", False),
        ("the and of abcdefghi", False),  # 20 characters
        ("the and of abcdefgh", True),
    ],
)
def test_a_sentence_is_english_by_its_words_and_its_detected_language(
    asked: list[str], sentence: str, is_english: bool
) -> None:
    assert _flags(sentence) == [is_english]
    assert asked == [sentence]


def test_a_sentence_with_french_words_may_be_english_with_thrice_as_many_english_ones(
    asked: list[str],
) -> None:
    mostly_english, mixed = "E:0.9: the and of le chat", "E:0.9: the and le chat"
    assert _flags(mostly_english) == [True]
    assert _flags(mixed) == [False]
    assert asked == [mostly_english]


@pytest.mark.parametrize(
    ("sentences", "flags"),
    [
        # more English than French: sentences without French words are English too
        ([f"E:0.9: {LONG} {LONG}", "le chat", "abc", "F:0.5: abc"], [True, False, True, False]),
        # as much French as English, in characters
        (["E:0.9: abcde", "le chat abcd", "abc"], [True, False, False]),
        (["E:0.9: abcde", "le chat abc", "abc"], [True, False, True]),
        # words of both languages, as many of each, are neither
        (["E:0.9: abcde", "le chat the abcdefghijkl", "abc"], [True, False, True]),
    ],
)
def test_short_sentences_go_with_the_rest_of_their_text(
    asked: list[str], sentences: list[str], flags: list[bool]
) -> None:
    assert _flags(*sentences) == flags
    assert asked == [text for text in sentences if "le " not in text]


def test_texts_are_judged_each_by_itself(asked: list[str]) -> None:
    english, unknown = f"E:0.9: {LONG}", "abc"
    assert flag_english_sentences([[english, unknown], [unknown], []]) == [
        [True, True],
        [False],
        [],
    ]
    assert asked == [english, unknown, unknown]
