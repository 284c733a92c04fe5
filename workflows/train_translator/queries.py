"""Queries about the subjects of the project's own lexicon, French and English.

In: a seed. Out: pairs as people type them into a search engine: a noun, mostly with what is asked
about it (its price, opening hours, reviews), without articles and in lower case.
"""

import random
from collections.abc import Iterator

from builder.simulation.lexicon import subjects

Pair = tuple[str, str]

FACETS: tuple[Pair, ...] = (
    ("{}", "{}"),
    ("{} pas cher", "cheap {}"),
    ("{} en ligne", "{} online"),
    ("en ligne {}", "{} online"),
    ("{} horaires", "{} opening hours"),
    ("{} près de chez moi", "{} near me"),
    ("acheter {}", "buy {}"),
    ("avis {}", "reviews of {}"),
    ("comment choisir {}", "how to choose {}"),
    ("conseil {}", "advice on {}"),
    ("définition {}", "definition of {}"),
    ("guide {}", "guide to {}"),
    ("idée {}", "ideas for {}"),
    ("livraison {}", "delivery of {}"),
    ("location {}", "{} rental"),
    ("meilleur {}", "best {}"),
    ("prix {}", "price of {}"),
    ("problème {}", "problem with {}"),
    ("tarif {}", "rates for {}"),
)
"""What is asked about a subject."""


def query_pairs(seed: int, count: int) -> Iterator[Pair]:
    """So many queries in both languages; repeats occur when there are many.

    Args:
        seed: Another seed, other queries.
        count: How many.
    """
    draw = random.Random(seed)
    known = [subject.forms() for subject in subjects()]
    for _ in range(count):
        forms = draw.choice(known)
        french, english = draw.choice(FACETS)
        yield french.format(forms["nom"]).lower(), english.format(forms["noun"]).lower()
