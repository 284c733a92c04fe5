"""Measures how a collection changes over time, and writes a report.

Reads the tables of a collection, and writes `drift.json` and `report.html`; the same numbers are
available as Python values. `compare_crawls` compares two crawls without a collection.
`attribute_score_change` splits the change in a system's mean score between two snapshots into
contributions of documents, queries and judgements.
"""

from builder.drift.attribution import Attribution, RunWithQrels, attribute_score_change
from builder.drift.crawls import compare_crawls
from builder.drift.measure import FORMAT, measure_all_snapshots, measure_drift
from builder.drift.pair_drift import measure_pair
from builder.drift.pairs import select_pair
from builder.drift.report import render_report
from builder.drift.report.findings import list_findings
from builder.drift.report.undecided import list_undecided_checks, summarize_undecided_checks
from builder.drift.series import OptionalInputs, compare_snapshots
from builder.drift.summary import SUMMARY_COLUMNS, summarize_pairs
from builder.drift.words import count_lost_words, count_snapshot_words

__all__ = [
    "FORMAT",
    "SUMMARY_COLUMNS",
    "Attribution",
    "OptionalInputs",
    "RunWithQrels",
    "attribute_score_change",
    "compare_crawls",
    "compare_snapshots",
    "count_lost_words",
    "count_snapshot_words",
    "list_findings",
    "list_undecided_checks",
    "measure_all_snapshots",
    "measure_drift",
    "measure_pair",
    "render_report",
    "select_pair",
    "summarize_pairs",
    "summarize_undecided_checks",
]
