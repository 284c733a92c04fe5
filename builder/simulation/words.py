"""What people do to words when they type: accents, case, plurals, order, slips."""

import re
import unicodedata

from builder.simulation.draw import Draw

_VOWELS = "aeiou"


def plain(text: str) -> str:
    """Lower case, without accents, apostrophes and other marks."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(re.sub(r"[^a-z0-9]+", " ", bare.lower().replace("œ", "oe")).split())


def plural(word: str) -> str:
    """A word with the commonest plural ending."""
    if word.endswith(("s", "x", "z")):
        return word
    return word + ("x" if word.endswith(("eau", "au", "eu")) else "s")


def slip(text: str, draw: Draw) -> str:
    """A text with one slip of the finger in a word of at least five letters."""
    words = text.split()
    long = [number for number, word in enumerate(words) if len(word) >= 5]
    if not long:
        return text
    number = draw.choose(long)
    word, place = words[number], 1 + draw.below(len(words[number]) - 3)
    kinds = (
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    )
    words[number] = draw.choose(kinds)
    return " ".join(words)
