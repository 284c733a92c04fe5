"""Augment pairs with the typography of users and web pages: queries, missing accents and marks.

In: clean pairs. Out: the same pairs, some of them rewritten on the French side (the English stays
clean), and for short ones further copies typed as a query or set as a title, rewritten on both
sides. The random choices depend on the seed alone.
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


def augment(pairs: Iterator[Pair], seed: int = SEED) -> Iterator[Pair]:
    """Rewrite a random part of the pairs, and add short ones as queries and titles."""
    draw = random.Random(seed)
    for french, english in pairs:
        yield _rewritten(french, english, draw)
        if len(french) < SHORT:
            if draw.random() < AS_QUERY:
                yield _query(french, english, draw)
            if draw.random() < AS_TITLE:
                yield strip_final_marks(french).upper(), strip_final_marks(english).upper()


def without_accents(text: str) -> str:
    """Replace accented letters by their base letters."""
    decomposed = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    )


def strip_final_marks(text: str) -> str:
    """Remove the final punctuation."""
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
        french, english = strip_final_marks(french), strip_final_marks(english)
    if draw.random() < TYPOGRAPHIC:
        french = french.replace("'", "’")
    return french, english


def _query(french: str, english: str, draw: random.Random) -> Pair:
    """A pair as a typed query: lowercase, no final mark, often without accents or apostrophes."""
    french, english = strip_final_marks(french).lower(), strip_final_marks(english).lower()
    if draw.random() < 0.5:
        french = without_accents(french)
    if draw.random() < 0.2:
        french = french.replace("'", " ").replace("’", " ")
    return french, english
