"""Generates aligned French and English sentences about a subject from templates.

A noun is inserted into a template together with its article, so that articles agree in gender and
are elided correctly.
"""

from collections.abc import Iterator
from functools import cache
from string import Formatter

from builder.simulation.lexicon import Subject, subjects, subjects_of_area
from builder.simulation.rng import Rng

SentencePair = tuple[str, str]
"""French text and its English translation."""

GENERAL_SENTENCES: tuple[SentencePair, ...] = (
    ("Cette page présente {le}.", "This page presents {the}."),
    ("Voici ce qu'il faut savoir au sujet {du}.", "Here is what you need to know about {the}."),
    (
        "Beaucoup de lecteurs posent des questions sur {le}.",
        "Many readers ask questions about {the}.",
    ),
    (
        "Nous avons comparé plusieurs solutions pour {le}.",
        "We compared several solutions for {the}.",
    ),
    (
        "Le choix {du} dépend du budget et du temps disponible.",
        "The choice of {the} depends on the budget and the time available.",
    ),
    (
        "Avant de décider, prenez le temps d'étudier {le}.",
        "Before deciding, take the time to study {the}.",
    ),
    (
        "En cas de doute sur {le}, demandez conseil à un spécialiste.",
        "If in doubt about {the}, ask a specialist for advice.",
    ),
    (
        "Cette information sur {le} a été vérifiée en {mois}.",
        "This information about {the} was checked in {month}.",
    ),
    (
        "Depuis {annee}, {le} intéresse de plus en plus de monde.",
        "Since {annee}, {the} has interested more and more people.",
    ),
    (
        "Il existe {nombre} façons de comparer les offres.",
        "There are {number} ways to compare offers.",
    ),
    ("Les avis sur {le} sont partagés.", "Opinions on {the} are divided."),
    (
        "Un guide complet {du} est disponible sur notre site.",
        "A complete guide to {the} is available on our site.",
    ),
    (
        "Nos conseils sur {le} sont mis à jour chaque {saison}.",
        "Our advice on {the} is updated every {season}.",
    ),
    ("Le budget moyen est de {prix} euros.", "The average budget is {prix} euros."),
    (
        "Gardez toujours une trace écrite de vos démarches.",
        "Always keep a written record of what you do.",
    ),
    ("Une bonne préparation évite bien des erreurs.", "Good preparation avoids many mistakes."),
)
HEADINGS: tuple[SentencePair, ...] = (
    ("Comment choisir {le} ?", "How to choose {the}?"),
    ("Prix {du}", "Price of {the}"),
    ("Nos conseils pour {le}", "Our advice for {the}"),
    ("Questions fréquentes sur {le}", "Frequent questions about {the}"),
    ("Ce qui change en {annee}", "What changes in {annee}"),
)
LIST_ITEMS: tuple[SentencePair, ...] = (
    ("comparer les prix", "compare prices"),
    ("lire les avis", "read the reviews"),
    ("demander un devis", "ask for a quote"),
    ("vérifier les dates", "check the dates"),
    ("préparer les documents", "prepare the documents"),
    ("noter les questions", "write down the questions"),
    ("appeler un professionnel", "call a professional"),
    ("prévoir un peu de temps", "allow a little time"),
)
TITLES: tuple[SentencePair, ...] = (
    ("{nom} : le guide", "{noun}: the guide"),
    ("Tout savoir sur {le}", "All about {the}"),
    ("{nom} : prix et conseils", "{noun}: prices and advice"),
    ("Choisir {un}", "Choosing {a}"),
    ("{nom} : nos réponses", "{noun}: our answers"),
)
MONTHS: tuple[SentencePair, ...] = (
    ("janvier", "January"),
    ("février", "February"),
    ("mars", "March"),
    ("avril", "April"),
    ("mai", "May"),
    ("juin", "June"),
    ("juillet", "July"),
    ("septembre", "September"),
    ("octobre", "October"),
    ("novembre", "November"),
)
SEASONS: tuple[SentencePair, ...] = (
    ("printemps", "spring"),
    ("été", "summer"),
    ("automne", "autumn"),
    ("hiver", "winter"),
)
NUMBERS: tuple[SentencePair, ...] = (
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("six", "six"),
)


def fill_template(template: SentencePair, subject: Subject, rng: Rng) -> SentencePair:
    """Fill the slots of a French and an English template, and capitalize both results.

    Args:
        template: French template and English template, with slots such as `{le}` and `{the}`.
        subject: Subject of the sentence.
        rng: Random number generator, for numbers, prices and dates.
    """
    month, season, number = rng.choice(MONTHS), rng.choice(SEASONS), rng.choice(NUMBERS)
    year, price = 2015 + rng.randrange(8), 10 * (1 + rng.randrange(90))
    slots = _subject_slots(subject)
    slots["mois"], slots["month"] = month
    slots["saison"], slots["season"] = season
    slots["nombre"], slots["number"] = number
    slots["annee"], slots["prix"] = str(year), str(price)
    french, english = (_substitute_slots(_parse_template(text), slots) for text in template)
    return french[0].upper() + french[1:], english[0].upper() + english[1:]


def _subject_slots(subject: Subject) -> dict[str, str]:
    """Return the values of the template slots for a subject; the values are cached."""
    slots = _SLOTS_BY_ID.get(id(subject))
    if slots is None:
        slots = _SLOTS_BY_ID[id(subject)] = subject.template_slots()
    return slots


_SLOTS_BY_ID: dict[int, dict[str, str]] = {}
"""Slot values by the `id()` of a subject, because hashing the subject itself would be slower."""


@cache
def _parse_template(template: str) -> tuple[tuple[str, str | None], ...]:
    """Split a template into literal texts, each with the name of the next slot (None if none)."""
    return tuple((text, name) for text, name, _, _ in Formatter().parse(template))


def _substitute_slots(parts: tuple[tuple[str, str | None], ...], slots: dict[str, str]) -> str:
    return "".join([text if name is None else text + slots[name] for text, name in parts])


def generate_sentence(subject: Subject, rng: Rng) -> SentencePair:
    """Generate a random French sentence about a subject, with its English translation."""
    facts = subject.area.facts
    template = rng.choice(facts) if rng.randrange(2) else rng.choice(GENERAL_SENTENCES)
    return fill_template(template, subject, rng)


def generate_sentences(subject: Subject, count: int, rng: Rng) -> list[SentencePair]:
    """Generate distinct French sentences about a subject, with their English translations.

    If the subject has too few templates, the remaining sentences are about random subjects of the
    same subject area. Fewer than `count` sentences are returned if the area has too few templates.
    """
    templates = _shuffle_templates(subject, rng)[:count]
    pairs = [fill_template(template, subject, rng) for template in templates]
    if len(pairs) < count:
        seen, related = set(pairs), subjects_of_area(subject.area)
        for _ in range(count):
            other = rng.choice(related)
            for template in _shuffle_templates(other, rng):
                pair = fill_template(template, other, rng)
                if pair not in seen and len(pairs) < count:
                    seen.add(pair)
                    pairs.append(pair)
            if len(pairs) == count:
                break
    return pairs


def _shuffle_templates(subject: Subject, rng: Rng) -> list[SentencePair]:
    """Return the sentence templates of a subject in random order (Fisher-Yates shuffle)."""
    templates = [*subject.area.facts, *GENERAL_SENTENCES]
    for last in range(len(templates) - 1, 0, -1):
        other = rng.randrange(last + 1)
        templates[last], templates[other] = templates[other], templates[last]
    return templates


def generate_list_items(rng: Rng) -> list[SentencePair]:
    """Generate three or four distinct list items, each in French and English."""
    start, step = rng.randrange(len(LIST_ITEMS)), 1 + 2 * rng.randrange(len(LIST_ITEMS) // 2)
    count = 3 + rng.randrange(2)
    return [LIST_ITEMS[(start + step * index) % len(LIST_ITEMS)] for index in range(count)]


def generate_sentence_pairs(seed: int, count: int) -> Iterator[SentencePair]:
    """Generate aligned French and English sentences, titles and headings about all subjects.

    Args:
        seed: Random seed.
        count: Number of pairs; some may be duplicates.
    """
    for index in range(count):
        rng = Rng(seed, index)
        subject = rng.choice(subjects())
        kind = rng.randrange(10)
        if kind == 0:
            yield fill_template(rng.choice(HEADINGS), subject, rng)
        elif kind == 1:
            yield fill_template(rng.choice(TITLES), subject, rng)
        else:
            yield generate_sentence(subject, rng)
