"""Effectiveness measures: a name that says everything, and parses back.

`nDCG@10`, `AP`, `P@10(rel=2)`, `ERR@20(max=4)`: family, cutoff, parameters. In: such names, also in
the order of ir_measures (`AP(rel=2)@100`). Out: `Measure`, whose `str` is its identity: two
measures with one name are one measure, everywhere.

Gains of nDCG are the grades themselves and its discount is log2(rank + 1), as in trec_eval.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from builder.errors import UsageError, meant


@dataclass(frozen=True)
class Family:
    """A family of measures.

    Args:
        name: Its name.
        source: Where it is defined.
        cutoff: Whether `@k` must, may or cannot be given.
        parameters: Integer parameters with their defaults.
        shown: Parameters that the name always shows, because no default goes without saying.
        engine: Who computes it: trec_eval through ir_measures, or this package.
    """

    name: str
    source: str
    cutoff: Literal["required", "optional", "none"]
    parameters: Mapping[str, int] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    engine: Literal["trec_eval", "own"] = "trec_eval"


_REL = {"rel": 1}

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("nDCG", "Järvelin & Kekäläinen 2002", "optional"),
        Family("AP", "Harman 1992", "optional", _REL),
        Family("P", "precision", "required", _REL),
        Family("R", "recall", "required", _REL),
        Family("RR", "Kantor & Voorhees 2000", "optional", _REL),
        Family("bpref", "Buckley & Voorhees 2004", "none", _REL),
        Family("Rprec", "Buckley & Voorhees 2005", "none", _REL),
        Family("Success", "at least one relevant document", "required", _REL),
        Family("ERR", "Chapelle et al. 2009", "optional", {"max": 4}, frozenset({"max"}), "own"),
        Family("Judged", "judged share of the documents retrieved", "required", engine="own"),
    )
}
"""Every family, by name."""

ALIASES = {"NDCG": "nDCG", "ndcg": "nDCG", "MAP": "AP", "map": "AP", "MRR": "RR", "Bpref": "bpref"}
"""Other names in use for a family."""

DEFAULT_MEASURES = ("nDCG", "nDCG@10", "P@10", "AP", "bpref", "RR", "ERR@20")

_NAME = re.compile(
    r"(?P<family>[A-Za-z]+)(?P<before>\([^()]*\))?(?:@(?P<cutoff>\d+))?(?P<after>\([^()]*\))?"
)
_PARAMETER = re.compile(r"\s*([a-z]+)\s*=\s*(\d+)\s*")


@dataclass(frozen=True)
class Measure:
    """One measure.

    Args:
        family: A key of `FAMILIES`.
        cutoff: Documents looked at, or None for all.
        parameters: Name and value of every parameter of the family, sorted by name.
    """

    family: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        family = FAMILIES[self.family]
        shown = ",".join(
            f"{name}={value}"
            for name, value in self.parameters
            if name in family.shown or value != family.parameters[name]
        )
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.family}{cutoff}" + (f"({shown})" if shown else "")

    def __getitem__(self, parameter: str) -> int:
        return dict(self.parameters)[parameter]

    @property
    def engine(self) -> str:
        """Who computes it."""
        return FAMILIES[self.family].engine


def parse_measure(text: str) -> Measure:
    """The measure of a name.

    Raises:
        UsageError: unknown family, cutoff missing or not allowed, unknown or repeated parameter.
    """
    match = _NAME.fullmatch(text.strip())
    if match is None or (match["before"] and match["after"]):
        raise UsageError(f"measure {text!r}: expected a name such as nDCG@10 or ERR@20(max=4)")
    family = FAMILIES.get(ALIASES.get(match["family"], match["family"]))
    if family is None:
        raise UsageError(f"measure {text!r}: unknown; {meant(match['family'], FAMILIES)}")
    cutoff = _cutoff(match["cutoff"], family, text)
    given = _parameters((match["before"] or match["after"] or "()")[1:-1], family, text)
    return Measure(family.name, cutoff, tuple(sorted({**family.parameters, **given}.items())))


def parse_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of several names, in their order, each once.

    Raises:
        UsageError: a name is wrong, or there is none.
    """
    measures = tuple(dict.fromkeys(parse_measure(name) for name in names))
    if not measures:
        raise UsageError("expected at least one measure, such as nDCG@10")
    return measures


def _cutoff(digits: str | None, family: Family, text: str) -> int | None:
    if digits is None:
        if family.cutoff == "required":
            raise UsageError(f"measure {text!r}: needs a cutoff, such as {family.name}@10")
        return None
    if family.cutoff == "none":
        raise UsageError(f"measure {text!r}: {family.name} takes no cutoff")
    if not 1 <= int(digits) <= 10**6:
        raise UsageError(f"measure {text!r}: expected a cutoff from 1 to 1000000")
    return int(digits)


def _parameters(text: str, family: Family, name: str) -> dict[str, int]:
    given: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        match = _PARAMETER.fullmatch(part)
        if match is None or match[1] not in family.parameters or match[1] in given:
            known = ", ".join(f"{key}={value}" for key, value in family.parameters.items())
            raise UsageError(f"measure {name!r}: parameters of {family.name}: {known or 'none'}")
        given[match[1]] = int(match[2])
        if not 1 <= given[match[1]] <= 30:
            raise UsageError(f"measure {name!r}: expected {match[1]} from 1 to 30, as grades are")
    return given
