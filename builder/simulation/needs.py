"""What users want: needs, how they word them, how popular they are, and what could answer them.

A need is about a subject. Its candidates are pages about the same subject (grade 2), about the
same noun (grade 1) and about the same domain (grade 0), whichever exist at a snapshot.
"""

from dataclasses import dataclass

import numpy as np

from builder.simulation.draw import Draw, Floats, mix, unit, units
from builder.simulation.evolution import pages_until, states
from builder.simulation.lexicon import domains, subjects
from builder.simulation.pages import page_about, url_of
from builder.simulation.parameters import Simulation
from builder.simulation.words import plain, plural, slip

FACETS = ("", "prix", "avis", "conseil", "comment choisir", "guide", "en ligne", "définition")
CANDIDATES_PER_RESULT = 1.5
OFF_TOPIC = (
    "chateau de la loire",
    "emploi du temps",
    "bureau de tabac",
    "musique classique",
    "entrainement cardio",
    "bordeaux lac",
    "plateau repas",
    "journal du soir",
    "film complet",
    "meteo demain",
    "rideaux salon",
    "gazette locale",
)
NAVIGATIONAL = ("lejournal", "guide pratique", "infos service", "www.bonplan.example")
ATTRACTIVENESS = {2: (0.4, 0.85), 1: (0.14, 0.4), 0: (0.01, 0.12)}
"""Range of the true attractiveness of each grade."""
SATISFACTION = {2: (0.5, 0.9), 1: (0.2, 0.5), 0: (0.05, 0.3)}
MOST_EXACT, MOST_SAME_NOUN = 2, 4
"""Candidates of grade 2, and of grade 1 about another side of the noun, before the others."""


@dataclass(frozen=True)
class Query:
    """Something that users type, and what it shows.

    Args:
        number: Its number.
        kind: need, off_topic, navigational or personal.
        forms: How it is typed; the first form is the usual one.
        urls: Results, best first; more than one page shows.
        grades: True relevance of each result.
        attractiveness: True probability of a click on each result once examined.
        satisfaction: True probability that a click on it ends the search.
    """

    number: int
    kind: str
    forms: tuple[str, ...]
    urls: tuple[str, ...]
    grades: tuple[int, ...]
    attractiveness: Floats
    satisfaction: Floats


def need_forms(params: Simulation, number: int) -> tuple[str, ...]:
    """The ways in which a need is typed: usual, without accents, upper case, plural, slip."""
    subject = subjects()[mix(params.seed, number, 1) % len(subjects())]
    draw = Draw(params.seed, number, 2)
    facet = draw.choose(FACETS)
    qualifier = subject.qualifier[0] if draw.below(3) else ""
    noun = subject.noun.french
    usual = " ".join(f"{facet} {noun} {qualifier}".split())
    many = " ".join(f"{facet} {plural(noun)} {qualifier}".split())
    turned = " ".join(f"{noun} {qualifier} {facet}".split())
    forms = (usual, plain(usual), usual.upper(), many, turned, slip(usual, draw))
    return tuple(dict.fromkeys(forms))


def candidates(params: Simulation, number: int, snapshot: int) -> list[tuple[int, int]]:
    """Page number and grade of what could answer a need, best first, alive at the snapshot."""
    wanted = round(params.results_per_page * CANDIDATES_PER_RESULT)
    subject = mix(params.seed, number, 1) % len(subjects())
    per_noun = len(domains()[0].qualifiers)
    same_noun = [subject - subject % per_noun + k for k in range(per_noun)]
    per_domain = per_noun * len(domains()[0].nouns)
    start = subject - subject % per_domain
    others = [start + mix(params.seed, number, 3, k) % per_domain for k in range(2 * wanted)]
    turns = max(1, min(wanted, pages_until(params, snapshot) // len(subjects()) + 1))
    graded: dict[int, int] = {}
    for turn in range(min(turns, MOST_EXACT)):
        graded.setdefault(page_about(subject, turn), 2)
    for place in range(MOST_SAME_NOUN):
        other = same_noun[mix(params.seed, number, 8, place) % per_noun]
        turn = mix(params.seed, number, 9, place) % turns
        graded.setdefault(page_about(other, turn), 2 if other == subject else 1)
    for place, other in enumerate(others):
        turn = mix(params.seed, number, 4, place) % turns
        graded.setdefault(page_about(other, turn), 1 if other in same_noun else 0)
    pages = np.fromiter(graded, dtype=np.uint64)
    alive = states(params, pages, snapshot).alive
    found = [(int(p), graded[int(p)]) for p in pages[alive]]
    return sorted(found, key=lambda pair: _score(params, number, pair))[:wanted]


def _score(params: Simulation, number: int, pair: tuple[int, int]) -> float:
    """The engine's score, negated: relevance with noise."""
    return -(0.5 * pair[1] + 1.5 * unit(params.seed, number, pair[0], 5))


def make_need(params: Simulation, number: int, snapshot: int) -> Query:
    """A need as the engine answers it at a snapshot."""
    found = candidates(params, number, snapshot)
    pages = np.array([page for page, _ in found], dtype=np.uint64)
    grades = [grade for _, grade in found]
    moves = states(params, pages, snapshot).moves
    return Query(
        number,
        "need",
        need_forms(params, number),
        tuple(url_of(params, int(p), int(m)) for p, m in zip(pages, moves, strict=True)),
        tuple(grades),
        spread(ATTRACTIVENESS, grades, units(params.seed, number, pages, 6)),
        spread(SATISFACTION, grades, units(params.seed, number, pages, 7)),
    )


def spread(ranges: dict[int, tuple[float, float]], grades: list[int], place: Floats) -> Floats:
    """Values of each grade: `place` in [0, 1) of the range of its grade."""
    low = np.array([ranges[grade][0] for grade in grades])
    high = np.array([ranges[grade][1] for grade in grades])
    return np.asarray(np.round(low + (high - low) * place, 6), dtype=np.float64)


def topics(params: Simulation) -> list[tuple[str, str, str]]:
    """Id, label and alias of each topic: the nouns of all domains, the same for every snapshot."""
    del params
    return [
        (plain(noun.french).replace(" ", "-"), noun.french, plural(noun.french))
        for domain in domains()
        for noun in domain.nouns
    ]
