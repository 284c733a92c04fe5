"""Sentences about a subject, in French and English at once.

In: a subject and a sequence of choices. Out: aligned sentences, headings and list items. Every
French template agrees in gender and elides through the articles of the noun; English follows.
"""

from collections.abc import Iterator
from functools import cache
from string import Formatter

from builder.simulation.draw import Draw
from builder.simulation.lexicon import Subject, related_to, subjects

Pair = tuple[str, str]

GENERAL: tuple[Pair, ...] = (
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
HEADINGS: tuple[Pair, ...] = (
    ("Comment choisir {le} ?", "How to choose {the}?"),
    ("Prix {du}", "Price of {the}"),
    ("Nos conseils pour {le}", "Our advice for {the}"),
    ("Questions fréquentes sur {le}", "Frequent questions about {the}"),
    ("Ce qui change en {annee}", "What changes in {annee}"),
)
ITEMS: tuple[Pair, ...] = (
    ("comparer les prix", "compare prices"),
    ("lire les avis", "read the reviews"),
    ("demander un devis", "ask for a quote"),
    ("vérifier les dates", "check the dates"),
    ("préparer les documents", "prepare the documents"),
    ("noter les questions", "write down the questions"),
    ("appeler un professionnel", "call a professional"),
    ("prévoir un peu de temps", "allow a little time"),
)
TITLES: tuple[Pair, ...] = (
    ("{nom} : le guide", "{noun}: the guide"),
    ("Tout savoir sur {le}", "All about {the}"),
    ("{nom} : prix et conseils", "{noun}: prices and advice"),
    ("Choisir {un}", "Choosing {a}"),
    ("{nom} : nos réponses", "{noun}: our answers"),
)
MONTHS: tuple[Pair, ...] = (
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
SEASONS: tuple[Pair, ...] = (
    ("printemps", "spring"),
    ("été", "summer"),
    ("automne", "autumn"),
    ("hiver", "winter"),
)
NUMBERS: tuple[Pair, ...] = (
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("six", "six"),
)


def fill(template: Pair, subject: Subject, draw: Draw) -> Pair:
    """A template with its slots filled, both sides alike; the first letter is a capital."""
    month, season, number = draw.choose(MONTHS), draw.choose(SEASONS), draw.choose(NUMBERS)
    year, price = 2015 + draw.below(8), 10 * (1 + draw.below(90))
    slots = _forms_of(subject)
    slots["mois"], slots["month"] = month
    slots["saison"], slots["season"] = season
    slots["nombre"], slots["number"] = number
    slots["annee"], slots["prix"] = str(year), str(price)
    french, english = (_filled(_parts(side), slots) for side in template)
    return french[0].upper() + french[1:], english[0].upper() + english[1:]


def _forms_of(subject: Subject) -> dict[str, str]:
    """The slots of a subject, made once; subjects live as long as the program."""
    found = _FORMS.get(id(subject))
    if found is None:
        found = _FORMS[id(subject)] = subject.forms()
    return found


_FORMS: dict[int, dict[str, str]] = {}


@cache
def _parts(template: str) -> tuple[tuple[str, str | None], ...]:
    """Literal texts of a template, each with the name of the slot after it."""
    return tuple((text, name) for text, name, _, _ in Formatter().parse(template))


def _filled(parts: tuple[tuple[str, str | None], ...], slots: dict[str, str]) -> str:
    return "".join([text if name is None else text + slots[name] for text, name in parts])


def sentence(subject: Subject, draw: Draw) -> Pair:
    """A sentence about a subject."""
    facts = subject.domain.facts
    template = draw.choose(facts) if draw.below(2) else draw.choose(GENERAL)
    return fill(template, subject, draw)


def sentences(subject: Subject, count: int, draw: Draw) -> list[Pair]:
    """Different sentences about a subject; where templates run out, about related ones too."""
    found = [fill(template, subject, draw) for template in _shuffled(subject, draw)[:count]]
    if len(found) < count:
        seen, related = set(found), related_to(subject)
        for _ in range(count):  # rounds; each finds some as long as there are any
            about = draw.choose(related)
            for template in _shuffled(about, draw):
                pair = fill(template, about, draw)
                if pair not in seen and len(found) < count:
                    seen.add(pair)
                    found.append(pair)
            if len(found) == count:
                break
    return found


def _shuffled(subject: Subject, draw: Draw) -> list[Pair]:
    """The templates of a subject in some order."""
    templates = [*subject.domain.facts, *GENERAL]
    for last in range(len(templates) - 1, 0, -1):
        other = draw.below(last + 1)
        templates[last], templates[other] = templates[other], templates[last]
    return templates


def items(draw: Draw) -> list[Pair]:
    """The items of a short list, all different."""
    start, step = draw.below(len(ITEMS)), 1 + 2 * draw.below(len(ITEMS) // 2)
    return [ITEMS[(start + step * number) % len(ITEMS)] for number in range(3 + draw.below(2))]


def sentence_pairs(seed: int, count: int) -> Iterator[Pair]:
    """Aligned French and English sentences, titles and headings about all subjects.

    Args:
        seed: Another seed, other sentences.
        count: How many; repeats occur when there are many.
    """
    for number in range(count):
        draw = Draw(seed, number)
        subject = draw.choose(subjects())
        kind = draw.below(10)
        if kind == 0:
            yield fill(draw.choose(HEADINGS), subject, draw)
        elif kind == 1:
            yield fill(draw.choose(TITLES), subject, draw)
        else:
            yield sentence(subject, draw)
