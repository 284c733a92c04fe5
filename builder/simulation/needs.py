"""Simulated information needs with queries, results and relevance grades.

An information need has a subject. Its candidate results are existing pages about the same subject
(grade 2), about the same noun (grade 1) or in the same subject area (grade 0).
"""

from dataclasses import dataclass

import numpy as np

from builder.simulation.evolution import count_pages_ever_added, page_states
from builder.simulation.lexicon import subject_areas, subjects
from builder.simulation.pages import nth_page_about, page_url
from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import (
    FloatArray,
    Rng,
    hash_arrays_to_uniform,
    hash_integers,
    hash_integers_to_uniform,
)
from builder.simulation.text_variants import add_typo, normalize_text, pluralize

FACETS = ("", "prix", "avis", "conseil", "comment choisir", "guide", "en ligne", "définition")
"""Words that a query may add to its subject, such as `prix` (price)."""
CANDIDATES_PER_RESULT = 1.5
"""Maximum number of ranked candidates of a query, as a multiple of the results per page."""
OFF_TOPIC_QUERIES = (
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
NAVIGATIONAL_QUERIES = ("lejournal", "guide pratique", "infos service", "www.bonplan.example")
ATTRACTIVENESS_RANGES = {2: (0.4, 0.85), 1: (0.14, 0.4), 0: (0.01, 0.12)}
"""Minimum and maximum of the true attractiveness of a result, by grade."""
SATISFACTION_RANGES = {2: (0.5, 0.9), 1: (0.2, 0.5), 0: (0.05, 0.3)}
"""Minimum and maximum of the true satisfaction of a result, by grade."""
MAX_SAME_SUBJECT, MAX_SAME_NOUN = 2, 4
"""Maximum numbers of candidates about the subject of a query and about its noun, respectively, that
are drawn before candidates from its subject area."""


@dataclass(frozen=True)
class SimulatedQuery:
    """Simulated query with its results in a snapshot, and the true properties of each result.

    Args:
        number: Identifier of the query.
        kind: `need` (an information need), `off_topic`, `navigational` or `personal`.
        forms: Texts that users type for the query, the most frequent text first.
        urls: URLs of the ranked results; may be more than fit on a result page.
        grades: True relevance grade of each result.
        attractiveness: float64[results]; true probability of a click if a user examines the result.
        satisfaction: float64[results]; true probability that a user stops after a click.
    """

    number: int
    kind: str
    forms: tuple[str, ...]
    urls: tuple[str, ...]
    grades: tuple[int, ...]
    attractiveness: FloatArray
    satisfaction: FloatArray


def create_query_forms(params: SimulationParameters, need: int) -> tuple[str, ...]:
    """Return the texts that users type for an information need, some in uppercase or misspelled.

    Args:
        params: Parameters of the simulation.
        need: Number of the information need.
    """
    subject = subjects()[hash_integers(params.seed, need, 1) % len(subjects())]
    rng = Rng(params.seed, need, 2)
    facet = rng.choice(FACETS)
    qualifier = subject.qualifier[0] if rng.randrange(3) else ""
    noun = subject.noun.french
    standard = " ".join(f"{facet} {noun} {qualifier}".split())
    plural = " ".join(f"{facet} {pluralize(noun)} {qualifier}".split())
    reordered = " ".join(f"{noun} {qualifier} {facet}".split())
    typo = add_typo(standard, rng)
    forms = (standard, normalize_text(standard), standard.upper(), plural, reordered, typo)
    return tuple(dict.fromkeys(forms))


def rank_candidates(
    params: SimulationParameters, need: int, snapshot: int
) -> list[tuple[int, int]]:
    """Return page number and grade of each candidate result of an information need, best first.

    Args:
        params: Parameters of the simulation.
        need: Number of the information need.
        snapshot: Zero-based index of the snapshot in which the pages must exist.
    """
    count = round(params.results_per_page * CANDIDATES_PER_RESULT)
    pages_per_subject = count_pages_ever_added(params, snapshot) // len(subjects()) + 1
    grades = _grade_candidates(params, need, count, max(1, min(count, pages_per_subject)))
    pages = np.fromiter(grades, dtype=np.uint64)
    alive = page_states(params, pages, snapshot).alive
    candidates = [(int(page), grades[int(page)]) for page in pages[alive]]
    return sorted(candidates, key=lambda pair: -_retrieval_score(params, need, *pair))[:count]


def _grade_candidates(
    params: SimulationParameters, need: int, count: int, depth: int
) -> dict[int, int]:
    """Return the grade of each candidate result of an information need, keyed by page number.

    Candidates include pages that do not exist in the snapshot, such as removed pages.

    Args:
        params: Parameters of the simulation.
        need: Number of the information need.
        count: Number of existing pages wanted; usually, extra candidates are returned to make up
            for pages that do not exist.
        depth: Maximum number of pages considered per subject.
    """
    subject = hash_integers(params.seed, need, 1) % len(subjects())
    per_noun = len(subject_areas()[0].qualifiers)
    same_noun = [subject - subject % per_noun + offset for offset in range(per_noun)]
    per_area = per_noun * len(subject_areas()[0].nouns)
    first = subject - subject % per_area
    grades: dict[int, int] = {}
    for n in range(min(depth, MAX_SAME_SUBJECT)):
        grades.setdefault(nth_page_about(subject, n), 2)
    for index in range(MAX_SAME_NOUN):
        other = same_noun[hash_integers(params.seed, need, 8, index) % per_noun]
        n = hash_integers(params.seed, need, 9, index) % depth
        grades.setdefault(nth_page_about(other, n), 2 if other == subject else 1)
    for index in range(2 * count):
        other = first + hash_integers(params.seed, need, 3, index) % per_area
        n = hash_integers(params.seed, need, 4, index) % depth
        grades.setdefault(nth_page_about(other, n), 1 if other in same_noun else 0)
    return grades


def _retrieval_score(params: SimulationParameters, need: int, page: int, grade: int) -> float:
    """Return the retrieval score of a page for an information need: scaled grade plus noise."""
    return 0.5 * grade + 1.5 * hash_integers_to_uniform(params.seed, need, page, 5)


def create_query_for_need(params: SimulationParameters, need: int, snapshot: int) -> SimulatedQuery:
    """Return the query of an information need, with its results in a snapshot."""
    candidates = rank_candidates(params, need, snapshot)
    pages = np.array([page for page, _ in candidates], dtype=np.uint64)
    grades = [grade for _, grade in candidates]
    moves = page_states(params, pages, snapshot).moves
    return SimulatedQuery(
        need,
        "need",
        create_query_forms(params, need),
        tuple(page_url(params, int(p), int(m)) for p, m in zip(pages, moves, strict=True)),
        tuple(grades),
        interpolate_in_grade_ranges(
            ATTRACTIVENESS_RANGES, grades, hash_arrays_to_uniform(params.seed, need, pages, 6)
        ),
        interpolate_in_grade_ranges(
            SATISFACTION_RANGES, grades, hash_arrays_to_uniform(params.seed, need, pages, 7)
        ),
    )


def interpolate_in_grade_ranges(
    ranges: dict[int, tuple[float, float]], grades: list[int], fractions: FloatArray
) -> FloatArray:
    """Scale each fraction to the range of values that belongs to its grade.

    Args:
        ranges: Minimum and maximum value, by grade.
        grades: Grade of each fraction.
        fractions: float64[n]; numbers in [0, 1).

    Returns:
        float64[n]; the scaled values.
    """
    low = np.array([ranges[grade][0] for grade in grades])
    high = np.array([ranges[grade][1] for grade in grades])
    return np.asarray(np.round(low + (high - low) * fractions, 6), dtype=np.float64)


def create_topics() -> list[tuple[str, str, str]]:
    """Return one topic per noun of the lexicon, as id, label and alias (the plural)."""
    return [
        (
            normalize_text(noun.french).replace(" ", "-"),
            noun.french,
            pluralize(noun.french),
        )
        for area in subject_areas()
        for noun in area.nouns
    ]
