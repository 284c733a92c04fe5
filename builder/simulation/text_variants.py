"""Creates variants of a text as users type it: without accents, in the plural, with a typo."""

import re
import unicodedata

from builder.simulation.rng import Rng

MIN_TYPO_WORD_CHARS = 5
"""Minimum length in characters of a word in which a typo may be made."""


def normalize_text(text: str) -> str:
    """Lowercase a text, remove accents, and replace apostrophes and punctuation with spaces."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(re.sub(r"[^a-z0-9]+", " ", bare.lower().replace("œ", "oe")).split())


def pluralize(noun: str) -> str:
    """Return the regular plural of a French noun."""
    if noun.endswith(("s", "x", "z")):
        return noun
    return noun + ("x" if noun.endswith(("eau", "au", "eu")) else "s")


def add_typo(text: str, rng: Rng) -> str:
    """Make a typo in one long word of a text; return a text without long words unchanged.

    A letter is dropped or doubled, or two adjacent letters are swapped.
    """
    words = text.split()
    long_words = [index for index, word in enumerate(words) if len(word) >= MIN_TYPO_WORD_CHARS]
    if not long_words:
        return text
    index = rng.choice(long_words)
    word, offset = words[index], 1 + rng.randrange(len(words[index]) - 3)
    typos = (
        word[:offset] + word[offset + 1 :],
        word[:offset] + word[offset] + word[offset:],
        word[:offset] + word[offset + 1] + word[offset] + word[offset + 2 :],
    )
    words[index] = rng.choice(typos)
    return " ".join(words)
