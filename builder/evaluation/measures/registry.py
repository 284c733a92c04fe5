"""Effectiveness measures: a name that says everything, and parses back.

`nDCG@10`, `AP`, `P@10(rel=2)`, `ERR@20(max=4)`: family, cutoff, parameters. In: such names, also in
the order of ir_measures (`AP(rel=2)@100`). Out: `Measure`, whose `str` is its identity: two
measures with one name are one measure, everywhere.

Gains of nDCG are the grades themselves and its discount is log2(rank + 1), as in trec_eval.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from builder.errors import UsageError, suggest
from builder.evaluation.measures.err import ERR
from builder.evaluation.measures.family import Compute, Family
from builder.evaluation.measures.judged import JUDGED
from builder.evaluation.measures.provided import PREFIX, parse_provided
from builder.plugins import describe_package, find_plugins, load_plugin

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
        ERR,
        JUDGED,
    )
}
"""Every family of this package, by name."""

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
        family: A name that `family_of` knows.
        cutoff: Documents looked at, or None for all.
        parameters: Name and value of every parameter of the family, sorted by name.
    """

    family: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        family = family_of(self.family)
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
    def is_provided(self) -> bool:
        """Whether ir_measures computes it."""
        return self.family.startswith(PREFIX)

    @property
    def compute(self) -> Compute | None:
        """What computes it; None for measures of trec_eval."""
        return family_of(self.family).compute


def family_of(name: str) -> Family:
    """The family of a name or alias: one of `FAMILIES`, or a plug-in of the group `measures`.

    Raises:
        UsageError: there is none, or the plug-in is no family with a function that computes it.
    """
    name = ALIASES.get(name, name)
    if name.startswith(PREFIX):
        return Family(name, "ir_measures", "none")
    if name in FAMILIES:
        return FAMILIES[name]
    others = find_plugins("measures")
    if name not in others:
        raise UsageError(f"measure {name!r}: unknown; {suggest(name, (*FAMILIES, *others))}")
    found = load_plugin("measures", name)
    if not isinstance(found, Family) or found.compute is None or found.name != name:
        raise UsageError(
            f"measures: {name!r} of {describe_package(others[name])} is no Family of that name "
            "with a function `compute`; repair or uninstall that package"
        )
    return found


def parse_measure(text: str) -> Measure:
    """The measure of a name.

    Raises:
        UsageError: unknown family, cutoff missing or not allowed, unknown or repeated parameter.
    """
    if text.strip().startswith(PREFIX):
        return Measure(f"{PREFIX}{parse_provided(text.strip())}")
    match = _NAME.fullmatch(text.strip())
    if match is None or (match["before"] and match["after"]):
        raise UsageError(f"measure {text!r}: expected a name such as nDCG@10 or ERR@20(max=4)")
    family = family_of(match["family"])
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
