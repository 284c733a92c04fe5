"""How a collection changes over time: statistics, findings, a report.

In: the tables of a collection, two crawls, or the runs of one system on two snapshots. Out:
`drift.json`, `report.html`, the same numbers as values, and where a change of score comes from.
"""

from builder.drift.attribution import Attribution, Evaluated, attribute
from builder.drift.between import measure_pair
from builder.drift.crawls import compare_crawls
from builder.drift.measure import FORMAT, measure, measure_snapshots
from builder.drift.pairs import of_pair
from builder.drift.report import render_report
from builder.drift.report.findings import findings, unseen
from builder.drift.series import Evidence, compare_snapshots
from builder.drift.summary import HEADER, pair_rows
from builder.drift.words import count_lost, count_snapshot

__all__ = [
    "FORMAT",
    "HEADER",
    "Attribution",
    "Evaluated",
    "Evidence",
    "attribute",
    "compare_crawls",
    "compare_snapshots",
    "count_lost",
    "count_snapshot",
    "findings",
    "measure",
    "measure_pair",
    "measure_snapshots",
    "of_pair",
    "pair_rows",
    "render_report",
    "unseen",
]
