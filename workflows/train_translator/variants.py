"""Pairs as users and web pages write them: typography, queries, missing accents and punctuation.

In: clean pairs. Out: the same pairs, some of them rewritten on the French side (the English stays
clean), and for short ones further copies typed as a query or set as a title, rewritten on both
sides. What is drawn depends on the seed alone.
"""

import random
import re
import unicodedata
from collections.abc import Iterator

Pair = tuple[str, str]

SEED = 7
TYPOGRAPHIC = 0.35
"""Share of pairs with typographic apostrophes."""
BARE_CAPITALS, BARE, UNENDED = 0.3, 0.04, 0.06
"""Shares of pairs whose capitals, or all letters, lose accents, and whose final mark is missing."""
AS_QUERY, AS_TITLE = 0.15, 0.015
"""Shares of short pairs that are also seen as a query in lower case, and in capitals."""
SHORT = 60
"""Fewest characters of a text that is never a query or a title."""

_FINAL = re.compile(r"\s*[.!?…]+$")
_CAPITAL = re.compile(r"[ÀÂÄÇÉÈÊËÎÏÔÖÙÛÜŒ]")
_LIGATURES = str.maketrans({"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE"})


def varied(pairs: Iterator[Pair], seed: int = SEED) -> Iterator[Pair]:
    """The pairs, some rewritten, and copies of short ones as queries and titles."""
    draw = random.Random(seed)
    for french, english in pairs:
        yield _rewritten(french, english, draw)
        if len(french) < SHORT:
            if draw.random() < AS_QUERY:
                yield _query(french, english, draw)
            if draw.random() < AS_TITLE:
                yield unended(french).upper(), unended(english).upper()


def without_accents(text: str) -> str:
    """The text with base letters in place of accented ones."""
    decomposed = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    )


def unended(text: str) -> str:
    """The text without its final punctuation."""
    return _FINAL.sub("", text)


def _rewritten(french: str, english: str, draw: random.Random) -> Pair:
    if draw.random() < BARE_CAPITALS:
        french = _CAPITAL.sub(lambda found: without_accents(found[0]), french)
    if draw.random() < BARE:
        french = without_accents(french)
    if draw.random() < UNENDED:
        french, english = unended(french), unended(english)
    if draw.random() < TYPOGRAPHIC:
        french = french.replace("'", "’")
    return french, english


def _query(french: str, english: str, draw: random.Random) -> Pair:
    """As people type: lower case, no final mark; often without accents or apostrophes."""
    french, english = unended(french).lower(), unended(english).lower()
    if draw.random() < 0.5:
        french = without_accents(french)
    if draw.random() < 0.2:
        french = french.replace("'", " ").replace("’", " ")
    return french, english
