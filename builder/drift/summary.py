"""Summarizes `drift.json` with one row per pair of snapshots, for the command `longeval drift`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from builder.reporting.numbers import format_decimal, format_percent

NOT_KEPT_STATUSES = ("not_sampled", "not_shown", "left_out")
"""Statuses of documents that were crawled again but are not in the later snapshot."""

SUMMARY_COLUMNS = (
    "snapshots",
    "pages kept",
    "updated",
    "added",
    "removed",
    "not kept",
    "queries kept",
    "new",
    "gone",
    "judgements in both",
    "same grade",
    "words, bits",
    "construction",
    "cannot tell",
)


def summarize_pairs(drift: Mapping[str, Any]) -> list[tuple[str | int, ...]]:
    """Return one row per pair of snapshots in `drift.json`, with columns `SUMMARY_COLUMNS`.

    The column `pages kept` includes updated pages. The column `not kept` counts the pages of the
    earlier snapshot that are in the later crawl but not in the later snapshot. It is `unknown` for
    an imported release, which does not record what was crawled; every page missing from the later
    snapshot then counts as removed. The column `words, bits` has the Jensen-Shannon divergence over
    all pages. The columns `construction` and `cannot tell` count the checks with this verdict.
    """
    bits = {(v["from"], v["to"]): v["js_bits"] for v in drift["vocabulary"]["all"]}
    return [
        _summarize_pair(drift, pair, bits.get((pair["from"], pair["to"])))
        for pair in drift["pairs"]
    ]


def _summarize_pair(
    drift: Mapping[str, Any], pair: Mapping[str, Any], js_bits: float | None
) -> tuple[str | int, ...]:
    names = [pair["from"], pair["to"]]
    verdicts = Counter(c["verdict"] for c in drift["checks"] if c["snapshots"] == names)
    documents, queries, qrels = pair["documents"], pair["queries"], pair["qrels"]
    return (
        " to ".join(names),
        documents["updated"] + documents["unchanged"],
        *(documents[name] for name in ("updated", "added", "removed")),
        "unknown" if documents["removed_crawl_unknown"] else count_dropped_documents(documents),
        *(queries[name] for name in ("kept", "new", "gone")),
        qrels["pairs_common"],
        format_percent(qrels["kept_share"]),
        format_decimal(js_bits, 4),
        verdicts["construction"],
        verdicts["cannot tell"],
    )


def count_dropped_documents(status_counts: Mapping[str, Any]) -> int:
    """Count the documents that were crawled again but are not in the later snapshot."""
    return int(sum(status_counts[name] for name in NOT_KEPT_STATUSES))
