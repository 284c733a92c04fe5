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
WITH_SIGN = 0.7
"""Share of pairs with prices whose prices are in euros with the sign, which the corpora lack."""
BARE_CAPITALS, BARE, UNENDED = 0.3, 0.04, 0.06
"""Shares of pairs whose capitals, or all letters, lose accents, and whose final mark is missing."""
AS_QUERY, AS_TITLE = 0.15, 0.015
"""Shares of short pairs that are also seen as a query in lower case, and in capitals."""
SHORT = 60
"""Fewest characters of a text that is never a query or a title."""

_NUMBER = r"(\d+(?:[.,\u00a0 ]\d+)*)"
_WORD_AFTER = re.compile(_NUMBER + r" (?:euro|dollar)s?\b")
_SIGN_AFTER, _SIGN_BEFORE = re.compile(_NUMBER + r"\s?\$"), re.compile(r"\$\s?" + _NUMBER)
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


def with_sign(french: str, english: str) -> Pair:
    """A pair with one kind of price, in euros, after the number in French and before in English."""
    one = _SIGN_AFTER.sub(r"\1 €", _WORD_AFTER.sub(r"\1 €", french))
    other = _SIGN_BEFORE.sub(r"€\1", _WORD_AFTER.sub(r"€\1", english))
    same = 0 < one.count("€") == other.count("€")
    return (one, other) if same else (french, english)


def _rewritten(french: str, english: str, draw: random.Random) -> Pair:
    if draw.random() < WITH_SIGN:
        french, english = with_sign(french, english)
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
