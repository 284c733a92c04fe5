"""Pages of the simulated web: URL, title and text, in French and English.

A page has one subject. Its text is a pure function of the parameters, the page number, the number
of rewrites and the number of edits since the last rewrite; an edit replaces one sentence.
"""

from dataclasses import dataclass
from itertools import pairwise

from builder.simulation.grammar import (
    HEADINGS,
    TITLES,
    SentencePair,
    fill_template,
    generate_list_items,
    generate_sentence,
    generate_sentences,
)
from builder.simulation.lexicon import Subject, subjects
from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import Rng, hash_integers
from builder.simulation.text_variants import normalize_text

SUBJECT_STRIDE = 7919
"""Step in `subjects()` from the subject of a page to the subject of the next page. The step is
coprime to the number of subjects, so that all subjects have pages."""
SENTENCES_PER_SECTION = 9
"""Approximate number of sentences per section of a page."""
SITES = (
    "lejournal",
    "guide-pratique",
    "mesconseils",
    "toutsavoir",
    "lamaison-claire",
    "infos-service",
    "bonplan",
    "le-dossier",
    "vie-pratique",
    "notre-region",
    "espace-public",
    "atelier-libre",
)


@dataclass(frozen=True)
class PageText:
    """Title and text of a page in French, with an English translation of each line.

    Args:
        title: French title and its English translation.
        lines: French text and English translation of each line.
    """

    title: SentencePair
    lines: list[SentencePair]

    @property
    def text(self) -> str:
        """French text of the page, without the title."""
        return "\n".join(french for french, _ in self.lines)

    @property
    def english_text(self) -> str:
        """English translation of the text of the page, without the title."""
        return "\n".join(english for _, english in self.lines)


def page_subject(page: int) -> Subject:
    """Return the subject of the page with the given number."""
    return subjects()[page * SUBJECT_STRIDE % len(subjects())]


def nth_page_about(subject: int, n: int) -> int:
    """Return the page number of the n-th page about a subject.

    Args:
        subject: Index of the subject in `subjects()`.
        n: Zero-based position among the pages about the subject.
    """
    count = len(subjects())
    return subject * pow(SUBJECT_STRIDE, -1, count) % count + n * count


def page_url(params: SimulationParameters, page: int, moves: int) -> str:
    """Return the URL of a page whose URL has changed `moves` times."""
    subject = page_subject(page)
    site = SITES[(hash_integers(params.seed, page) + moves) % len(SITES)]
    slug = normalize_text(f"{subject.noun.french} {subject.qualifier[0]}").replace(" ", "-")
    return f"https://www.{site}.example/{subject.area.name}/{slug}-{page}"


def generate_page(params: SimulationParameters, page: int, version: int, edits: int) -> PageText:
    """Generate the title and text of a page.

    Args:
        params: Parameters of the simulation.
        page: Number of the page.
        version: Number of times that the page was rewritten.
        edits: Number of sentences replaced since the page was last rewritten.
    """
    subject = page_subject(page)
    rng = Rng(params.seed, page, version)
    title = fill_template(rng.choice(TITLES), subject, rng)
    count = max(3, params.sentences // 2 + rng.randrange(params.sentences))
    body = generate_sentences(subject, count, rng)
    for edit in range(1, edits + 1):
        edit_rng = Rng(params.seed, page, version, edit)
        body[edit_rng.randrange(len(body))] = generate_sentence(subject, edit_rng)
    sections = max(2, len(body) // SENTENCES_PER_SECTION)
    bounds = [len(body) * number // sections for number in range(sections + 1)]
    lines = [_join_sentences(body[: bounds[1]])]
    for start, stop in pairwise(bounds[1:]):
        lines.append(fill_template(rng.choice(HEADINGS), subject, rng))
        lines.append(_join_sentences(body[start:stop]))
    items = generate_list_items(rng)
    lines += [(f"- {french}", f"- {english}") for french, english in items]
    return PageText(title, lines)


def _join_sentences(sentence_pairs: list[SentencePair]) -> SentencePair:
    """Join pairs of French and English sentences into one paragraph per language."""
    french = " ".join(french for french, _ in sentence_pairs)
    return french, " ".join(english for _, english in sentence_pairs)
