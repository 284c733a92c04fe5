"""How well extracted main text agrees with text that people selected."""

import re
from collections import Counter

_WORD = re.compile(r"\w+")


def overlap(found: str, gold: str) -> float:
    """Bag-of-words F1 of two texts: words lower-cased, each as often as it occurs."""
    words, wanted = (Counter(_WORD.findall(text.lower())) for text in (found, gold))
    common = (words & wanted).total()
    return 2 * common / (words.total() + wanted.total()) if common else float(words == wanted)
