"""Pages: address, title and text of a page in a given state, in French and English.

A page is about one subject. Its text is a pure function of the seed, its number, how often it was
written anew and how often it was edited; an edit replaces one sentence.
"""

from dataclasses import dataclass
from itertools import pairwise

from builder.simulation.draw import Draw, mix
from builder.simulation.grammar import HEADINGS, TITLES, Pair, fill, items, sentence, sentences
from builder.simulation.lexicon import Subject, subjects
from builder.simulation.parameters import Simulation
from builder.simulation.words import plain

STRIDE = 7919
"""Coprime to the number of subjects: neighbours in the index are about different subjects."""
SECTION = 9
"""Sentences under a heading of a long page; the first section has none."""
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
    """A page's title and text, aligned line by line.

    Args:
        title: French and English title.
        lines: Lines of the text, French and English.
    """

    title: Pair
    lines: list[Pair]

    @property
    def text(self) -> str:
        """French text."""
        return "\n".join(french for french, _ in self.lines)

    @property
    def english(self) -> str:
        """English text."""
        return "\n".join(english for _, english in self.lines)


def subject_of(page: int) -> Subject:
    """What a page is about."""
    return subjects()[page * STRIDE % len(subjects())]


def page_about(subject: int, turn: int) -> int:
    """The page number of the `turn`-th page about a subject."""
    count = len(subjects())
    return subject * pow(STRIDE, -1, count) % count + turn * count


def url_of(params: Simulation, page: int, moves: int) -> str:
    """Address of a page after some moves."""
    subject = subject_of(page)
    site = SITES[(mix(params.seed, page) + moves) % len(SITES)]
    slug = plain(f"{subject.noun.french} {subject.qualifier[0]}").replace(" ", "-")
    return f"https://www.{site}.example/{subject.domain.name}/{slug}-{page}"


def write_page(params: Simulation, page: int, version: int, edits: int) -> PageText:
    """The content of a page."""
    subject = subject_of(page)
    draw = Draw(params.seed, page, version)
    title = fill(draw.choose(TITLES), subject, draw)
    count = max(3, params.sentences // 2 + draw.below(params.sentences))
    body = sentences(subject, count, draw)
    for edit in range(1, edits + 1):
        edited = Draw(params.seed, page, version, edit)
        body[edited.below(len(body))] = sentence(subject, edited)
    sections = max(2, len(body) // SECTION)
    bounds = [len(body) * number // sections for number in range(sections + 1)]
    lines = [_paragraph(body[: bounds[1]])]
    for start, stop in pairwise(bounds[1:]):
        lines.append(fill(draw.choose(HEADINGS), subject, draw))
        lines.append(_paragraph(body[start:stop]))
    lines += [(f"- {french}", f"- {english}") for french, english in items(draw)]
    return PageText(title, lines)


def _paragraph(body: list[Pair]) -> Pair:
    return " ".join(french for french, _ in body), " ".join(english for _, english in body)
