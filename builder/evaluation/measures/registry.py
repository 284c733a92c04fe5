"""Registry of effectiveness measures, and parsing of measure names such as `nDCG@10`.

A name consists of a family, a cutoff and parameters, such as `nDCG@10`, `AP`, `P@10(rel=2)` or
`ERR@20(max=4)`. The order used by ir_measures (`AP(rel=2)@100`) and trec_eval names (`ndcg_cut_10`)
are also accepted. `str(measure)` is the canonical name of a `Measure` and identifies it.

nDCG uses the grades as gains and log2(rank + 1) as discount, as in trec_eval.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from builder.errors import UsageError, suggest
from builder.evaluation.measures.err import ERR
from builder.evaluation.measures.family import Compute, MeasureFamily
from builder.evaluation.measures.ir_measures_adapter import PREFIX, parse_ir_measure
from builder.evaluation.measures.judged import JUDGED
from builder.plugins import describe_package, find_plugins, load_plugin

_REL = {"rel": 1}

FAMILIES: dict[str, MeasureFamily] = {
    family.name: family
    for family in (
        MeasureFamily("nDCG", "Järvelin & Kekäläinen 2002", "optional"),
        MeasureFamily("AP", "Harman 1992", "optional", _REL),
        MeasureFamily("P", "precision", "required", _REL),
        MeasureFamily("R", "recall", "required", _REL),
        MeasureFamily("RR", "Kantor & Voorhees 2000", "optional", _REL),
        MeasureFamily("bpref", "Buckley & Voorhees 2004", "none", _REL),
        MeasureFamily("Rprec", "Buckley & Voorhees 2005", "none", _REL),
        MeasureFamily("Success", "at least one relevant document", "required", _REL),
        ERR,
        JUDGED,
    )
}
"""Built-in families by name."""

ALIASES = {"NDCG": "nDCG", "ndcg": "nDCG", "MAP": "AP", "map": "AP", "MRR": "RR", "Bpref": "bpref"}
"""Alternative names of families."""

TREC_EVAL_NAMES = {
    "nDCG": ("ndcg", "ndcg_cut"),
    "AP": ("map", "map_cut"),
    "P": ("", "P"),
    "R": ("", "recall"),
    "RR": ("recip_rank", ""),
    "bpref": ("bpref", ""),
    "Rprec": ("Rprec", ""),
    "Success": ("", "success"),
}
"""trec_eval name of each family of measures, without and with a cutoff."""

DEFAULT_MEASURES = ("nDCG", "nDCG@10", "P@10", "AP", "bpref", "RR", "ERR@20")

_NAME = re.compile(
    r"(?P<family>[A-Za-z]+)(?P<before>\([^()]*\))?(?:@(?P<cutoff>\d+))?(?P<after>\([^()]*\))?"
)
_PARAMETER = re.compile(r"\s*([a-z]+)\s*=\s*(\d+)\s*")


@dataclass(frozen=True)
class Measure:
    """Effectiveness measure with its cutoff and parameters.

    Args:
        family: Name of the family.
        cutoff: Number of top-ranked documents to evaluate; None for all.
        parameters: Name and value of every parameter of the family, sorted by name.
    """

    family: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        family = find_family(self.family)
        shown = ",".join(
            f"{name}={value}"
            for name, value in self.parameters
            if name in family.always_in_name or value != family.parameters[name]
        )
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.family}{cutoff}" + (f"({shown})" if shown else "")

    def __getitem__(self, parameter: str) -> int:
        return dict(self.parameters)[parameter]

    @property
    def is_from_ir_measures(self) -> bool:
        """Whether the measure is computed by the package ir_measures."""
        return self.family.startswith(PREFIX)

    @property
    def scoring_function(self) -> Compute | None:
        """Function that computes the scores; None for measures of trec_eval and ir_measures."""
        return find_family(self.family).compute


def find_family(name: str) -> MeasureFamily:
    """Return the built-in or plug-in family of measures with the given name or alias.

    Raises:
        UsageError: The name is unknown, or the plug-in does not provide a valid family.
    """
    name = ALIASES.get(name, name)
    if name.startswith(PREFIX):
        return MeasureFamily(name, "ir_measures", "none")
    if name in FAMILIES:
        return FAMILIES[name]
    plugins = find_plugins("measures")
    if name not in plugins:
        raise UsageError(f"measure {name!r}: unknown; {suggest(name, (*FAMILIES, *plugins))}")
    family = load_plugin("measures", name)
    if not isinstance(family, MeasureFamily) or family.compute is None or family.name != name:
        raise UsageError(
            f"measure {name!r} of {describe_package(plugins[name])}: expected a MeasureFamily with "
            "that name and a function `compute`; repair or uninstall the package"
        )
    return family


def parse_measure(text: str) -> Measure:
    """Parse the name of a measure such as `nDCG@10`, or a trec_eval name such as `ndcg_cut_10`.

    Raises:
        UsageError: The family is unknown, the cutoff is missing or not allowed, or a parameter is
            unknown or repeated.
    """
    if text.strip().startswith(PREFIX):
        return Measure(f"{PREFIX}{parse_ir_measure(text.strip())}")
    name = from_trec_eval_name(text.strip()) or text.strip()
    match = _NAME.fullmatch(name)
    if match is None or (match["before"] and match["after"]):
        raise UsageError(f"measure {text!r}: expected a name such as nDCG@10 or ERR@20(max=4)")
    family = find_family(match["family"])
    cutoff = _parse_cutoff(match["cutoff"], family, text)
    given = _parse_parameters((match["before"] or match["after"] or "()")[1:-1], family, text)
    return Measure(family.name, cutoff, tuple(sorted({**family.parameters, **given}.items())))


def from_trec_eval_name(name: str) -> str | None:
    """Convert a trec_eval name such as `ndcg_cut_10` to `nDCG@10`; return None if it is unknown."""
    stem, _, digits = name.rpartition("_")
    for family, (whole, cut) in TREC_EVAL_NAMES.items():
        if whole and name == whole:
            return family
        if cut and stem == cut and digits.isdecimal():
            return f"{family}@{int(digits)}"
    return None


def parse_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """Parse the names of measures; return distinct measures in the given order.

    Raises:
        UsageError: A name is invalid, or there are no names.
    """
    measures = tuple(dict.fromkeys(parse_measure(name) for name in names))
    if not measures:
        raise UsageError("expected at least one measure, such as nDCG@10")
    return measures


def _parse_cutoff(digits: str | None, family: MeasureFamily, measure_name: str) -> int | None:
    if digits is None:
        if family.cutoff == "required":
            raise UsageError(
                f"measure {measure_name!r}: expected a cutoff, such as {family.name}@10"
            )
        return None
    if family.cutoff == "none":
        raise UsageError(f"measure {measure_name!r}: {family.name} does not support a cutoff")
    if not 1 <= int(digits) <= 10**6:
        raise UsageError(
            f"measure {measure_name!r}: expected a cutoff from 1 to 1000000, found {digits}"
        )
    return int(digits)


def _parse_parameters(assignments: str, family: MeasureFamily, measure_name: str) -> dict[str, int]:
    given: dict[str, int] = {}
    for part in filter(None, assignments.split(",")):
        match = _PARAMETER.fullmatch(part)
        if match is None or match[1] not in family.parameters or match[1] in given:
            known = ", ".join(f"{key}={value}" for key, value in family.parameters.items())
            raise UsageError(
                f"measure {measure_name!r}: invalid or repeated parameter {part!r}; "
                f"{family.name} accepts {f'{known} (defaults)' if known else 'no parameters'}"
            )
        given[match[1]] = int(match[2])
        if not 1 <= given[match[1]] <= 30:
            raise UsageError(
                f"measure {measure_name!r}: expected a value of {match[1]} from 1 to 30, "
                f"found {match[2]}"
            )
    return given
