"""The section on the words of pages."""

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.documents import why_nothing
from builder.drift.report.sections import (
    Drift,
    pair_name,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Row,
    decimal,
    figure,
    folded,
    grid,
    heat_map,
    integer,
    nothing,
    section,
    share,
    table,
)

MOST_PAIRS = 36
"""Pairs of snapshots up to which the table of words lists all; else neighbours alone."""


def words(drift: Drift) -> Markup:
    """How the vocabulary moved."""
    everything, core = drift["vocabulary"]["all"], drift["vocabulary"]["core"]
    if (why := why_nothing(drift)) is not None:
        return section("words", "Words", None, nothing(why))
    names = [s["snapshot"] for s in drift["snapshots"]]
    return section(
        "words",
        "Words",
        "Lower-cased words of title and text. Divergence is Jensen-Shannon in bits: 0 for the same "
        "distribution of words, 1 for no word in common.",
        grid(
            figure("All pages", _divergences("Divergence of words, all pages", names, everything)),
            figure("Pages in every snapshot", _divergences("Divergence, core", names, core)),
        ),
        _vocabulary_table(everything, core),
        *(_risen_and_fallen(pair) for pair in everything if pair.get("rising")),
    )


def _divergences(caption: str, names: list[str], pairs: list[Mapping[str, Any]]) -> Markup:
    values = {(p["from"], p["to"]): p["js_bits"] for p in pairs}
    values |= {(b, a): v for (a, b), v in values.items()}
    most = max((v for v in values.values() if v is not None), default=0.0) or 1.0
    cells = [[0.0 if a == b else values[a, b] for b in names] for a in names]
    shades = [[None if v is None else v / most for v in row] for row in cells]
    digits = max(4, 2 - math.floor(math.log10(most)))
    texts = [["0" if v == 0 else numbers.decimal(v, digits) for v in row] for row in cells]
    return heat_map(caption, names, names, shades, texts)


def _vocabulary_table(everything: list[Mapping[str, Any]], core: list[Mapping[str, Any]]) -> Markup:
    rows: list[Row] = [
        [
            f"{pair_name(pair)}{label}",
            integer(pair["types_from"]),
            integer(pair["types_to"]),
            decimal(pair["jaccard"]),
            decimal(pair["js_bits"], 4),
            share(pair["oov_share"]),
            share(pair["oov_share_back"]),
        ]
        for pairs, label in ((everything, ""), (core, " (core)"))
        for pair in pairs
        if len(pairs) <= MOST_PAIRS or "rising" in pair
    ]
    columns = (
        "Snapshots", "Distinct words before", "after", "Jaccard", "Divergence, bits",
        "Unknown before", "Unknown after",
    )  # fmt: skip
    of = "every two snapshots" if len(everything) <= MOST_PAIRS else "neighbouring snapshots"
    return table(f"Vocabulary of {of}", columns, rows)


def _risen_and_fallen(pair: Mapping[str, Any]) -> Markup:
    columns = ("Word", "Before", "After")
    lists = []
    for direction, heading in (("rising", "rose"), ("falling", "fell")):
        rows = [
            [row["word"], integer(row["n_from"]), integer(row["n_to"])] for row in pair[direction]
        ]
        lists.append(table(f"Words that {heading}", columns, rows))
    return folded(f"Words that rose and fell, {pair_name(pair)}", grid(*lists))
