"""Languages are told by the beginning of a text, and by more of it where that leaves a doubt."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents import language
from builder.documents.language import (
    LONG_SAMPLE_CHARS,
    MIN_CONFIDENCE,
    SAMPLE_CHARS,
    detect_languages,
)

FRENCH = "Les crêpes bretonnes se préparent avec de la farine, des œufs et du lait. "
ENGLISH = "The museum opens at nine in the morning and closes late on Thursday evenings. "
MENU = "Menu 1 2 3 | Blog | Contact | FAQ | "


def _looked_at(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> list[int]:
    """How many characters of texts were looked at, in turn."""
    seen: list[int] = []
    detect = language._detect_language

    def noted(head: str) -> language.DetectedLanguage:
        seen.append(len(head))
        return detect(head)

    with monkeypatch.context() as patch:
        patch.setattr(language, "_detect_language", noted)
        detect_languages(texts)
    return seen


def test_only_where_the_beginning_leaves_a_doubt_more_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clear, doubtful = FRENCH * 20, MENU * 4 + FRENCH * 20
    (_, first), (_, second) = detect_languages([clear[:SAMPLE_CHARS], doubtful[:SAMPLE_CHARS]])
    assert first is not None
    assert second is not None
    assert second < MIN_CONFIDENCE <= first
    seen = _looked_at(monkeypatch, [clear, doubtful])
    assert seen == [SAMPLE_CHARS, SAMPLE_CHARS, LONG_SAMPLE_CHARS]
    assert detect_languages([doubtful])[0][0] == "fr"


def test_a_beginning_without_words_is_no_answer() -> None:
    blank = " " * LONG_SAMPLE_CHARS
    assert detect_languages([blank + FRENCH * 20]) == [(None, None)]
    assert detect_languages([" " * (SAMPLE_CHARS - 10) + FRENCH * 20])[0][0] == "fr"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([FRENCH * 9, ENGLISH * 9, MENU * 9, "", "ok", "é" * 500])))
def test_every_text_has_its_guess_whatever_stands_beside_it(texts: list[str]) -> None:
    alone = [detect_languages([text])[0] for text in texts]
    assert detect_languages(texts) == alone
    assert detect_languages(pl.Series(texts, dtype=pl.String)) == alone


@pytest.mark.parametrize("text", [FRENCH, ENGLISH])
def test_capitals_do_not_change_the_language(text: str) -> None:
    (whole, shouted) = detect_languages([text, text.upper()])
    assert whole[0] == shouted[0]
