"""French-English lexicon of the simulated web: nouns, qualifiers and templates by subject area."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

VOWELS = tuple("aeiouyhâàéèêëîïôöûùœAEIOUYHÂÀÉÈÊËÎÏÔÖÛÙŒ")
ASPIRATED_NOUNS = ("haie",)
"""Nouns with an aspirated h, before which articles are not elided."""


@dataclass(frozen=True)
class Noun:
    """French noun with its English translation.

    Args:
        french: French singular, of one or more words.
        is_feminine: Whether the French noun is feminine.
        english: English singular.
    """

    french: str
    is_feminine: bool
    english: str

    @property
    def takes_elision(self) -> bool:
        """Whether the article before the noun is elided, as in `l'eau`."""
        return self.french.startswith(VOWELS) and not self.french.startswith(ASPIRATED_NOUNS)

    def template_slots(self, qualifier: tuple[str, str]) -> dict[str, str]:
        """Return the values of the template slots for the noun followed by a qualifier.

        Args:
            qualifier: French and English qualifier, such as `("en hiver", "in winter")`.
        """
        french, english = (
            f"{a} {b}" for a, b in zip((self.french, self.english), qualifier, strict=True)
        )
        le, du, au, un = self._articles()
        indefinite = "an" if english.startswith(tuple("aeio")) else "a"
        return {
            "nom": french,
            "le": le + french,
            "du": du + french,
            "au": au + french,
            "un": un + french,
            "noun": english,
            "the": f"the {english}",
            "a": f"{indefinite} {english}",
        }

    def _articles(self) -> tuple[str, str, str, str]:
        """Return the French articles of the noun, such as `le`, `du`, `au` and `un`."""
        un = "une " if self.is_feminine else "un "
        if self.takes_elision:
            return "l'", "de l'", "à l'", un
        if self.is_feminine:
            return "la ", "de la ", "à la ", un
        return "le ", "du ", "au ", un


@dataclass(frozen=True)
class SubjectArea:
    """Subject area, such as cooking, with its vocabulary and sentence templates.

    Args:
        name: Short French name, without accents.
        english: English name.
        nouns: Nouns that are the subjects of pages.
        qualifiers: Pairs of a French qualifier of nouns and its English translation.
        facts: Pairs of a French sentence template and its English translation.
    """

    name: str
    english: str
    nouns: tuple[Noun, ...]
    qualifiers: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Subject:
    """Subject of a page or query: a noun and a qualifier from the vocabulary of a subject area.

    Args:
        area: Subject area of the subject.
        noun: Noun, in French and English.
        qualifier: French qualifier of the noun and its English translation.
    """

    area: SubjectArea
    noun: Noun
    qualifier: tuple[str, str]

    def template_slots(self) -> dict[str, str]:
        """Return the values of the template slots for the subject."""
        return self.noun.template_slots(self.qualifier)


@cache
def subject_areas() -> tuple[SubjectArea, ...]:
    """Return all subject areas, in the order of `lexicon.toml`."""
    text = files("builder.simulation").joinpath("lexicon.toml").read_text("utf-8")
    return tuple(
        SubjectArea(
            name,
            entry["english"],
            tuple(Noun(fr, gender == "f", en) for fr, gender, en in entry["nouns"]),
            tuple((fr, en) for fr, en in entry["qualifiers"]),
            tuple((fr, en) for fr, en in entry["facts"]),
        )
        for name, entry in tomllib.loads(text).items()
    )


@cache
def subjects() -> tuple[Subject, ...]:
    """Return all subjects, ordered by subject area, noun and qualifier."""
    return tuple(
        Subject(area, noun, qualifier)
        for area in subject_areas()
        for noun in area.nouns
        for qualifier in area.qualifiers
    )


def subjects_of_area(area: SubjectArea) -> tuple[Subject, ...]:
    """Return all subjects of a subject area."""
    return _subjects_by_area()[area.name]


@cache
def _subjects_by_area() -> dict[str, tuple[Subject, ...]]:
    return {a.name: tuple(s for s in subjects() if s.area is a) for a in subject_areas()}
