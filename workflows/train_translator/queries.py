"""Generate French-English query pairs from the project's lexicon.

In: a seed. Out: pairs as people type them into a search engine: a noun, usually with an aspect of
interest (price, opening hours, reviews), lowercase and without articles.
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
    """Generate query pairs, with repetitions.

    Args:
        seed: Random seed.
        count: Number of pairs.
    """
    draw = random.Random(seed)
    known = [subject.template_slots() for subject in subjects()]
    for _ in range(count):
        forms = draw.choice(known)
        french, english = draw.choice(FACETS)
        yield french.format(forms["nom"]).lower(), english.format(forms["noun"]).lower()
