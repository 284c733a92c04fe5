"""The words of the simulated web: domains, nouns with gender, qualifiers and facts, fr and en."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

VOWELS = tuple("aeiouyhâàéèêëîïôöûùœAEIOUYHÂÀÉÈÊËÎÏÔÖÛÙŒ")
ASPIRATED = ("haie",)
"""Words with an aspirated h: no elision before them."""


@dataclass(frozen=True)
class Noun:
    """A French noun with its English counterpart.

    Args:
        french: Singular, possibly several words.
        feminine: Grammatical gender.
        english: Singular.
    """

    french: str
    feminine: bool
    english: str

    @property
    def elides(self) -> bool:
        """Whether an article before it loses its vowel."""
        return self.french.startswith(VOWELS) and not self.french.startswith(ASPIRATED)

    def forms(self, qualifier: tuple[str, str]) -> dict[str, str]:
        """The slots of a template, for the noun with a qualifier after it."""
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
        un = "une " if self.feminine else "un "
        if self.elides:
            return "l'", "de l'", "à l'", un
        if self.feminine:
            return "la ", "de la ", "à la ", un
        return "le ", "du ", "au ", un


@dataclass(frozen=True)
class Domain:
    """A field of life: what its pages are about and say.

    Args:
        name: Short French name without accents.
        english: English name.
        nouns: What pages are about.
        qualifiers: What narrows a noun down, French and English.
        facts: Sentence templates, French and English.
    """

    name: str
    english: str
    nouns: tuple[Noun, ...]
    qualifiers: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Subject:
    """What a page or a query is about: a noun of a domain, narrowed down by a qualifier."""

    domain: Domain
    noun: Noun
    qualifier: tuple[str, str]

    def forms(self) -> dict[str, str]:
        """The slots of a template."""
        return self.noun.forms(self.qualifier)


@cache
def domains() -> tuple[Domain, ...]:
    """All domains, in the order of the lexicon."""
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
    """All subjects: by domain, then noun, then qualifier."""
    return tuple(
        Subject(domain, noun, qualifier)
        for domain in domains()
        for noun in domain.nouns
        for qualifier in domain.qualifiers
    )


def related_to(subject: Subject) -> tuple[Subject, ...]:
    """The subjects of its domain."""
    return _by_domain()[subject.domain.name]


@cache
def _by_domain() -> dict[str, tuple[Subject, ...]]:
    return {domain.name: tuple(s for s in subjects() if s.domain is domain) for domain in domains()}
