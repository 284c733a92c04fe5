"""French-English lexicon of the simulated web: domains, nouns, qualifiers, sentence templates."""

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
        french: Singular, of one or more words.
        feminine: Whether the French noun is feminine.
        english: Singular.
    """

    french: str
    feminine: bool
    english: str

    @property
    def takes_elision(self) -> bool:
        """Whether a preceding article is elided, as in `l'eau`."""
        return self.french.startswith(VOWELS) and not self.french.startswith(ASPIRATED_NOUNS)

    def template_slots(self, qualifier: tuple[str, str]) -> dict[str, str]:
        """Return the values of template slots for the noun followed by a qualifier."""
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
        """Return the French articles of the noun: definite, with `de`, with `à`, and indefinite."""
        un = "une " if self.feminine else "un "
        if self.takes_elision:
            return "l'", "de l'", "à l'", un
        if self.feminine:
            return "la ", "de la ", "à la ", un
        return "le ", "du ", "au ", un


@dataclass(frozen=True)
class Domain:
    """Thematic domain with its vocabulary and sentence templates.

    Args:
        name: Short French name, without accents.
        english: English name.
        nouns: Nouns that pages can be about.
        qualifiers: French and English qualifiers of nouns.
        facts: French and English sentence templates.
    """

    name: str
    english: str
    nouns: tuple[Noun, ...]
    qualifiers: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Subject:
    """What a page or query is about: a noun of a domain with a qualifier."""

    domain: Domain
    noun: Noun
    qualifier: tuple[str, str]

    def template_slots(self) -> dict[str, str]:
        """Return the values of template slots for the subject."""
        return self.noun.template_slots(self.qualifier)


@cache
def domains() -> tuple[Domain, ...]:
    """Return all domains, in the order of `lexicon.toml`."""
    text = files("builder.simulation").joinpath("lexicon.toml").read_text("utf-8")
    return tuple(
        Domain(
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
    """Return all subjects, ordered by domain, noun and qualifier."""
    return tuple(
        Subject(domain, noun, qualifier)
        for domain in domains()
        for noun in domain.nouns
        for qualifier in domain.qualifiers
    )


def domain_subjects(domain: Domain) -> tuple[Subject, ...]:
    """Return all subjects of a domain."""
    return _subjects_by_domain()[domain.name]


@cache
def _subjects_by_domain() -> dict[str, tuple[Subject, ...]]:
    return {domain.name: tuple(s for s in subjects() if s.domain is domain) for domain in domains()}
