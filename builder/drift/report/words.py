"""Section of the drift report on vocabulary."""

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.documents import incomparable_pages_reason
from builder.drift.report.sections import (
    Drift,
    collapse_table_if_long,
    format_snapshot_pair,
    nest_tables_if_many,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Row,
    collapsible,
    decimal_cell,
    empty_note,
    figure,
    grid,
    heat_map,
    integer_cell,
    percentage_cell,
    section,
    table,
)

MAX_PAIRS = 36
"""Maximum number of pairs of snapshots in the vocabulary table; if there are more, only pairs of
consecutive snapshots are listed."""


def words_section(drift: Drift) -> Markup:
    """Render a report section on vocabulary differences, and on the words that changed most."""
    everything, core = drift["vocabulary"]["all"], drift["vocabulary"]["core"]
    if (why := incomparable_pages_reason(drift)) is not None:
        return section("words", "Words", None, empty_note(why))
    names = [s["snapshot"] for s in drift["snapshots"]]
    return section(
        "words",
        "Words",
        "Lowercased words of title and text. Divergence is the Jensen-Shannon divergence in bits: "
        "0 for equal distributions of words, 1 for no common word.",
        grid(
            figure(
                "All pages",
                _divergence_heat_map(
                    "Divergence of word distributions, all pages", names, everything
                ),
            ),
            *(
                [
                    figure(
                        "Pages in every snapshot",
                        _divergence_heat_map("Divergence, core", names, core),
                    )
                ]
                if core
                else []
            ),
        ),
        _vocabulary_table(everything, core),
        nest_tables_if_many(
            "Words whose frequency rose or fell",
            [_word_frequency_tables(pair) for pair in everything if pair.get("rising")],
        ),
    )


def _divergence_heat_map(caption: str, names: list[str], pairs: list[Mapping[str, Any]]) -> Markup:
    values = {(p["from"], p["to"]): p["js_bits"] for p in pairs}
    values |= {(b, a): v for (a, b), v in values.items()}
    most = max((v for v in values.values() if v is not None), default=0.0) or 1.0
    cells = [[0.0 if a == b else values[a, b] for b in names] for a in names]
    shades = [[None if v is None else v / most for v in row] for row in cells]
    digits = max(4, 2 - math.floor(math.log10(most)))
    texts = [["0" if v == 0 else numbers.format_decimal(v, digits) for v in row] for row in cells]
    return heat_map(caption, names, names, shades, texts)


def _vocabulary_table(
    all_pairs: list[Mapping[str, Any]], core_pairs: list[Mapping[str, Any]]
) -> Markup:
    rows: list[Row] = [
        [
            f"{format_snapshot_pair(pair)}{label}",
            integer_cell(pair["types_from"]),
            integer_cell(pair["types_to"]),
            decimal_cell(pair["jaccard"]),
            decimal_cell(pair["js_bits"], 4),
            percentage_cell(pair["oov_share"]),
            percentage_cell(pair["oov_share_back"]),
        ]
        for pairs, label in ((all_pairs, ""), (core_pairs, " (core)"))
        for pair in pairs
        if len(pairs) <= MAX_PAIRS or "rising" in pair
    ]
    columns = (
        "Snapshots", "Distinct words before", "after", "Jaccard", "Divergence, bits",
        "Unknown before", "Unknown after",
    )  # fmt: skip
    of = "all pairs of snapshots" if len(all_pairs) <= MAX_PAIRS else "consecutive snapshots"
    return collapse_table_if_long(f"Vocabulary of {of}", columns, rows)


def _word_frequency_tables(pair: Mapping[str, Any]) -> Markup:
    columns = ("Word", "Before", "After")
    lists = []
    for direction, heading in (("rising", "rose"), ("falling", "fell")):
        rows = [
            [row["word"], integer_cell(row["n_from"]), integer_cell(row["n_to"])]
            for row in pair[direction]
        ]
        lists.append(table(f"Words that {heading}", columns, rows))
    return collapsible(
        f"Words whose frequency rose or fell, {format_snapshot_pair(pair)}", grid(*lists)
    )
